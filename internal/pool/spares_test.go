package pool_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// limit sets the limits.
func (h *house) limit(most, spare int) {
	h.t.Helper()
	if err := h.SetLimits(pool.Limits{MaxDatabases: most, Spare: spare}); err != nil {
		h.t.Fatal(err)
	}
}

// stocked waits until so many clones of shop are ready.
func (h *house) stocked(n int) {
	h.t.Helper()
	h.soon(fmt.Sprintf("%d spare clones", n), func() bool {
		list := h.Templates()
		return len(list) == 1 && list[0].Spare == n
	})
}

// soon waits until something is so.
func (h *house) soon(what string, so func() bool) {
	h.t.Helper()
	for range 30_000 { // five minutes: idle clones stay for 500 times as long as making one took
		if so() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	h.t.Fatalf("there never were %s; there are %+v", what, h.Templates())
}

// databases are those of the server whose name begins with the prefix.
func (h *house) databases(prefix string) []string {
	h.t.Helper()
	var list []string
	err := dbconn.Query(h.t.Context(), h.root, "SHOW DATABASES", func(row []string) error {
		if strings.HasPrefix(row[0], prefix) {
			list = append(list, row[0])
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}

// TestSpares takes clones that were made ahead, gives them back, and has them again as new.
func TestSpares(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.limit(64, 2)
		h.put("shop")
		h.stocked(2)
		if got := h.Databases(); len(got) != 0 {
			t.Errorf("spare clones are somebody's: %v", got)
		}
		if _, err := h.Reset(t.Context(), "shop_1", reset.RestoreCounters); !errors.Is(err, pool.ErrNotFound) {
			t.Errorf("reset of a spare clone: %v", err)
		}
		a, db := h.lease(pool.Request{Template: "shop"})
		h.exec(db, "DELETE FROM sale")
		h.exec(db, "INSERT INTO item (name) VALUES ('new')")
		h.stocked(2)
		if err := h.Drop(t.Context(), a.Name); err != nil {
			t.Fatal(err)
		}
		if err := db.PingContext(t.Context()); err == nil {
			t.Error("a lease that has ended still answers")
		}
		h.stocked(3)
		seen := false
		for range 3 {
			l, db := h.lease(pool.Request{Template: "shop"})
			seen = seen || l.Name == a.Name
			if l.Endpoint.User == a.Endpoint.User {
				t.Error("an account came back")
			}
			if got, want := h.state(l.Name), h.state("shop"); got != want {
				t.Errorf("%s is not as its template:\n%s\nwant:\n%s", l.Name, got, want)
			}
			h.exec(db, "UPDATE item SET note = 'changed'")
			h.back(l.Name, reset.Undo)
		}
		if !seen {
			t.Errorf("%s was not used again", a.Name)
		}
		// A spare that another connection changed is not leased.
		h.stocked(2)
		for _, name := range h.databases("shop_") {
			if !slices.ContainsFunc(h.Databases(), func(l pool.Lease) bool { return l.Name == name }) {
				if _, err := h.root.Exec("DELETE FROM " + dbconn.QuoteName(name) + ".sale"); err != nil {
					t.Fatal(err)
				}
			}
		}
		l, _ := h.lease(pool.Request{Template: "shop"})
		if got, want := h.state(l.Name), h.state("shop"); got != want {
			t.Errorf("a spare clone was changed by others, and handed out:\n%s\nwant:\n%s", got, want)
		}
		// A template that is taken again has no old clones.
		h.exec(h.root, "INSERT INTO shop.item (name) VALUES ('more')")
		if _, err := h.NewDatabase(t.Context(), pool.Request{Template: "shop"}); !errors.Is(err, reset.ErrTemplateChanged) {
			t.Errorf("a clone of a template that was changed: %v", err)
		}
		h.put("shop")
		l, _ = h.lease(pool.Request{Template: "shop"})
		if got, want := h.state(l.Name), h.state("shop"); got != want {
			t.Errorf("%s is as its template was before:\n%s\nwant:\n%s", l.Name, got, want)
		}
	})
}

// TestSparesOfSuite has three leases at a time, again and again, as a suite of two workers does:
// none is made beside them, and none dropped after them, once there were three.
func TestSparesOfSuite(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	h.limit(64, 2)
	h.put("shop")
	var names []string
	for range 3 {
		var leases []pool.Lease
		for range 3 {
			l, db := h.lease(pool.Request{Template: "shop"})
			h.exec(db, "DELETE FROM sale")
			leases = append(leases, l)
		}
		h.stocked(2)
		for _, l := range leases {
			if err := h.Drop(t.Context(), l.Name); err != nil {
				t.Fatal(err)
			}
		}
		h.stocked(5)
		now := h.databases("shop_")
		if names != nil && !slices.Equal(now, names) {
			t.Errorf("there are the clones %q, and before there were %q", now, names)
		}
		names = now
	}
}

// TestSparesAtOnce gives back more clones at once than may stay.
func TestSparesAtOnce(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	h.limit(64, 1)
	h.put("shop")
	var wait sync.WaitGroup
	var leases []pool.Lease
	for range 8 {
		l, _ := h.lease(pool.Request{Template: "shop"})
		leases = append(leases, l)
	}
	for _, l := range leases {
		wait.Go(func() {
			if err := h.Drop(context.WithoutCancel(t.Context()), l.Name); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	h.soon("three clones", func() bool { return len(h.databases("shop_")) == 3 && h.Templates()[0].Spare == 3 })
	time.Sleep(200 * time.Millisecond)
	h.stocked(3)
}

// TestSparesAfterRestart: after a restart no clones are left without an owner.
func TestSparesAfterRestart(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		h := newHouse(t, want)
		h.limit(64, 3)
		h.put("shop")
		l, _ := h.lease(pool.Request{Template: "shop"})
		kept, db := h.lease(pool.Request{Template: "shop"})
		h.exec(db, "DELETE FROM sale")
		if k, err := h.Keep(kept.Name); err != nil || !k.Kept || !k.Expires.IsZero() {
			t.Fatalf("kept: %+v, %v", k, err)
		}
		if _, err := h.ClaimTemplate(t.Context(), pool.TemplateRequest{Family: "half", Key: "1"}); err != nil {
			t.Fatal(err)
		}
		h.stocked(3)
		before := h.state(kept.Name)
		h.Close()
		h.open()
		if got := h.Limits(); got != (pool.Limits{MaxDatabases: 64, Spare: 3}) {
			t.Errorf("limits after a restart: %+v", got)
		}
		h.soon("only the leases", func() bool { return len(h.databases("shop_")) == 2 && len(h.databases("half_")) == 0 })
		got := h.Databases()
		if len(got) != 2 || slices.ContainsFunc(got, func(d pool.Lease) bool { return d.Kept != (d.Name == kept.Name) }) {
			t.Errorf("leases after a restart: %+v", got)
		}
		if h.state(kept.Name) != before {
			t.Error("what was kept has changed")
		}
		h.back(l.Name, reset.Reclone)
	})
}

// TestCold asks a cold pool for a hundred clones at once: all are served.
func TestCold(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	h.limit(200, 0)
	h.put("shop")
	const n = 100
	var wait sync.WaitGroup
	names := make([]string, n)
	for i := range n {
		wait.Go(func() {
			l, err := h.NewDatabase(context.WithoutCancel(t.Context()), pool.Request{Template: "shop"})
			if err != nil {
				t.Error(err)
			}
			names[i] = l.Name
		})
	}
	wait.Wait()
	slices.Sort(names)
	if got := len(slices.Compact(names)); got != n {
		t.Errorf("%d databases were handed out, of %d", got, n)
	}
}

// TestTurns: a full pool serves waiting requests in the order in which they came.
func TestTurns(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	h.limit(1, 1)
	h.put("shop")
	first, _ := h.lease(pool.Request{Template: "shop"})
	const n = 30
	var mu sync.Mutex
	var order []int
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			ctx := context.WithoutCancel(t.Context())
			l, err := h.NewDatabase(ctx, pool.Request{Template: "shop"})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			if err := h.Drop(ctx, l.Name); err != nil {
				t.Error(err)
			}
		})
		h.soon(fmt.Sprintf("%d who wait", i+1), func() bool {
			var b strings.Builder
			h.WriteMetrics(&b)
			return strings.Contains(b.String(), fmt.Sprintf("ramaria_pool_waiting_requests %d\n", i+1))
		})
	}
	if err := h.Drop(t.Context(), first.Name); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	if len(order) != n || !slices.IsSorted(order) {
		t.Errorf("they were served in the order %v", order)
	}
}

