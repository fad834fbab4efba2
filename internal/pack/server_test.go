package pack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/fixture"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// content loads a dump by the server's own client and returns what is there then, which it
// removes.
func content(t *testing.T, srv *servertest.Running, in string) string {
	t.Helper()
	srv.Load(t, in)
	db, err := dbconn.OpenLoading(srv.Endpoint.Socket, srv.Endpoint.Login, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var out, drop strings.Builder
	var names []string
	err = dbconn.Query(t.Context(), db, "SELECT schema_name, default_collation_name FROM information_schema.schemata ORDER BY schema_name", func(c []string) error {
		if !dbconn.SystemSchema(c[0]) {
			out.WriteString("-- " + c[0] + " " + c[1] + "\n")
			drop.WriteString("; DROP DATABASE " + dbconn.QuoteName(c[0]))
			names = append(names, c[0])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		out.WriteString(srv.Dump(t, name))
	}
	if _, err := db.ExecContext(t.Context(), "SET foreign_key_checks = 0"+drop.String()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Sizes that have small dumps treated as large ones: every row apart, and some together.
var (
	tiny   = Options{Statement: 60, LargeTable: 1}
	little = Options{Statement: 8 << 10, LargeTable: 32 << 10}
)

// equal loads a dump as it is and packed in several ways, and compares. It returns how it is
// packed in the last of them.
func equal(t *testing.T, srv *servertest.Running, in string, ways ...Options) string {
	t.Helper()
	want := content(t, srv, in)
	if !strings.Contains(want, "INSERT INTO") {
		t.Fatal("there are no rows to compare")
	}
	last := ""
	for _, opts := range ways {
		last, _ = packed(t, in, opts)
		if got := content(t, srv, last); got != want {
			t.Errorf("%+v: packed (+) it is something else:\n%s", opts, cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
		}
	}
	return last
}

// in gives a dump databases of its own.
func in(text string) string {
	return "DROP DATABASE IF EXISTS d;\nCREATE DATABASE d;\nUSE d;\n" + text
}

// TestLoadsTheSame compares what is in a server after its client has loaded a dump, and after
// it has loaded the packed one. The dumps are those of internal/load, for the same question, and
// some for what only packing changes.
func TestLoadsTheSame(t *testing.T) {
	var files []string
	for _, dir := range []string{"testdata", filepath.Join("..", "load", "testdata")} {
		list, err := filepath.Glob(filepath.Join(dir, "*.sql"))
		if err != nil || len(list) == 0 {
			t.Fatalf("no dumps in %s: %v", dir, err)
		}
		files = append(files, list...)
	}
	servertest.Each(t, func(t *testing.T, want string) {
		srv := servertest.Start(t, servertest.Find(t, want))
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".sql"), func(t *testing.T) {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				equal(t, srv, in(servertest.Flavoured(srv.Server, string(text))), Options{}, tiny)
			})
		}
		for name, write := range map[string]func(b *strings.Builder) error{
			"world":    func(b *strings.Builder) error { return fixture.World{}.WriteDump(b, fixture.OneRow) },
			"shop":     func(b *strings.Builder) error { return fixture.Shop{Rows: 40_000}.WriteDump(b, fixture.Extended) },
			"shop one": func(b *strings.Builder) error { return fixture.Shop{Rows: 10_000}.WriteDump(b, fixture.OneRow) },
		} {
			t.Run(name, func(t *testing.T) {
				var b strings.Builder
				if err := write(&b); err != nil {
					t.Fatal(err)
				}
				out := equal(t, srv, in(b.String()), little)
				if !strings.Contains(out, " DROP FOREIGN KEY ") || !strings.Contains(out, " ADD KEY ") {
					t.Error("no keys were made later")
				}
			})
		}
	})
}

// TestDifferenceIsSeen: the comparison above finds what merging must not do.
func TestDifferenceIsSeen(t *testing.T) {
	srv := servertest.Start(t, servertest.Find(t, ""))
	const head = "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, b INT);\nCREATE TABLE u (t INT PRIMARY KEY);\n"
	const tail = "INSERT INTO u VALUES (LAST_INSERT_ID());\n"
	apart := content(t, srv, in(head+"INSERT INTO t VALUES (50,1);\nINSERT INTO t VALUES (NULL,1);\nINSERT INTO t (b) VALUES (1);\nINSERT INTO t (b) VALUES (1);\n"+tail))
	for _, merged := range []string{
		"INSERT INTO t VALUES (50,1),(NULL,1);\nINSERT INTO t (b) VALUES (1);\nINSERT INTO t (b) VALUES (1);\n" + tail,
		"INSERT INTO t VALUES (50,1);\nINSERT INTO t VALUES (NULL,1);\nINSERT INTO t (b) VALUES (1),(1);\n" + tail,
	} {
		if content(t, srv, in(head+merged)) == apart {
			t.Errorf("no difference: %s", merged)
		}
	}
}
