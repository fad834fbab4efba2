package reset_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestSavepoints sets a savepoint in a database behind what before says, does what after says, and rolls it back to the
// savepoint, twice. Where that is not possible it must be as its template, and say so.
func TestSavepoints(t *testing.T) {
	const fixtures = "INSERT INTO plain VALUES (90, 'fixture'), (91, 'fixture')\nINSERT INTO counted (a) VALUES (1), (2)\nDELETE FROM visit WHERE who = 1"
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "farm", servertest.Flavoured(servertest.Find(t, want), farm))
		le, other := l.lease("farm_1"), l.lease("farm_2")
		for _, tc := range []struct {
			name, before, after string
			commit              bool // what before has begun, after the savepoint
			refused, lost       bool
			way                 reset.Way
		}{
			{name: "nothing since", before: fixtures, way: reset.Noop},
			{name: "nothing before", after: fixtures, way: reset.Undo},
			{name: "rows of both", before: fixtures, after: "UPDATE plain SET name = 'x'\nDELETE FROM plain WHERE id = 90\nINSERT INTO counted (a) VALUES (3)\nUPDATE visit SET who = who + 10 ORDER BY who DESC", way: reset.Undo},
			{name: "counters alone", before: fixtures, after: "BEGIN\nINSERT INTO counted (a) VALUES (3)\nROLLBACK", way: reset.Noop},
			{name: "a table that is cheaper to fill", after: "INSERT INTO plain SELECT 1000 + a.id * 1000 + b.who * 100 + c.a * 10 + d.a, 'n' FROM plain a, visit b, old c, old d", way: reset.Undo},
			{name: "an open transaction across the savepoint", before: fixtures + "\nBEGIN\nINSERT INTO counted (a) VALUES (4)", way: reset.Noop},
			{name: "a transaction that ends after the savepoint", before: "SET autocommit = 0\nINSERT INTO counted (a) VALUES (5)", commit: true, way: reset.Undo},
			{name: "a table without a key", before: fixtures, after: "INSERT INTO note VALUES ('x')", lost: true, way: reset.Refill},
			{name: "another shape since", before: fixtures, after: "ALTER TABLE plain ADD COLUMN more int", lost: true, way: reset.Refill},
			{name: "a table emptied since", before: fixtures, after: "TRUNCATE TABLE plain", lost: true, way: reset.Refill},
			{name: "dropped since", before: fixtures, after: "DROP DATABASE DB\nCREATE DATABASE DB", lost: true, way: reset.Reclone},
			{name: "another shape before", before: fixtures + "\nCREATE TABLE more (a int)", after: "INSERT INTO more VALUES (1)", refused: true, lost: true, way: reset.Refill},
			{name: "a table made after", before: fixtures, after: "CREATE TABLE more (a int PRIMARY KEY)\nINSERT INTO more VALUES (1)", lost: true, way: reset.Refill},
		} {
			t.Run(tc.name, func(t *testing.T) {
				le.t, other.t, l.t = t, t, t
				conn := le.do(tc.before)
				err := le.SetSavepoint(t.Context(), l.session, &le.Database)
				if errors.Is(err, reset.ErrNoSavepoint) != tc.refused || err != nil && !tc.refused {
					t.Fatalf("savepoint: %v", err)
				}
				saved := le.state()
				other.do("INSERT INTO plain VALUES (4711, 'of another lease')")
				for round := range 2 {
					if tc.commit && round == 0 {
						if _, err := conn.ExecContext(t.Context(), "COMMIT"); err != nil {
							t.Fatal(err)
						}
					}
					le.do(tc.after)
					res, err := le.RollBack(t.Context(), l.session, &le.Database, reset.RestoreCounters)
					if errors.Is(err, reset.ErrSavepointLost) != tc.lost || err != nil && !tc.lost {
						t.Fatalf("roll back: %v", err)
					}
					if res.Way != tc.way && (!tc.commit || round == 0) {
						t.Errorf("the way was %s (%s), want %s", res.Way, res.Why, tc.way)
					}
					if tc.lost {
						le.check()
						break
					}
					if diff := differences(saved, le.state()); diff != "" {
						t.Errorf("it is not as at the savepoint:\n%s", diff)
					}
				}
				conn.Close()
				if res := le.reset(); tc.lost && res.Way != reset.Noop {
					t.Errorf("the reset after a lost savepoint was a %s (%s)", res.Way, res.Why)
				}
				if _, err := le.RollBack(t.Context(), l.session, &le.Database, reset.RestoreCounters); !errors.Is(err, reset.ErrSavepointLost) {
					t.Errorf("a savepoint outlived a reset: %v", err)
				}
				other.reset()
			})
		}
	})
}