// TestFull waits while as many clones are in use as may be.
func TestFull(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	h.limit(2, 0)
	h.put("shop")
	a, _ := h.lease(pool.Request{Template: "shop"})
	b, _ := h.lease(pool.Request{Template: "shop", Name: "named"})
	_, err := h.NewDatabase(t.Context(), pool.Request{Template: "shop", Wait: 50 * time.Millisecond})
	if !errors.Is(err, pool.ErrFull) || !strings.Contains(err.Error(), "all 2 databases of max_databases") {
		t.Errorf("a request to a full pool: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.NewDatabase(cancelled, pool.Request{Template: "shop"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that was given up: %v", err)
	}
	next := func(end func() error) {
		t.Helper()
		got := make(chan error)
		go func() {
			l, err := h.NewDatabase(context.WithoutCancel(t.Context()), pool.Request{Template: "shop"})
			if err == nil {
				err = h.Drop(context.WithoutCancel(t.Context()), l.Name)
			}
			got <- err
		}()
		select {
		case err := <-got:
			t.Fatalf("it did not wait: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Error(err)
		}
	}
	next(func() error { return h.Drop(t.Context(), a.Name) })
	h.lease(pool.Request{Template: "shop"})
	next(func() error { _, err := h.Keep(b.Name); return err })
	h.lease(pool.Request{Template: "shop"})
	next(func() error { return h.SetLimits(pool.Limits{MaxDatabases: 3}) })
	if err := h.SetLimits(pool.Limits{}); !errors.Is(err, pool.ErrInvalid) {
		t.Errorf("no databases at all: %v", err)
	}
}

// TestRenew: every use of a lease renews its time to live, and a kept one lives on.
func TestRenew(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	h.put("shop")
	const ttl = 5 * time.Second
	used, _ := h.lease(pool.Request{Template: "shop", TTL: ttl})
	left, _ := h.lease(pool.Request{Template: "shop", TTL: ttl})
	kept, _ := h.lease(pool.Request{Template: "shop", TTL: ttl})
	if _, err := h.Keep(kept.Name); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < ttl+ttl/2; time.Sleep(ttl / 10) {
		if _, err := h.Database(used.Name); err != nil {
			t.Fatal(err)
		}
	}
	h.soon("the unused one gone", func() bool { return len(h.databases("shop_")) == 2 })
	if _, err := h.Database(left.Name); !errors.Is(err, pool.ErrNotFound) {
		t.Errorf("a lease whose time has run out: %v", err)
	}
	if d, err := h.Database(kept.Name); err != nil || !d.Kept {
		t.Errorf("a kept lease: %+v, %v", d, err)
	}
	h.back(kept.Name, reset.Reclone)
}

// TestManyAtOnce resets more leases at a time than there are sessions.
func TestManyAtOnce(t *testing.T) {
	h := newHouse(t, servertest.Servers[0])
	h.put("shop")
	names := make([]string, 40)
	for i := range names {
		l, err := h.NewDatabase(t.Context(), pool.Request{Template: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		names[i] = l.Name
	}
	var wait sync.WaitGroup
	for _, name := range names {
		wait.Go(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
			defer cancel()
			for range 20 {
				if _, err := h.Reset(ctx, name, reset.RestoreCounters); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
}
