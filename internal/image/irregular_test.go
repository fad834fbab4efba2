package image

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/memo"
)

// within fails a test that hangs, as open(2) of a pipe does.
func within(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s: still waiting", what)
	}
}

func fifo(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestIrregularSources: what is neither a file nor a directory is refused at once.
func TestIrregularSources(t *testing.T) {
	dir := t.TempDir()
	pipe := fifo(t, dir, "pipe.sql")
	link := filepath.Join(dir, "link.sql")
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "unix", "s.sql")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, what := range map[string]string{
		pipe: "a pipe", link: "a pipe", os.DevNull: "a device", filepath.Join(dir, "s.sql"): "a socket",
	} {
		within(t, path, func() {
			_, err := Recipe{Server: mariadb(10, 11, 14), From: ParseSources([]string{path})}.ID(t.Context(), memo.Store{})
			if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "it is "+what) ||
				!strings.HasSuffix(err.Error(), "\nhint: --from - reads standard input: zcat x.gz | ramaria up --from -") {
				t.Errorf("%s: got %v", path, err)
			}
		})
	}
	within(t, "hash", func() {
		if sum, err := hashFile(t.Context(), memo.Store{}, pipe); err == nil {
			t.Errorf("the hash of a pipe is %s", sum)
		}
	})
}

// TestLinkedSource: a link to a file is that file.
func TestLinkedSource(t *testing.T) {
	dir := tree(t, map[string]string{"a.sql": "SELECT 1;"})
	link := filepath.Join(dir, "b.sql")
	if err := os.Symlink("a.sql", link); err != nil {
		t.Fatal(err)
	}
	if s, err := lookAtPath(link); err != nil || len(s) != 1 || s[0].kind != kindDump {
		t.Errorf("got %v, %v", s, err)
	}
	if _, err := hashFile(t.Context(), memo.Store{}, link); err != nil {
		t.Error(err)
	}
}

// TestIrregularDataDir: pipes in the place of a server's files do not stop a copy.
func TestIrregularDataDir(t *testing.T) {
	for _, name := range []string{"ibdata1", "ib_logfile0", "mariadb_upgrade_info", "log.index"} {
		dir := tree(t, map[string]string{"aria_log_control": ""})
		fifo(t, dir, name)
		within(t, name, func() {
			_, hashErr := hashDataDir(t.Context(), memo.Store{}, dir)
			_, sizeErr := pageSize(dir)
			_, makerErr := checkMaker(dir, mariadb(10, 11, 14))
			err := errors.Join(hashErr, makerErr, sizeErr, checkStopped(dir))
			if refused := name == "ibdata1" || name == "log.index"; (err != nil) != refused {
				t.Errorf("%s: got %v", name, err)
			}
		})
	}
}

// TestUsageErrors: what was named wrongly can be told from what is faulty, and the
// text of the error is the same.
func TestUsageErrors(t *testing.T) {
	a := filepath.Join(tree(t, map[string]string{"a.sql": "SELECT 1;"}), "a.sql")
	for _, c := range []struct {
		r    Recipe
		want string
	}{
		{Recipe{From: ParseSources([]string{"/nosuch.sql"})}, "use source /nosuch.sql: there is no such file"},
		{Recipe{From: ParseSources([]string{"exec:x"})}, "use source exec:x: what a command makes"},
		{Recipe{From: ParseSources([]string{"exec:"}), Key: "1"}, "use source exec:: there is no command"},
		{Recipe{From: ParseSources([]string{a}), Key: "1"}, "use --key: no source needs it"},
		{Recipe{Key: "1"}, "use --key: no source needs it"},
		{Recipe{From: ParseSources([]string{"instance:"})}, "use source instance:: there is no name"},
		{Recipe{From: ParseSources([]string{a, "instance:a"})}, "use source instance a: a data directory, an instance or an image can only"},
		{Recipe{From: ParseSources([]string{a, "abcdef0123"})}, "use source image abcdef0123: a data directory, an instance or an image can only come first"},
	} {
		c.r.Server = mariadb(10, 11, 14)
		_, err := c.r.ID(t.Context(), memo.Store{})
		if !errors.Is(err, ErrUsage) || !strings.HasPrefix(err.Error(), c.want) || !strings.Contains(err.Error(), "\nhint: ") {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	_, err := Recipe{Server: mariadb(10, 11, 14), From: ParseSources([]string{t.TempDir()})}.ID(t.Context(), memo.Store{})
	if err == nil || errors.Is(err, ErrUsage) {
		t.Errorf("a directory without dumps: got %v", err)
	}
}

func TestDatabaseFor(t *testing.T) {
	const own, none = "is the server's own", "is no name"
	for _, c := range []struct {
		name, path, database string
		loaded               []loaded
		want, err            string
	}{
		{name: "of the file", path: "/d/shop.sql.gz", want: "shop"},
		{name: "chosen", path: "/d/mysql.sql", database: "x", want: "x"},
		{name: "chosen on purpose", path: "/d/tz.sql", database: "mysql", want: "mysql"},
		{name: "mysql", path: "/d/mysql.sql", err: own},
		{name: "in capitals", path: "/d/MySQL.sql.zst", err: own},
		{name: "sys", path: "/d/sys.sql", err: own},
		{name: "information_schema", path: "information_schema.sql", err: own},
		{name: "performance_schema", path: "Performance_Schema.sql", err: own},
		{name: "like one", path: "mysql2.sql", want: "mysql2"},
		{name: "nothing", path: "/d/.sql", err: none},
		{name: "packed nothing", path: "/d/.sql.gz", err: ".sql"},
		{name: "a space", path: "/d/ .sql", err: none},
		{name: "a space at the end", path: "/d/a .sql", err: "ends in a space"},
		{name: "64 letters", path: strings.Repeat("ä", 64) + ".sql", want: strings.Repeat("ä", 64)},
		{name: "65 letters", path: strings.Repeat("x", 65) + ".sql", err: "longer than 64"},
		{name: "not UTF-8", path: "\xff.sql", err: "has characters"},
		{name: "beyond the BMP", path: "😀.sql", err: "has characters"},
		{name: "a line end", path: "a\nb.sql", err: "has characters"},
		{name: "rows", path: "shop-data.sql", loaded: []loaded{{"shop", "store"}, {"x", "y"}}, want: "store"},
		{name: "rows of the last", path: "rows.sql", loaded: []loaded{{"shop", "store"}, {"x", "y"}}, want: "y"},
		{name: "rows after a system database", path: "rows.sql", loaded: []loaded{{"x", "mysql"}}, err: own},
	} {
		b := &build{plan: &plan{Recipe: Recipe{Database: c.database}}, loaded: c.loaded}
		got, err := b.databaseFor(input{kind: kindDump, path: c.path, name: "x.sql"}, dump.Head{Data: c.loaded != nil})
		if c.err == "" && (err != nil || got != c.want) {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || !strings.HasSuffix(err.Error(), "\nhint: --database NAME")) {
			t.Errorf("%s: got %q, %v, want an error with %q", c.name, got, err, c.err)
		}
	}
}
