package dbconn_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestViewInPlaceOfTable: where a view stands in the place of a table of the server's own, what we ask is refused, and calls no
// function with our rights.
func TestViewInPlaceOfTable(t *testing.T) {
	t.Parallel()
	servertest.EachAlways(t, func(t *testing.T, want string) {
		t.Parallel()
		srv := servertest.Start(t, servertest.Find(t, want))
		srv.Load(t, "CREATE DATABASE a; CREATE TABLE a.called (who TEXT) ENGINE=MyISAM;")
		mysql, d := strings.HasPrefix(want, "mysql:"), srv.Dialect()
		db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "a")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		exec := func(statement string) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		exec("CREATE FUNCTION a.f() RETURNS INT NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER BEGIN INSERT INTO a.called VALUES (CURRENT_USER()); RETURN 1; END")
		beside := func() error { _, err := dbconn.BesideLog(t.Context(), db, mysql, []string{"SUPER"}); return err }
		asks := func(query string) func() error {
			return func() error { return dbconn.Query(t.Context(), db, query, func([]string) error { return nil }) }
		}
		accounts := map[string]func() error{
			"beside": beside, "users": asks("SELECT * FROM (" + d.Users + ") u"), "accounts": asks(d.Accounts), "root": asks(d.RootShut),
			"has":    func() error { _, err := d.Has(t.Context(), db, "root"); return err },
			"logins": func() error { _, err := d.LoginsOf(t.Context(), db, "root"); return err },
			"lock": func() error {
				_, err := db.ExecContext(t.Context(), d.LockAccounts+" WHERE User = 'nobody'")
				return err
			},
		}
		tables := map[string]map[string]func() error{"servers": {"beside": beside}, "plugin": {"beside": beside}}
		if mysql {
			tables["user"], tables["component"], tables["role_edges"] = accounts, tables["servers"], tables["servers"]
		} else {
			tables["global_priv"], tables["event"], tables["roles_mapping"] = accounts, tables["servers"], tables["servers"]
		}
		called := func() (n int) {
			t.Helper()
			if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM a.called").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		for table, all := range tables {
			exec("RENAME TABLE mysql." + table + " TO mysql.kept")
			exec("CREATE SQL SECURITY INVOKER VIEW mysql." + table + " AS SELECT * FROM mysql.kept WHERE a.f() = 1")
			for name, ask := range all {
				if err := ask(); !dbconn.IsView(err) {
					t.Errorf("mysql.%s, %s: %v", table, name, err)
				}
			}
			exec("DROP VIEW mysql." + table)
			exec("RENAME TABLE mysql.kept TO mysql." + table)
			for name, ask := range all {
				if err := ask(); err != nil {
					t.Errorf("mysql.%s, %s, put back: %v", table, name, err)
				}
			}
		}
		if n := called(); n != 0 {
			t.Errorf("a function of a view was called %d times", n)
		}
		exec("CREATE VIEW a.v AS SELECT a.f()")
		if err := asks("SELECT * FROM a.v")(); err != nil || called() == 0 {
			t.Errorf("without the hint it is not called, so that this test shows nothing: %v", err)
		}
	})
}

// TestOwnTablesHinted: no statement of ours asks a table of the server's own without the hint that refuses a view.
func TestOwnTablesHinted(t *testing.T) {
	t.Parallel()
	var (
		asked  = regexp.MustCompile(`(?i)\b(?:FROM|JOIN|UPDATE)\s+mysql\.\w*`)
		hinted = regexp.MustCompile(`(?i)\b(?:FROM|JOIN|UPDATE)\s+mysql\.\w+(?:\s+\w)? USE INDEX \(\)`)
		// The name of the table, and the hint, come behind it.
		named = regexp.MustCompile(`(?i)\b(?:FROM|UPDATE)\s+mysql\.$`)
	)
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && path == filepath.Join("..", "bench"): // servers that it started, and nobody else's
			return fs.SkipDir
		case e.IsDir(), !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, text, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				value := strings.Trim(lit.Value, "`\"")
				if all := len(asked.FindAllString(value, -1)); all > len(hinted.FindAllString(value, -1)) && !named.MatchString(value) {
					t.Errorf("%s: without USE INDEX (): %s", files.Position(lit.Pos()), lit.Value)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
