package tests

import (
	"crypto/sha256"
	"database/sql"
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// samplesDir has the sample dumps, each with the licence under which others may have it.
const samplesDir = "testdata/samples"

// samples are the sample dumps: names of files, and the databases that they make.
var samples = []struct {
	name      string
	files     []string
	databases []string
}{
	{"chinook", []string{"chinook.sql"}, []string{"Chinook"}},
	{"northwind", []string{"northwind.sql", "northwind-data.sql"}, []string{"northwind"}},
	{"sakila", []string{"sakila-schema.sql", "sakila-data.sql"}, []string{"sakila"}},
}

// TestSamplesEqualPlainLoad brings up Chinook, Northwind and Sakila, and compares
// everything in them with what the client alone loads into a stock server.
func TestSamplesEqualPlainLoad(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	plain := newPlain(t, h.srv)
	for _, sample := range samples {
		t.Run(sample.name, func(t *testing.T) {
			h.during(t)
			plain.during(t)
			var files []string
			for _, f := range sample.files {
				files = append(files, filepath.Join(samplesDir, f))
			}
			equalToPlain(t, h, plain, sample.name, files, sample.databases)
		})
	}
}

// TestEverythingEqualsPlainLoad does the same with a dump that has one of
// everything, and shows that the comparison notices differences.
func TestEverythingEqualsPlainLoad(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	plain := newPlain(t, h.srv)
	file := filepath.Join(t.TempDir(), "everything.sql")
	if err := os.WriteFile(file, []byte(everything(h.srv)), 0o600); err != nil {
		t.Fatal(err)
	}
	databases := []string{"zoo", "annex"}
	db, want := equalToPlain(t, h, plain, "zoo", []string{file}, databases)

	for name, change := range map[string][2]string{
		"a row changed":         {"UPDATE zoo.animal SET weight = weight + 1 WHERE id = 17", "rows zoo.animal"},
		"a row deleted":         {"DELETE FROM zoo.gate WHERE n = 5", "rows zoo.gate"},
		"a trigger dropped":     {"DROP TRIGGER zoo.keeper_up2", "TRIGGER zoo.keeper_up2"},
		"a routine made":        {"CREATE FUNCTION zoo.more() RETURNS int DETERMINISTIC RETURN 1", "FUNCTION zoo.more"},
		"an event made":         {"CREATE EVENT zoo.more ON SCHEDULE EVERY 1 DAY DO DELETE FROM zoo.diary", "EVENT zoo.more"},
		"a view replaced":       {"CREATE OR REPLACE VIEW zoo.poor AS SELECT id, wage FROM zoo.keeper", "TABLE zoo.poor"},
		"a comment changed":     {"ALTER TABLE annex.elsewhere COMMENT 'x'", "TABLE annex.elsewhere"},
		"AUTO_INCREMENT raised": {"ALTER TABLE zoo.animal AUTO_INCREMENT = 2000000", "information_schema.TABLES"},
		"a collation changed":   {"ALTER DATABASE annex COLLATE latin1_bin", "information_schema.SCHEMATA"},
	} {
		exe(t, db, change[0])
		got := describeAll(t, db, databases)
		if got[change[1]] == want[change[1]] {
			t.Errorf("%s, and the comparison says nothing about %s", name, change[1])
		}
	}
}

// equalToPlain loads the files both ways and compares; again after the instance
// was stopped and started. It returns a connection to the instance and what is in it.
func equalToPlain(t *testing.T, h *testHome, plain *plainServer, name string, files, databases []string) (*sql.DB, description) {
	t.Helper()
	plain.load(databases[0], files...)
	want := describeAll(t, plain.db, databases)
	for of, is := range want { // what names no definer belongs to who loads there, and the application's here
		want[of] = strings.ReplaceAll(is, dbconn.SupervisorUser, "app")
	}
	args := []string{"up", name, "--server", h.daemon()}
	for _, f := range files {
		args = append(args, "--from", f)
	}
	dsn := h.ramaria(args...)
	db := openDSN(t, dsn)
	if !strings.HasSuffix(dsn, "/"+databases[0]) {
		t.Errorf("the application's database in %s is not %s", dsn[strings.LastIndex(dsn, "/"):], databases[0])
	}
	if diff := cmp.Diff(want, describeAll(t, db, databases)); diff != "" {
		t.Errorf("other than a plain load (-) after up (+):\n%s", diff)
	}
	h.ramaria("down", name)
	db = openDSN(t, h.ramaria("up", name))
	if diff := cmp.Diff(want, describeAll(t, db, databases)); diff != "" {
		t.Errorf("other than a plain load (-) after down and up (+):\n%s", diff)
	}
	if want.count("rows ") == 0 {
		t.Error("there is no table to compare")
	}
	t.Logf("equal: %d tables and views, %d triggers, %d routines, %d events, %d rows",
		want.count("TABLE "), want.count("TRIGGER "), want.count("FUNCTION ")+want.count("PROCEDURE "), want.count("EVENT "), rowsOf(want))
	return db, want
}

// TestDataDirectoryIsCopied brings up instances from the data directory of a plain
// server, one that was stopped and one that was killed: the same content, and not a
// byte or a time of the source changed.
func TestDataDirectoryIsCopied(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	plain := newPlain(t, h.srv)
	file := filepath.Join(t.TempDir(), "everything.sql")
	if err := os.WriteFile(file, []byte(everything(h.srv)), 0o600); err != nil {
		t.Fatal(err)
	}
	plain.load("", file)
	databases := []string{"zoo", "annex"}
	for _, test := range []struct {
		name string
		end  func()
	}{
		{"stopped", plain.stop},
		{"killed", plain.kill},
	} {
		t.Run(test.name, func(t *testing.T) {
			h.during(t)
			plain.during(t)
			exe(t, plain.db, "INSERT INTO zoo.diary SELECT CONCAT('"+test.name+"', seq) FROM "+numbers(20000))
			want := describeAll(t, plain.db, databases)
			test.end()
			before := listFiles(t, plain.dataDir())
			db := openDSN(t, h.ramaria("up", test.name, "--from", plain.dataDir(), "--server", h.daemon()))
			if diff := cmp.Diff(want, describeAll(t, db, databases)); diff != "" {
				t.Errorf("other than the source (-) after up (+):\n%s", diff)
			}
			if err := checkTables(t.Context(), db); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(before, listFiles(t, plain.dataDir())); diff != "" {
				t.Errorf("the source changed:\n%s", diff)
			}
			plain.start() // the source still is a data directory
			if diff := cmp.Diff(want, describeAll(t, plain.db, databases)); diff != "" {
				t.Errorf("the source has other content than before:\n%s", diff)
			}
			if cmp.Equal(before, listFiles(t, plain.dataDir())) {
				t.Error("a server ran on the source, and the list of its files says nothing changed")
			}
		})
	}
}

func openDSN(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := openURL(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// listFiles describes every file below dir: kind, mode, owner's times and content.
func listFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	list := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		text := fmt.Sprintf("%s %s", fi.Mode(), fi.ModTime().Format("15:04:05.999999999"))
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %d %x", len(b), sha256.Sum256(b))
		}
		list[path] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
