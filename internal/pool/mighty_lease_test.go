package pool_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// relogin has the next statement come from a new session, which has the rights of now.
func relogin(db *sql.DB) {
	db.SetMaxIdleConns(0)
	db.SetMaxIdleConns(1)
	db.SetMaxOpenConns(1)
}

// TestMightyLease gives a right by which the log is switched off to the account of a lease itself, in each way, and takes it
// away again: no reset misses what that did, nor does who has the database next.
func TestMightyLease(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.withApp()
		right := h.blindRight()
		h.does(
			"CREATE DATABASE lib", "CREATE USER boss@localhost", "GRANT ALL ON *.* TO boss@localhost", "CREATE ROLE strong", "GRANT "+right+" ON *.* TO strong",
			"CREATE DEFINER = boss@localhost PROCEDURE lib.hide() SET sql_log_bin = 0", "CREATE TABLE lib.t (a int)",
		)
		h.put("shop")
		off := []string{"SET sql_log_bin = 0"}
		ways := []struct {
			name       string
			give, take string // LEASE stands for the account
			hide       []string
		}{
			{"a right", "GRANT " + right + " ON *.* TO LEASE", "REVOKE " + right + " ON *.* FROM LEASE", off},
			{"a role", "GRANT strong TO LEASE", "REVOKE strong FROM LEASE", append([]string{"SET ROLE strong"}, off...)},
			{"what calls it", "GRANT EXECUTE ON lib.* TO LEASE", "REVOKE EXECUTE ON lib.* FROM LEASE", []string{"CALL lib.hide()"}},
		}
		if h.srv.Flavour == server.MariaDB {
			ways = append(ways, ways[0])
			ways[3].name, ways[3].give = "a right, for which a setting holds", "SET STATEMENT max_statement_time = 0 FOR GRANT "+right+" ON *.* TO LEASE"
		}
		for _, w := range ways {
			l, db := h.lease(pool.Request{Template: "shop"})
			account := l.Endpoint.User + "@localhost"
			before := h.state(l.Name)
			h.exec(db, "INSERT INTO item (name) VALUES ('seen')")
			if res, err := h.Reset(t.Context(), l.Name, false); err != nil || res.Way == reset.Reclone {
				t.Fatalf("%s: a reset before: %v by %s: %s", w.name, err, res.Way, res.Why)
			}
			hide := func() {
				t.Helper()
				relogin(db)
				for _, statement := range append(w.hide, "INSERT INTO item (name) VALUES ('unseen')") {
					h.exec(db, statement)
				}
			}
			back := func(what string) {
				t.Helper()
				if res, err := h.Reset(t.Context(), l.Name, false); err != nil || res.Way != reset.Reclone || h.state(l.Name) != before {
					t.Errorf("%s: %s: %v by %s: %s\n%s\nwant:\n%s", w.name, what, err, res.Way, res.Why, h.state(l.Name), before)
				}
			}
			h.does(strings.ReplaceAll(w.give, "LEASE", account))
			hide()
			back("the first reset")
			hide()
			back("the second")
			hide()
			if err := h.SetSavepoint(t.Context(), l.Name); !errors.Is(err, reset.ErrNoSavepoint) {
				t.Errorf("%s: a savepoint that no log tells of: %v", w.name, err)
			}
			h.does(strings.ReplaceAll(w.take, "LEASE", account))
			h.exec(db, "INSERT INTO item (name) VALUES ('unseen')") // in the session of then
			back("once it is taken away")
			h.exec(db, "INSERT INTO item (name) VALUES ('unseen')")
			if err := h.Drop(t.Context(), l.Name); err != nil {
				t.Fatal(err)
			}
			next, _ := h.lease(pool.Request{Template: "shop"})
			if got := h.state(next.Name); got != before {
				t.Errorf("%s: the next lease has\n%s\nwant:\n%s", w.name, got, before)
			}
			if err := h.Drop(t.Context(), next.Name); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestHarmlessLease gives rights to the account of a lease by which nothing is hidden: its resets stay cheap.
func TestHarmlessLease(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.withApp()
		h.does("CREATE DATABASE lookup", "CREATE TABLE lookup.t (a int)")
		h.put("shop")
		l, db := h.lease(pool.Request{Template: "shop"})
		before := h.state(l.Name)
		h.does("GRANT SELECT, INSERT ON lookup.* TO "+l.Endpoint.User+"@localhost", "GRANT PROCESS, RELOAD ON *.* TO "+l.Endpoint.User+"@localhost")
		relogin(db)
		for range 2 {
			h.exec(db, "INSERT INTO item (name) VALUES ('seen')")
			if res, err := h.Reset(t.Context(), l.Name, false); err != nil || res.Way == reset.Reclone || h.state(l.Name) != before {
				t.Errorf("a reset: %v by %s: %s\n%s\nwant:\n%s", err, res.Way, res.Why, h.state(l.Name), before)
			}
		}
	})
}

// TestEverybodysSetting gives all accounts a role with such a right by MySQL's mandatory_roles, of which no log tells.
func TestEverybodysSetting(t *testing.T) {
	servertest.EachFrom(t, "mysql:8.0", func(t *testing.T, want string) { // MariaDB's PUBLIC has its rights by GRANT: TestEverybodysRight
		h := newHouse(t, want)
		h.withApp()
		h.does("CREATE ROLE strong, weak", "GRANT "+h.blindRight()+" ON *.* TO strong")
		h.put("shop")
		l, db := h.lease(pool.Request{Template: "shop"})
		before := h.state(l.Name)
		hide := func() {
			t.Helper()
			relogin(db)
			for _, statement := range []string{"SET ROLE ALL", "SET sql_log_bin = 0", "INSERT INTO item (name) VALUES ('unseen')"} {
				h.exec(db, statement)
			}
		}
		back := func(what string, way reset.Way) {
			t.Helper()
			if res, err := h.Reset(t.Context(), l.Name, false); err != nil || res.Way != way || h.state(l.Name) != before {
				t.Errorf("%s: %v by %s, want %s\n%s\nwant:\n%s", what, err, res.Way, way, h.state(l.Name), before)
			}
		}
		h.exec(db, "INSERT INTO item (name) VALUES ('seen')")
		back("before", reset.Undo)
		h.exec(db, "INSERT INTO item (name) VALUES ('before')")
		if err := h.SetSavepoint(t.Context(), l.Name); err != nil {
			t.Fatal(err)
		}
		h.does("SET GLOBAL mandatory_roles = 'strong'")
		hide()
		if _, err := h.RollBack(t.Context(), l.Name, false); !errors.Is(err, reset.ErrSavepointLost) || h.state(l.Name) != before {
			t.Errorf("a rollback: %v\n%s\nwant:\n%s", err, h.state(l.Name), before)
		}
		for _, what := range []string{"the first reset", "the second"} {
			hide()
			back(what, reset.Reclone)
		}
		h.does("SET GLOBAL mandatory_roles = 'weak'")
		h.exec(db, "INSERT INTO item (name) VALUES ('unseen')")
		back("once it is taken away", reset.Reclone)
		h.exec(db, "INSERT INTO item (name) VALUES ('seen')") // its session has its log again
		back("after that", reset.Undo)
		// Who has the database next is not given what was done then.
		h.does("SET GLOBAL mandatory_roles = 'strong'")
		hide()
		if err := h.Drop(t.Context(), l.Name); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			next, _ := h.lease(pool.Request{Template: "shop"})
			if got := h.state(next.Name); got != before {
				t.Errorf("the lease %s has\n%s\nwant:\n%s", next.Name, got, before)
			}
		}
	})
}
