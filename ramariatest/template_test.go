package ramariatest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/client"
)

// TestEmpty gives a database without a template.
func TestEmpty(t *testing.T) {
	t.Parallel()
	needServer(t)
	db := New(t)
	if n := ask[int](t, db, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"); n != 0 {
		t.Errorf("%d tables", n)
	}
	exe(t, db, "CREATE TABLE a (id INT PRIMARY KEY)")
}

// TestFromDump loads dumps, and loads them again when they were changed.
func TestFromDump(t *testing.T) {
	t.Parallel()
	needServer(t)
	dump := filepath.Join(t.TempDir(), "shop.sql")
	for i, text := range []string{"CREATE TABLE a (id INT PRIMARY KEY);\n", "CREATE TABLE a (id INT PRIMARY KEY);\nINSERT INTO a VALUES (1);\n"} {
		if err := os.WriteFile(dump, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		// The path stands for the content within a process, so this is as the next one.
		d := openBy(t, newProcess(), Template("dumped", FromDump(dump)))
		if n := ask[int](t, d.DB, "SELECT COUNT(*) FROM a"); n != i {
			t.Errorf("%d rows, want %d", n, i)
		}
	}
	f := &fakeT{}
	f.run(func() { New(f, Template("dumped", FromDump(dump+".gone"))) })
	if !f.failed || !strings.Contains(f.log, dump+".gone") {
		t.Errorf("a dump that is not there: %s", f.log)
	}
}

// openBy is NewDatabase in another process, whose databases are given back.
func openBy(t *testing.T, p *process, opts ...Option) *Database {
	t.Helper()
	d, err := p.open(t, newOptions(opts))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		d.close(ctx, false)
		if err := p.release(ctx); err != nil {
			t.Error(err)
		}
	})
	return d
}

// TestBuildFails leaves the template to the next who tries.
func TestBuildFails(t *testing.T) {
	t.Parallel()
	needServer(t)
	failing := func(how func(f *fakeT) error) Option {
		return Template("fails", Build("1", func(context.Context, *sql.DB) error { return how(&fakeT{}) }))
	}
	for name, how := range map[string]func(*fakeT) error{
		"error": func(*fakeT) error { return errors.New("no such fixture") },
		"fatal": func(f *fakeT) error { f.Fatal("no such fixture"); return nil },
	} {
		f, p := &fakeT{}, newProcess()
		calls := 0
		f.run(func() {
			_, err := p.open(f, newOptions([]Option{failing(func(f *fakeT) error { calls++; return how(f) })}))
			f.Logf("%v", err)
		})
		if calls != 1 || name == "error" && f.log != "build template fails: no such fixture\n" {
			t.Errorf("%s: %d calls, log %q", name, calls, f.log)
		}
		if err := p.release(t.Context()); err != nil {
			t.Error(err)
		}
	}
	p := newProcess()
	for range 2 {
		d := openBy(t, p, Template("fails", Build("1", func(ctx context.Context, db *sql.DB) error {
			_, err := db.ExecContext(ctx, "CREATE TABLE a (id INT PRIMARY KEY)")
			return err
		})))
		exe(t, d.DB, "INSERT INTO a VALUES (1)")
	}
}

// TestKeep keeps the database of a test that failed, and only that.
func TestKeep(t *testing.T) {
	t.Parallel()
	template := shop(t)
	for name, tc := range map[string]struct{ failed, keep, kept bool }{
		"failed, keep": {true, true, true},
		"failed":       {true, false, false},
		"keep":         {false, true, false},
	} {
		f, p := &fakeT{failed: tc.failed}, newProcess()
		opts := []Option{template}
		if tc.keep {
			opts = append(opts, Keep())
		}
		var d *Database
		f.run(func() {
			o := newOptions(opts)
			var err error
			if d, err = p.open(f, o); err != nil {
				f.Fatal(err)
			}
			exe(t, d.DB, "INSERT INTO orders (item) VALUES ('evidence')")
			f.Cleanup(func() { d.close(t.Context(), o.keep) })
		})
		api := d.lease.all.api
		if err := p.release(t.Context()); err != nil {
			t.Error(err)
		}
		if strings.Contains(f.log, d.DSN) != tc.kept || strings.Contains(f.log, "ramaria db drop "+d.Name) != tc.kept {
			t.Errorf("%s: log %q", name, f.log)
		}
		if !tc.kept {
			continue
		}
		db, err := sql.Open("mysql", d.DSN)
		if err != nil {
			t.Fatal(err)
		}
		if n := ask[int](t, db, "SELECT COUNT(*) FROM orders WHERE item = 'evidence'"); n != 1 {
			t.Errorf("%s: the evidence is gone", name)
		}
		db.Close()
		if err := api.DropDatabase(t.Context(), d.Name); err != nil {
			t.Error(err)
		}
	}
}

// TestProcesses runs several processes at once that find no instance. One starts it, one
// makes the template, and at the end nothing is in use.
func TestProcesses(t *testing.T) {
	needServer(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	built := filepath.Join(t.TempDir(), "built")
	env := append(os.Environ(), envChild+"="+built, EnvInstance+"=together", client.EnvVar+"=")
	const processes = 3
	failed := make(chan error, processes)
	for range processes {
		go func() {
			cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestChild$", "-test.count=3", "-test.parallel=4", "-test.timeout=10s")
			cmd.Env = env
			out, err := cmd.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, out)
			}
			failed <- err
		}()
	}
	for range processes {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(built); err != nil || string(text) != "built\n" {
		t.Errorf("%q, %v", text, err)
	}
	script, err := ramaria(t.Context(), nil, "env", "together")
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(exported(script, client.EnvVar))
	defer c.Close()
	if list, err := c.Databases(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("in use still: %v, %v", list, err)
	}
}

// TestChild is what the processes of TestProcesses run; it is nothing by itself.
func TestChild(t *testing.T) {
	built := os.Getenv(envChild)
	if built == "" {
		return
	}
	template := Template("child", Build("1", func(ctx context.Context, db *sql.DB) error {
		f, err := os.OpenFile(built, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		_, err = f.WriteString("built\n")
		return errors.Join(err, f.Close(), shopTables(ctx, db))
	}))
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			db := New(t, template)
			exe(t, db, "DELETE FROM orders WHERE id = 1")
			if n := ask[int](t, db, "SELECT COUNT(*) FROM orders"); n != 2 {
				t.Errorf("%d rows", n)
			}
		})
	}
}
