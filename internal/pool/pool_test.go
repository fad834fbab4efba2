package pool_test

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a server with the database shop, and a pool.
type house struct {
	*pool.Pool
	t      testing.TB
	srv    *servertest.Running
	config pool.Config
	root   *sql.DB
}

// schema is the database shop.
const schema = `CREATE DATABASE shop; USE shop;
	CREATE TABLE item (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, name varchar(20), note text);
	INSERT INTO item (name, note) VALUES ('a', REPEAT('x', 3000)), ('b', 'y'), ('c', NULL);
	CREATE TABLE sale (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, item int, FOREIGN KEY (item) REFERENCES item (id) ON DELETE CASCADE);
	INSERT INTO sale (item) VALUES (1), (1), (2);
	CREATE VIEW sold AS SELECT name FROM item JOIN sale ON item.id = sale.item;`

func newHouse(t testing.TB, want string) *house {
	t.Helper()
	srv := servertest.Start(t, servertest.Find(t, want))
	srv.Load(t, schema)
	e := srv.Endpoint
	h := &house{t: t, srv: srv, config: pool.Config{
		Server: srv.Server, DataDir: srv.DataDir(), File: filepath.Join(t.TempDir(), "pool.json"),
		Endpoint: dbconn.Endpoint{Socket: e.Socket}, Login: e.Login, ServerID: 5, Idle: time.Hour, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}}
	var err error
	if h.root, err = dbconn.Open(e.Socket, e.Login, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.root.Close() })
	h.open()
	t.Cleanup(func() { h.Close() })
	return h
}

// open begins with what the last pool wrote down.
func (h *house) open() {
	h.t.Helper()
	p, err := pool.Open(h.config)
	if err != nil {
		h.t.Fatal(err)
	}
	h.Pool = p
}

func (h *house) put(name string) {
	h.t.Helper()
	if _, err := h.PutTemplate(h.t.Context(), name); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) lease(r pool.Request) (pool.Lease, *sql.DB) {
	h.t.Helper()
	l, err := h.NewDatabase(h.t.Context(), r)
	if err != nil {
		h.t.Fatal(err)
	}
	db, err := dbconn.Open(h.srv.Endpoint.Socket, l.Endpoint.Login, l.Name)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { db.Close() })
	return l, db
}

func (h *house) exec(db *sql.DB, statement string) {
	h.t.Helper()
	if _, err := db.ExecContext(h.t.Context(), statement); err != nil {
		h.t.Fatalf("%s: %v", statement, err)
	}
}

// state is what a database holds, by its dump, without its name.
func (h *house) state(name string) string {
	h.t.Helper()
	return strings.ReplaceAll(h.srv.Dump(h.t, name), "`"+name+"`.", "")
}

// back resets a lease and wants a way, and the template's state.
func (h *house) back(name string, way reset.Way) {
	h.t.Helper()
	r, err := h.Reset(h.t.Context(), name, reset.RestoreCounters)
	if err != nil {
		h.t.Fatal(err)
	}
	if r.Way != way {
		h.t.Errorf("reset %s: %s (%s), want %s", name, r.Way, r.Why, way)
	}
	if got, want := h.state(name), h.state("shop"); got != want {
		h.t.Errorf("%s is not as its template:\n%s\nwant:\n%s", name, got, want)
	}
}

func TestPool(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.put("shop")
		a, inA := h.lease(pool.Request{Template: "shop"})
		b, inB := h.lease(pool.Request{Template: "shop", Name: "Mine_2"})
		if a.Name != "shop_1" || b.Name != "Mine_2" || a.Endpoint.Login == b.Endpoint.Login {
			t.Errorf("leases %+v and %+v", a, b)
		}
		h.back(a.Name, reset.Noop)
		h.exec(inA, "UPDATE item SET name = 'z' WHERE id = 2")
		h.exec(inA, "INSERT INTO sale (item) VALUES (3)")
		h.exec(inB, "CREATE TABLE more (a int)")
		h.back(a.Name, reset.Undo)
		h.back(b.Name, reset.Refill)
		h.exec(inA, "DROP VIEW sold")
		h.back(a.Name, reset.Refill)
		h.exec(h.root, "DROP DATABASE shop_1")
		h.back(a.Name, reset.Reclone)

		// A lease sees nothing but its own.
		for _, statement := range []string{"SELECT * FROM shop.item", "SELECT * FROM Mine_2.item", "SET sql_log_bin = 0", "CREATE DATABASE other", "SELECT * FROM shopx1.item"} {
			if _, err := inA.ExecContext(t.Context(), statement); err == nil {
				t.Errorf("%s: a lease may do that", statement)
			}
		}
		if list := h.Templates(); len(list) != 1 || list[0].Leases != 2 || list[0].Tables != 2 || list[0].Changed != "" {
			t.Errorf("templates %+v", list)
		}
		if list := h.Databases(); len(list) != 2 || list[0].Name != "Mine_2" || list[1].Name != "shop_1" {
			t.Errorf("databases %+v", list)
		}
		if err := h.Drop(t.Context(), a.Name); err != nil {
			t.Fatal(err)
		}
		if err := inA.PingContext(t.Context()); err == nil {
			t.Error("a dropped lease's account works")
		}
		if err := h.DeleteTemplate("shop"); !errors.Is(err, pool.ErrInUse) {
			t.Errorf("remove a template with a clone: %v", err)
		}
		if err := h.Drop(t.Context(), b.Name); err != nil {
			t.Fatal(err)
		}
		if err := h.DeleteTemplate("shop"); err != nil {
			t.Error(err)
		}
		var left int
		if err := h.root.QueryRowContext(t.Context(), "SELECT (SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name IN ('shop_1', 'Mine_2')) + (SELECT COUNT(*) FROM mysql.user WHERE user LIKE 'lease%')").Scan(&left); err != nil || left != 0 {
			t.Errorf("%d databases and accounts are left (%v)", left, err)
		}
	})
}

