package dumpfile

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dump"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		b := []byte(text)
		switch filepath.Ext(name) {
		case ".gz":
			b = gzipped(t, text)
		case ".zst":
			b = zstandard(t, text)
		case ".xz":
			b = xzipped(t, text)
		case ".zip":
			b = zipped(t, member{name: "dump.sql", text: text})
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func bases(paths []string) []string {
	var out []string
	for _, p := range paths {
		out = append(out, filepath.Base(p))
	}
	return out
}

func TestDirAndOrder(t *testing.T) {
	dir := t.TempDir()
	if _, err := Dir(dir); err == nil || !strings.Contains(err.Error(), "\nhint: put files named .sql") {
		t.Errorf("empty directory: %v", err)
	}
	write(t, dir, map[string]string{
		"a-data.sql":       "SET NAMES utf8;\nLOCK TABLES t WRITE;\nINSERT INTO t VALUES (1);\nCREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW SET @a=1;\n",
		"a.sql.gz":         "DROP TABLE IF EXISTS t;\nCREATE TABLE t (a int);\n",
		"b-huge.sql":       "INSERT INTO t VALUES ('" + strings.Repeat("x", 3*dump.PeekLimit) + "');\n",
		"c.sql.zst":        "CREATE TABLE u (a int);\nINSERT INTO u VALUES (1);\n",
		"d-settings.sql":   "SET GLOBAL x=1;\n",
		"e-views.SQL":      "/*!50001 CREATE VIEW v AS SELECT 1 */;\n",
		"f-long.sql":       "/* " + strings.Repeat("x", 3*dump.PeekLimit) + " */ INSERT INTO t VALUES (1);\n",
		"g.sql.xz":         "CREATE TABLE w (a int);\n",
		"h.sql.zip":        "CREATE TABLE x (a int);\n",
		"README.md":        "no dump",
		".hidden.sql":      "no dump",
		"z.sql.part":       "no dump",
		"g-broken.sql.bak": "no dump",
	})
	if err := os.Mkdir(filepath.Join(dir, "folder.sql"), 0o700); err != nil {
		t.Fatal(err)
	}
	paths, err := Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a-data.sql", "a.sql.gz", "b-huge.sql", "c.sql.zst", "d-settings.sql", "e-views.SQL", "f-long.sql", "g.sql.xz", "h.sql.zip"}, bases(paths)); d != "" {
		t.Error(d)
	}
	if paths, err = Order(paths); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a.sql.gz", "c.sql.zst", "d-settings.sql", "e-views.SQL", "f-long.sql", "g.sql.xz", "h.sql.zip", "a-data.sql", "b-huge.sql"}, bases(paths)); d != "" {
		t.Error(d)
	}
}

func TestOrderOfDamagedDump(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.sql.gz": strings.Repeat("SELECT 1;", 1000)})
	p := filepath.Join(dir, "a.sql.gz")
	if err := os.Truncate(p, 30); err != nil {
		t.Fatal(err)
	}
	if _, err := Order([]string{p}); err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("error = %v", err)
	}
}

func TestPeek(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, in string
		want     dump.Head
	}{
		{"schema", "SET x=1;\nCREATE TABLE t (a int);", dump.Head{Schema: true, NeedsDatabase: true}},
		{"data with USE", "CREATE DATABASE IF NOT EXISTS a;\nUSE a;INSERT INTO t VALUES (1);", dump.Head{Data: true, Databases: []string{"a"}}},
		{"neither", "SET x=1;", dump.Head{}},
		{"cut in the first statement", "REPLACE INTO a.t VALUES ('", dump.Head{Data: true}},
		{"fault later", "CREATE TABLE a.t (a int);\nsystem ls;", dump.Head{Schema: true}},
		{"fault first", "system ls;\nCREATE TABLE a.t (a int);", dump.Head{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(t, dir, map[string]string{"x.sql": c.in})
			p := filepath.Join(dir, "x.sql")
			got, err := Peek(p, p)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDatabaseName(t *testing.T) {
	for path, want := range map[string]string{
		"shop.sql": "shop", "/a/shop.sql.gz": "shop", "shop.sql.bz2": "shop", "shop.SQL.zip": "shop", "backup.zip": "backup", ".zip": ".zip", "shop.SQL.ZST": "shop", "shop-data.sql": "shop-data", "my.shop.sql": "my.shop", "shop": "shop",
		".sql": ".sql",
	} {
		if got := DatabaseName(path); got != want {
			t.Errorf("name after %s = %q, want %q", path, got, want)
		}
	}
}

func TestSamples(t *testing.T) {
	paths, err := Dir("../../tests/testdata/samples")
	if err != nil {
		t.Fatal(err)
	}
	if paths, err = Order(paths); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"chinook.sql", "northwind.sql", "sakila-schema.sql", "northwind-data.sql", "sakila-data.sql"}, bases(paths)); d != "" {
		t.Error(d)
	}
	current := map[string]string{"chinook": "Chinook", "northwind": "northwind", "northwind-data": "northwind", "sakila-schema": "sakila"}
	// sakila-data.sql names no database.
	for _, p := range paths {
		t.Run(filepath.Base(p), func(t *testing.T) {
			r, err := Open(p)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			s, err := dump.Check(io.Discard, r, dump.Options{File: p})
			if err != nil {
				t.Fatal(err)
			}
			want := current[DatabaseName(p)]
			if s.Current != want || s.NeedsDatabase != (want == "") || s.Statements == 0 {
				t.Errorf("%+v, want database %s", s, want)
			}
		})
	}
}

func TestDirsOfOtherProgramsAreRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		want  string // "" for dumps like any other
	}{
		{"pg_dump", []string{"toc.dat", "3321.dat.gz"}, "a directory of PostgreSQL's pg_dump"},
		{"mongodump", []string{"item.bson", "item.metadata.json"}, "a directory of mongodump"},
		{"--tab", []string{"item.sql", "item.txt", "z.sql"}, "the rows of item.sql seem to lie in item.txt"},
		{"dumps with notes", []string{"item.sql", "README.txt", "metadata"}, ""},
		{"a schema of one's own", []string{"shop-schema.sql", "shop-data.sql"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, f := range c.files {
				write(t, dir, map[string]string{f: "CREATE TABLE t (a INT);\n"})
			}
			_, err := Dir(dir)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("Dir is %v, want %q", err, c.want)
			}
		})
	}
}

// TestOwnDirectory: a directory of ours that lacks a file is refused, and so is a link out of it that somebody else has made.
func TestOwnDirectory(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"0-schema.sql": "x;", "1-a.0001.sql": "x;", "9-objects.sql": "x;", sumsFile: "00  0-schema.sql\n00  1-a.0001.sql\n00  9-objects.sql\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := Dir(dir); err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	rows := filepath.Join(dir, "1-a.0001.sql")
	if err := os.Remove(rows); err != nil {
		t.Fatal(err)
	}
	if _, err := Dir(dir); err == nil || !strings.Contains(err.Error(), "1-a.0001.sql: the file is not there, which SHA256SUMS names") {
		t.Error(err)
	}
	if err := os.Symlink("/etc/hostname", rows); err != nil {
		t.Fatal(err)
	}
	if _, err := Dir(dir); err != nil {
		t.Errorf("a link of one's own is refused: %v", err)
	}
	if os.Geteuid() != 0 {
		return // a link of another user takes root to make
	}
	if err := os.Lchown(rows, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if _, err := Dir(dir); err == nil || !strings.Contains(err.Error(), "it is a link out of the directory, which another user has made") {
		t.Error(err)
	}
}
