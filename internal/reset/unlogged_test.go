package reset_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// replaced fails on MariaDB over a foreign key when other tables are dropped already, and is not in the log.
const replaced = "-CREATE OR REPLACE DATABASE DB\nUSE DB"

// TestUnlogged changes the shape of a database by statements that MariaDB does not log.
func TestUnlogged(t *testing.T) { servertest.EachFrom(t, "mariadb:10.6", testUnlogged) }

func testUnlogged(t *testing.T, want string) {
	l := newLab(t, want, "shop", "CREATE TABLE b_parent (id int PRIMARY KEY) ENGINE=InnoDB; INSERT INTO b_parent VALUES (1), (2);"+
		"CREATE TABLE c_child (id int PRIMARY KEY, p int, FOREIGN KEY (p) REFERENCES b_parent (id)) ENGINE=InnoDB; INSERT INTO c_child VALUES (1, 1);"+
		"CREATE TABLE plain (id int PRIMARY KEY) ENGINE=InnoDB; INSERT INTO plain VALUES (1), (2); CREATE TABLE old (a int) ENGINE=MyISAM; CREATE VIEW seen AS SELECT 1 AS one;"+
		"CREATE TRIGGER tr BEFORE INSERT ON plain FOR EACH ROW SET NEW.id = NEW.id + 1")
	le := l.lease("shop_1")
	part := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			le.t, l.t = t, t
			f(t)
		})
	}
	back := func(t *testing.T, how func() (reset.Result, error), way reset.Way) {
		t.Helper()
		if res, err := how(); err != nil && !errors.Is(err, reset.ErrSavepointLost) || res.Way != way {
			t.Errorf("the way was %s (%s), want %s: %v", res.Way, res.Why, way, err)
		}
		le.check()
		if res := le.reset(); res.Way != reset.Noop { // its own work is nothing that happened
			t.Errorf("a second reset found something: %s (%s)", res.Way, res.Why)
		}
	}
	for name, c := range map[string]reset.Counters{"reset": reset.RestoreCounters, "counters kept": reset.KeepCounters} {
		part(name, func(t *testing.T) {
			defer le.do(replaced).Close()
			back(t, func() (reset.Result, error) { return l.Reset(t.Context(), l.session, &le.Database, c) }, reset.Refill)
		})
		part(name+", rows as well", func(t *testing.T) {
			defer le.do("INSERT INTO plain VALUES (7)\nDELETE FROM c_child\nUPDATE b_parent SET id = 9 WHERE id = 2\n" + replaced).Close()
			back(t, func() (reset.Result, error) { return l.Reset(t.Context(), l.session, &le.Database, c) }, reset.Refill)
		})
		part(name+", to a savepoint", func(t *testing.T) {
			defer le.do("INSERT INTO plain VALUES (7)").Close()
			if err := l.SetSavepoint(t.Context(), l.session, &le.Database); err != nil {
				t.Fatal(err)
			}
			defer le.do(replaced).Close()
			back(t, func() (reset.Result, error) { return l.RollBack(t.Context(), l.session, &le.Database, c) }, reset.Refill)
		})
	}
	part("no savepoint", func(t *testing.T) {
		defer le.do(replaced).Close()
		if err := l.SetSavepoint(t.Context(), l.session, &le.Database); !errors.Is(err, reset.ErrNoSavepoint) {
			t.Errorf("it was marked: %v", err)
		}
		back(t, func() (reset.Result, error) {
			return l.Reset(t.Context(), l.session, &le.Database, reset.RestoreCounters)
		}, reset.Refill)
	})
	// As a killed RENAME TABLE left it, in tests/random.
	part("a broken file of triggers", func(t *testing.T) {
		dir := filepath.Join(l.srv.DataDir(), "shop_1")
		if err := os.WriteFile(filepath.Join(dir, "new"), []byte("TYPE=TRIGGERS\ntriggers=\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "plain.TRG")); err != nil {
			t.Fatal(err)
		}
		l.exec("FLUSH TABLES")
		back(t, func() (reset.Result, error) {
			return l.Reset(t.Context(), l.session, &le.Database, reset.RestoreCounters)
		}, reset.Reclone)
	})
	// Files that come and go for other reasons cost no more than a look.
	part("nothing but files", func(t *testing.T) {
		path := filepath.Join(l.srv.DataDir(), "shop_1", "passing")
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Remove(path)); err != nil {
			t.Fatal(err)
		}
		back(t, func() (reset.Result, error) {
			return l.Reset(t.Context(), l.session, &le.Database, reset.RestoreCounters)
		}, reset.Noop)
	})
}