// TestRestart: what is there after a restart of the server is not known to be clean.
func TestRestart(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.put("shop")
		a, inA := h.lease(pool.Request{Template: "shop"})
		h.exec(inA, "DELETE FROM item")
		h.Close()
		h.open()
		h.back(a.Name, reset.Reclone)
		h.exec(inA, "DELETE FROM sale WHERE id = 1")
		h.back(a.Name, reset.Undo)
		h.Close()
		h.open()
		if list := h.Templates(); len(list) != 1 || list[0].Leases != 1 {
			t.Errorf("templates %+v", list)
		}
		if err := h.Drop(t.Context(), a.Name); err != nil {
			t.Error(err)
		}
	})
}

// TestChangedTemplate: of a template that was changed nothing is cloned.
func TestChangedTemplate(t *testing.T) {
	h := newHouse(t, "")
	h.put("shop")
	a, inA := h.lease(pool.Request{Template: "shop"})
	h.exec(inA, "DELETE FROM sale WHERE id = 1")
	h.exec(h.root, "UPDATE shop.item SET name = 'changed' WHERE id = 3")
	if r, err := h.Reset(t.Context(), a.Name, reset.RestoreCounters); err != nil || r.Way != reset.Undo {
		t.Errorf("a rewind needs no template: %v %v", r, err)
	}
	h.exec(inA, "TRUNCATE sale")
	if _, err := h.Reset(t.Context(), a.Name, reset.RestoreCounters); !errors.Is(err, reset.ErrTemplateChanged) {
		t.Errorf("fill from a changed template: %v", err)
	}
	if _, err := h.NewDatabase(t.Context(), pool.Request{Template: "shop"}); !errors.Is(err, reset.ErrTemplateChanged) {
		t.Errorf("clone a changed template: %v", err)
	}
	if list := h.Templates(); len(list) != 1 || list[0].Changed == "" {
		t.Errorf("templates %+v", list)
	}
	h.put("shop")
	h.back(a.Name, reset.Reclone)
	_, _ = h.lease(pool.Request{Template: "shop"})
}

// TestLongNames leases names of the greatest length, of which no more than 64 characters can be
// granted, where each _ counts twice.
func TestLongNames(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		for _, name := range []string{strings.Repeat("x", 64), strings.Repeat("_", 64), strings.Repeat("long_", 12) + "name"} {
			h.exec(h.root, "CREATE DATABASE "+dbconn.QuoteName(name))
			h.exec(h.root, "CREATE TABLE "+dbconn.QuoteName(name)+".t (id int PRIMARY KEY)")
			h.put(name)
			for range 2 {
				l, db := h.lease(pool.Request{Template: name})
				h.exec(db, "INSERT INTO t VALUES (1)")
				if _, err := h.Reset(t.Context(), l.Name, reset.RestoreCounters); err != nil {
					t.Error(err)
				}
			}
			c := h.claim(pool.TemplateRequest{Family: name, Key: "k"})
			h.fill(c)
			h.lease(pool.Request{Template: c.Template.Name})
		}
		name := "a_" + strings.Repeat("b", 61)
		if l, _ := h.lease(pool.Request{Template: strings.Repeat("x", 64), Name: name}); l.Name != name {
			t.Errorf("the name is %s", l.Name)
		}
	})
}

