package reset_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/template"
)

// sequences go up and down, around, beyond what an int64 has room for, and to their end; some
// have values in memory when the template is read.
const sequences = `
CREATE SEQUENCE s_plain;
CREATE SEQUENCE s_used START 7 INCREMENT 3; DO NEXTVAL(s_used); DO NEXTVAL(s_used);
CREATE SEQUENCE s_down START -5 INCREMENT -2 MINVALUE -1000 MAXVALUE 100 CACHE 20; DO NEXTVAL(s_down);
CREATE SEQUENCE s_ring START 2 MINVALUE -1 MAXVALUE 5 CACHE 3 CYCLE; DO NEXTVAL(s_ring); DO NEXTVAL(s_ring); DO NEXTVAL(s_ring);
CREATE SEQUENCE s_round INCREMENT -1 MINVALUE -2 MAXVALUE 2 START 0 CACHE 2 CYCLE; DO NEXTVAL(s_round); DO NEXTVAL(s_round); DO NEXTVAL(s_round); DO NEXTVAL(s_round);
CREATE SEQUENCE s_back START 50 MINVALUE -9 NOCACHE; ALTER SEQUENCE s_back RESTART -3;
CREATE SEQUENCE s_over MAXVALUE 2 CACHE 10; DO NEXTVAL(s_over); DO NEXTVAL(s_over);
CREATE SEQUENCE s_last MAXVALUE 2 CACHE 10; DO NEXTVAL(s_last);
CREATE TABLE uses (id int PRIMARY KEY DEFAULT NEXTVAL(s_used), a int);
`

// TestSequences: every sequence returns the values that those of the template return, in a clone,
// after each reset, and those of the savepoint after each rollback.
func TestSequences(t *testing.T) {
	servertest.EachFrom(t, "mariadb", func(t *testing.T, want string) {
		l := newLab(t, want, "farm", sequences)
		if _, err := template.SettleSequences(t.Context(), l.session.Conn, "farm"); err != nil {
			t.Fatal(err)
		}
		var err error
		if l.shape, err = template.Read(t.Context(), l.session.Conn, "farm"); err != nil {
			t.Fatal(err)
		}
		le := l.lease("farm_1")
		fresh := values(t, le.pool)
		back := func(what string, res reset.Result, err error, way reset.Way, want []string) {
			t.Helper()
			if err != nil || res.Way != way {
				t.Errorf("%s: %s (%s) %v, want %s", what, res.Way, res.Why, err, way)
			}
			if got := values(t, le.pool); !slices.Equal(got, want) {
				t.Errorf("%s: the sequences give\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		again := func(what string, way reset.Way) {
			t.Helper()
			res, err := le.Reset(t.Context(), l.session, &le.Database, reset.RestoreCounters)
			back(what, res, err, way, fresh)
		}
		again("reset", reset.Undo)
		for _, do := range []string{
			"BEGIN\nSELECT NEXTVAL(s_used), NEXTVAL(s_plain)\nROLLBACK", "SELECT SETVAL(s_back, 1000), SETVAL(s_ring, 4, 1, 9)",
			"INSERT INTO uses (a) VALUES (1), (2)", "BEGIN\nINSERT INTO uses (a) VALUES (1)\nSELECT NEXTVAL(s_down)\nROLLBACK",
		} {
			res, err := le.Reset(t.Context(), l.session, &le.Database, reset.RestoreCounters)
			if err != nil || res.Way != reset.Undo {
				t.Errorf("%s (%s): %v", res.Way, res.Why, err)
			}
			le.do(do)
			again(do, reset.Undo)
		}
		le.do("ALTER SEQUENCE s_used INCREMENT 9")
		again("altered", reset.Reclone)

		// A savepoint with values in memory, twice.
		le.do("SELECT NEXTVAL(s_plain), NEXTVAL(s_plain), NEXTVAL(s_down), NEXTVAL(s_ring)\nINSERT INTO uses (id, a) VALUES (70, 1)")
		if err := le.SetSavepoint(t.Context(), l.session, &le.Database); err != nil {
			t.Fatal(err)
		}
		saved := values(t, le.pool)
		if slices.Equal(saved, fresh) {
			t.Error("the savepoint is as the template")
		}
		for range 2 {
			le.do("BEGIN\nSELECT NEXTVAL(s_plain)\nROLLBACK\nDELETE FROM uses")
			res, err := le.RollBack(t.Context(), l.session, &le.Database, reset.RestoreCounters)
			back("rewind", res, err, reset.Undo, saved)
		}
		again("after the savepoint", reset.Undo)

		// A savepoint that fails half way, as an open transaction has used a sequence, has taken a value of it.
		if _, err := le.Reset(t.Context(), l.session, &le.Database, reset.RestoreCounters); err != nil {
			t.Fatal(err)
		}
		l.exec("SET lock_wait_timeout = 1")
		conn := le.do("BEGIN\nSELECT LASTVAL(s_ring)")
		if err := le.SetSavepoint(t.Context(), l.session, &le.Database); !errors.Is(err, reset.ErrNoSavepoint) {
			t.Errorf("a savepoint beside an open transaction that has used a sequence: %v", err)
		}
		conn.Close()
		again("after a savepoint that failed", reset.Undo)
		// At last, since this moves them.
		root, err := dbconn.Open(l.srv.Endpoint.Socket, l.srv.Endpoint.Login, "farm")
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if got := values(t, root); !slices.Equal(got, fresh) {
			t.Errorf("the template's sequences give\n%s\nits clone's\n%s", strings.Join(got, "\n"), strings.Join(fresh, "\n"))
		}
	})
}

// values takes three values of each sequence, or its error.
func values(t *testing.T, db *sql.DB) []string {
	t.Helper()
	var list []string
	for _, name := range []string{"s_plain", "s_used", "s_down", "s_ring", "s_round", "s_back", "s_over", "s_last"} {
		line := name
		for range 3 {
			var n sql.NullInt64
			if err := db.QueryRowContext(context.WithoutCancel(t.Context()), "SELECT NEXTVAL("+name+")").Scan(&n); err != nil {
				line += " over"
			} else {
				line += fmt.Sprint(" ", n.Int64)
			}
		}
		list = append(list, line)
	}
	return list
}