// TestSavepointMoves sets two savepoints: the second savepoint counts, and a reset undoes what was before both.
func TestSavepointMoves(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "farm", servertest.Flavoured(servertest.Find(t, want), farm))
		le := l.lease("farm_1")
		var states []string
		for _, text := range []string{"INSERT INTO plain VALUES (90, 'one')", "UPDATE plain SET name = 'two'\nINSERT INTO counted (a) VALUES (1)"} {
			le.do(text)
			if err := le.SetSavepoint(t.Context(), l.session, &le.Database); err != nil {
				t.Fatal(err)
			}
			states = append(states, le.state())
		}
		le.do("DELETE FROM plain")
		if _, err := le.RollBack(t.Context(), l.session, &le.Database, reset.RestoreCounters); err != nil {
			t.Fatal(err)
		}
		if diff := differences(states[1], le.state()); diff != "" {
			t.Errorf("it is not as at the second savepoint:\n%s", diff)
		}
		if res := le.reset(); res.Way != reset.Undo {
			t.Errorf("the reset was a %s (%s)", res.Way, res.Why)
		}

		// A lock of the database's own account is ended; what is lost is never handed out half.
		le.do("INSERT INTO plain VALUES (90, 'one')")
		if err := le.SetSavepoint(t.Context(), l.session, &le.Database); err != nil {
			t.Fatal(err)
		}
		saved := le.state()
		locked := le.do("DELETE FROM plain\nLOCK TABLES plain READ")
		defer locked.Close()
		res, err := le.RollBack(t.Context(), l.session, &le.Database, reset.RestoreCounters)
		if err != nil || res.Way != reset.Undo {
			t.Errorf("with a lock in the way: %s (%s), %v", res.Way, res.Why, err)
		}
		if diff := differences(saved, le.state()); diff != "" {
			t.Errorf("after a rollback with a lock in the way it is not as at the savepoint:\n%s", diff)
		}
		le.super("CREATE ROLE DB\nDROP ROLE DB")
		le.do("DELETE FROM plain\nALTER TABLE plain ADD COLUMN more int")
		res, err = le.RollBack(t.Context(), l.session, &le.Database, reset.RestoreCounters)
		if !errors.Is(err, reset.ErrSavepointLost) || res.Way != reset.Refill {
			t.Errorf("after a change of shape: %s (%s), %v", res.Way, res.Why, err)
		}
		if !strings.Contains(fmt.Sprint(err), "stays: CREATE ROLE") {
			t.Errorf("what the failed rollback had to say is lost: %v", err)
		}
		le.check()
	})
}

// TestKeepCounters puts the rows back and lets the counters be, of a reset and of a rollback; a reset
// that puts counters back still does.
func TestKeepCounters(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "farm", servertest.Flavoured(servertest.Find(t, want), farm))
		le := l.lease("farm_1")
		fresh := le.state()
		counter := func() string {
			t.Helper()
			for line := range strings.Lines(le.state()) {
				if strings.Contains(line, "=counted ") && strings.Contains(line, "auto_increment") {
					return line
				}
			}
			t.Fatal("there is no table counted")
			return ""
		}
		began := counter()
		kept := func(way reset.Way, moved string, res reset.Result, err error) {
			t.Helper()
			if err != nil || res.Way != way {
				t.Errorf("rows alone: %s (%s), %v; want %s", res.Way, res.Why, err, way)
			}
			if got := counter(); got != moved || got == began {
				t.Errorf("the counter was %s, and then %s, and is %s", began, moved, got)
			}
		}
		le.do("INSERT INTO counted (a) VALUES (1), (2)")
		moved := counter()
		res, err := le.Reset(t.Context(), l.session, &le.Database, reset.KeepCounters)
		kept(reset.Undo, moved, res, err)
		res, err = le.Reset(t.Context(), l.session, &le.Database, reset.KeepCounters)
		kept(reset.Noop, moved, res, err)
		if diff := differences(withoutCounters(fresh), withoutCounters(le.state())); diff != "" {
			t.Errorf("not only counters are others:\n%s", diff)
		}
		if res := le.reset(); res.Way != reset.Noop {
			t.Errorf("counters were put back by %s (%s)", res.Way, res.Why)
		}

		le.do("INSERT INTO counted (a) VALUES (3)")
		if err := le.SetSavepoint(t.Context(), l.session, &le.Database); err != nil {
			t.Fatal(err)
		}
		saved := le.state()
		le.do("INSERT INTO counted (a) VALUES (4)\nDELETE FROM plain")
		moved = counter()
		res, err = le.RollBack(t.Context(), l.session, &le.Database, reset.KeepCounters)
		kept(reset.Undo, moved, res, err)
		if _, err = le.RollBack(t.Context(), l.session, &le.Database, reset.RestoreCounters); err != nil {
			t.Fatal(err)
		}
		if diff := differences(saved, le.state()); diff != "" {
			t.Errorf("it is not as at its savepoint:\n%s", diff)
		}
		le.reset()

		// MySQL shows the hidden counter of a parent once its child is made again.
		le.do("-INSERT INTO keeper (id, name) VALUES (4711, 'Ben')\nALTER TABLE animal COMMENT 'another'")
		if res, err := le.Reset(t.Context(), l.session, &le.Database, reset.KeepCounters); err != nil || res.Way != reset.Refill {
			t.Errorf("after DDL: %s (%s), %v", res.Way, res.Why, err)
		}
		le.reset()
		if diff := differences(fresh, le.state()); diff != "" {
			t.Errorf("it is not as it was in the beginning:\n%s", diff)
		}
	})
}