func TestRefusals(t *testing.T) {
	h := newHouse(t, "")
	if _, err := h.NewDatabase(t.Context(), pool.Request{Template: "shop"}); !errors.Is(err, pool.ErrNotFound) {
		t.Errorf("no template: %v", err)
	}
	h.put("shop")
	a, _ := h.lease(pool.Request{Template: "shop"})
	for _, tc := range []struct {
		name string
		do   func() error
		want error
	}{
		{"template of nothing", func() error { _, err := h.PutTemplate(t.Context(), "none"); return err }, pool.ErrNotFound},
		{"template of the server's", func() error { _, err := h.PutTemplate(t.Context(), "MySQL"); return err }, pool.ErrInvalid},
		{"template of a lease", func() error { _, err := h.PutTemplate(t.Context(), a.Name); return err }, pool.ErrInUse},
		{"name taken by a lease", func() error {
			_, err := h.NewDatabase(t.Context(), pool.Request{Template: "shop", Name: a.Name})
			return err
		}, pool.ErrTaken},
		{"name taken by a database", func() error {
			_, err := h.NewDatabase(t.Context(), pool.Request{Template: "shop", Name: "shop"})
			return err
		}, pool.ErrTaken},
		{"bad name", func() error {
			_, err := h.NewDatabase(t.Context(), pool.Request{Template: "shop", Name: "a`b"})
			return err
		}, pool.ErrInvalid},
		{"name that cannot be granted", func() error {
			_, err := h.NewDatabase(t.Context(), pool.Request{Template: "shop", Name: "a_" + strings.Repeat("b", 62)})
			return err
		}, pool.ErrInvalid},
		{"bad time to live", func() error {
			_, err := h.NewDatabase(t.Context(), pool.Request{Template: "shop", TTL: -1})
			return err
		}, pool.ErrInvalid},
		{"reset of nothing", func() error { _, err := h.Reset(t.Context(), "none", reset.RestoreCounters); return err }, pool.ErrNotFound},
		{"drop of nothing", func() error { return h.Drop(t.Context(), "none") }, pool.ErrNotFound},
		{"removal of nothing", func() error { return h.DeleteTemplate("none") }, pool.ErrNotFound},
	} {
		if err := tc.do(); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
	}
	h.Close()
	if _, err := h.Reset(t.Context(), a.Name, reset.RestoreCounters); !errors.Is(err, pool.ErrClosed) {
		t.Errorf("reset after Close: %v", err)
	}
}

func TestTimeToLive(t *testing.T) {
	h := newHouse(t, "")
	h.put("shop")
	short, _ := h.lease(pool.Request{Template: "shop", TTL: 5 * time.Second})
	long, _ := h.lease(pool.Request{Template: "shop"})
	for end := time.Now().Add(7 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if _, err := h.Reset(t.Context(), short.Name, reset.RestoreCounters); err != nil {
			t.Fatalf("it was used all the time: %v", err)
		}
	}
	for end := time.Now().Add(time.Minute); len(h.Databases()) > 1; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a lease outlives its time")
		}
	}
	if list := h.Databases(); list[0].Name != long.Name {
		t.Errorf("left are %+v", list)
	}
}

// TestAtOnce makes, uses, resets and drops leases from many sides.
func TestAtOnce(t *testing.T) {
	h := newHouse(t, "")
	h.put("shop")
	want := h.state("shop")
	var all sync.WaitGroup
	for n := range 6 {
		all.Go(func() {
			for range 5 {
				l, err := h.NewDatabase(t.Context(), pool.Request{Template: "shop"})
				if err != nil {
					t.Error(err)
					return
				}
				db, err := dbconn.Open(h.srv.Endpoint.Socket, l.Endpoint.Login, l.Name)
				if err != nil {
					t.Error(err)
					return
				}
				for i, statement := range []string{"UPDATE item SET name = 'x'", "DELETE FROM item", "INSERT INTO item (name) VALUES ('n')", "ALTER TABLE sale ADD COLUMN c int"} {
					if _, err := db.ExecContext(t.Context(), statement); err != nil {
						t.Error(err)
					}
					if (n+i)%2 == 0 {
						if _, err := h.Reset(t.Context(), l.Name, reset.RestoreCounters); err != nil {
							t.Error(err)
						}
					}
				}
				if _, err := h.Reset(t.Context(), l.Name, reset.RestoreCounters); err != nil {
					t.Error(err)
				}
				if got := h.state(l.Name); got != want {
					t.Errorf("%s is not as its template:\n%s", l.Name, got)
				}
				db.Close()
				if err := h.Drop(t.Context(), l.Name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func TestBrokenFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pool.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Open(pool.Config{File: file}); err == nil || !strings.Contains(fmt.Sprint(err), "hint: ") {
		t.Errorf("a broken file: %v", err)
	}
}
