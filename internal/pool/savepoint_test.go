package pool_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestSavepoint: a lease is rolled back to its savepoint, until it is reset, or its server is another.
func TestSavepoint(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.put("shop")
		a, inA := h.lease(pool.Request{Template: "shop"})
		save := func() {
			t.Helper()
			h.exec(inA, "INSERT INTO item (name) VALUES ('fixture')")
			if err := h.SetSavepoint(t.Context(), a.Name); err != nil {
				t.Fatal(err)
			}
		}
		lost := func(way reset.Way) {
			t.Helper()
			if r, err := h.RollBack(t.Context(), a.Name, reset.RestoreCounters); !errors.Is(err, reset.ErrSavepointLost) || r.Way != way {
				t.Errorf("roll back: %s (%s), %v; want %s and %v", r.Way, r.Why, err, way, reset.ErrSavepointLost)
			}
			h.back(a.Name, reset.Noop)
		}
		lost(reset.Noop)
		save()
		saved := h.state(a.Name)
		for range 2 {
			h.exec(inA, "UPDATE item SET name = 'x'")
			h.exec(inA, "INSERT INTO sale (item) VALUES (3)")
			if r, err := h.RollBack(t.Context(), a.Name, reset.RestoreCounters); err != nil || r.Way != reset.Undo {
				t.Errorf("roll back: %s (%s), %v", r.Way, r.Why, err)
			}
			if got := h.state(a.Name); got != saved {
				t.Errorf("it is not as at its savepoint:\n%s\nwant:\n%s", got, saved)
			}
		}
		h.back(a.Name, reset.Undo)
		lost(reset.Noop)

		save()
		h.exec(inA, "CREATE TABLE more (a int)")
		if err := h.SetSavepoint(t.Context(), a.Name); !errors.Is(err, reset.ErrNoSavepoint) {
			t.Errorf("a savepoint in a database of another shape: %v", err)
		}
		lost(reset.Refill)
		save()
		h.Close()
		h.open()
		lost(reset.Reclone)
		save()
		h.put("shop") // taken again
		lost(reset.Reclone)
		if err := h.SetSavepoint(t.Context(), "missing"); !errors.Is(err, pool.ErrNotFound) {
			t.Errorf("a savepoint in no lease: %v", err)
		}

		// A reset that fails is no lost savepoint: the database is not as its template.
		h.exec(h.root, "UPDATE shop.item SET name = 'changed' WHERE id = 3")
		h.exec(h.root, "CREATE ROLE "+a.Name)
		h.exec(h.root, "DROP ROLE "+a.Name)
		h.exec(inA, "TRUNCATE sale")
		if _, err := h.RollBack(t.Context(), a.Name, reset.RestoreCounters); !errors.Is(err, reset.ErrTemplateChanged) || errors.Is(err, reset.ErrSavepointLost) {
			t.Errorf("roll back without a savepoint from a changed template: %v", err)
		}
		h.put("shop")
		if _, err := h.RollBack(t.Context(), a.Name, reset.RestoreCounters); !errors.Is(err, reset.ErrSavepointLost) || !strings.Contains(fmt.Sprint(err), "stays: CREATE ROLE") {
			t.Errorf("roll back after one that failed does not say what stays: %v", err)
		}
		h.back(a.Name, reset.Noop)

		// The next lease of the database has the template's.
		save()
		if err := h.SetLimits(pool.Limits{MaxDatabases: 64, Spare: 1}); err != nil {
			t.Fatal(err)
		}
		if err := h.Drop(t.Context(), a.Name); err != nil {
			t.Fatal(err)
		}
		again := false
		for range 4 {
			b, _ := h.lease(pool.Request{Template: "shop"})
			if got, want := h.state(b.Name), h.state("shop"); got != want {
				t.Errorf("%s is not as its template:\n%s\nwant:\n%s", b.Name, got, want)
			}
			again = again || b.Name == a.Name
		}
		if !again {
			t.Error("the database was not used again")
		}

		// A kept lease stays as it is.
		a, inA = h.lease(pool.Request{Template: "shop"})
		save()
		if _, err := h.Keep(a.Name); err != nil {
			t.Fatal(err)
		}
		h.exec(inA, "DELETE FROM sale")
		if err := h.SetSavepoint(t.Context(), a.Name); !errors.Is(err, pool.ErrKept) {
			t.Errorf("a savepoint in a lease that is kept: %v", err)
		}
		if _, err := h.RollBack(t.Context(), a.Name, reset.RestoreCounters); !errors.Is(err, pool.ErrKept) {
			t.Errorf("roll back a lease that is kept: %v", err)
		}
		var left int
		if err := inA.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM sale").Scan(&left); err != nil || left != 0 {
			t.Errorf("a kept lease has %d rows that were deleted (%v)", left, err)
		}
	})
}

// TestKeepCounters leaves a counter as it is; the next lease of the database begins with the template's.
func TestKeepCounters(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.limit(64, 1)
		h.put("shop")
		a, inA := h.lease(pool.Request{Template: "shop"})
		next := func() (id int) {
			t.Helper()
			h.exec(inA, "INSERT INTO item (name) VALUES ('new')")
			if err := inA.QueryRowContext(t.Context(), "SELECT MAX(id) FROM item").Scan(&id); err != nil {
				t.Fatal(err)
			}
			return id
		}
		first := next()
		for n := range 3 {
			if r, err := h.Reset(t.Context(), a.Name, reset.KeepCounters); err != nil || r.Way != reset.Undo {
				t.Fatalf("reset of rows: %s (%s), %v", r.Way, r.Why, err)
			}
			if id := next(); id != first+n+1 {
				t.Errorf("after %d resets of rows the next number is %d, not %d", n+1, id, first+n+1)
			}
		}
		if err := h.Drop(t.Context(), a.Name); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			b, _ := h.lease(pool.Request{Template: "shop"})
			if got, want := h.state(b.Name), h.state("shop"); got != want {
				t.Errorf("%s is not as its template:\n%s\nwant:\n%s", b.Name, got, want)
			}
		}
	})
}
