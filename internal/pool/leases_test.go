package pool

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// check returns what breaks the invariant of leases, of which places are held by so many.
func check(ls *leases, places int) (err error) {
	for name, l := range ls.byName {
		if l.Name != name || l.gone {
			err = errors.Join(err, fmt.Errorf("the name %s belongs to %s, gone %t", name, l.Name, l.gone))
		}
		if n := count(l.spare, l.held, l.kept); n > 1 {
			err = errors.Join(err, fmt.Errorf("%s is spare %t, held %t and kept %t", name, l.spare, l.held, l.kept))
		}
		if l.held {
			places--
		}
	}
	if places != 0 {
		err = errors.Join(err, fmt.Errorf("%d places of the queue more are taken than leases held", places))
	}
	return err
}

func count(list ...bool) (n int) {
	for _, is := range list {
		if is {
			n++
		}
	}
	return n
}

// TestLeases leads leases through what may become of them, in any order.
func TestLeases(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		ls := newLeases(dbconn.Endpoint{})
		places := 0
		free := func(held bool) {
			if held {
				places--
			}
		}
		for step := range 400 {
			name := fmt.Sprintf("shop_%d", rnd.IntN(8))
			l := ls.byName[name]
			switch {
			case l == nil:
				l = newLease("shop", name, rnd.IntN(2) == 0)
				if !ls.claim(l) || ls.claim(newLease("shop", name, true)) {
					t.Fatalf("seed %d: the name %s is not claimed once", seed, name)
				}
			case !l.ready:
				switch rnd.IntN(3) {
				case 0:
					ls.retry(l)
				case 1:
					free(ls.end(l))
				default:
					ls.made(l)
				}
			case l.spare:
				switch do := rnd.IntN(4); {
				case do == 0:
					ls.retry(l)
				case do == 1:
					free(ls.end(l))
				case !l.expires.IsZero(): // it is not being removed
					ls.assign(l)
				}
			case l.held:
				switch rnd.IntN(5) {
				case 0:
					_, held := ls.keep(l)
					free(held)
				case 1:
					free(ls.cancel(l))
				case 2:
					free(ls.end(l))
				case 3: // its database goes to another
					next := newLease("shop", name, true)
					ls.replace(l, next)
					free(ls.end(l))
					free(ls.end(l)) // and once more, which frees nothing
					if ls.byName[name] != next {
						t.Fatalf("seed %d: the end of a lease takes the name of the next", seed)
					}
				default:
					ls.renew(l)
					ls.retry(l)
				}
			case l.kept:
				if _, held := ls.keep(l); held || ls.cancel(l) {
					t.Fatalf("seed %d: a lease that is kept has a place", seed)
				}
				if rnd.IntN(2) == 0 {
					free(ls.end(l))
				}
			case rnd.IntN(3) == 0: // assigned
				ls.cancel(l)
			default:
				ls.begin(l, time.Hour)
				places++
			}
			if err := check(ls, places); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
			for _, l := range ls.expired(time.Now()) {
				if !l.spare {
					t.Fatalf("seed %d, step %d: %s has expired", seed, step, l.Name)
				}
			}
			for _, r := range ls.records() {
				l := ls.byName[r.Name]
				if open := !r.Expires.IsZero(); open == l.spare && l.ready || open && !l.ready {
					t.Fatalf("seed %d, step %d: the file says that %s expires %s", seed, step, r.Name, r.Expires)
				}
			}
		}
	}
}

// TestLeasesCheck: what TestLeases looks for is seen when it is there.
func TestLeasesCheck(t *testing.T) {
	for name, spoil := range map[string]func(*leases, *lease){
		"a place too many":  func(_ *leases, l *lease) { l.held = false },
		"spare and held":    func(_ *leases, l *lease) { l.spare = true },
		"kept and held":     func(_ *leases, l *lease) { l.kept = true },
		"gone, yet there":   func(_ *leases, l *lease) { l.gone = true },
		"two names for one": func(ls *leases, l *lease) { ls.byName["other"] = l },
	} {
		ls := newLeases(dbconn.Endpoint{})
		l := newLease("shop", "shop_1", false)
		ls.claim(l)
		ls.made(l)
		ls.begin(l, time.Hour)
		if err := check(ls, 1); err != nil {
			t.Fatal(err)
		}
		if spoil(ls, l); check(ls, 1) == nil {
			t.Errorf("%s: nothing is seen", name)
		}
	}
}

// TestLeaseEndsOnce keeps, cancels and drops a lease at once: its place is freed once.
func TestLeaseEndsOnce(t *testing.T) {
	ls := newLeases(dbconn.Endpoint{})
	var mu sync.Mutex
	won := map[string]int{}
	for range 1000 {
		l := newLease("shop", "shop_1", false)
		ls.claim(l)
		ls.made(l)
		ls.begin(l, time.Hour)
		var all sync.WaitGroup
		var places, working atomic.Int32
		for name, do := range map[string]func(*lease) bool{
			"keep": func(l *lease) bool { _, held := ls.keep(l); return held },
			"end":  ls.end, "drop": ls.end, "cancel": nil,
		} {
			all.Go(func() {
				found := l
				if do == nil {
					do = ls.cancel
					l.mu.Lock()
				} else if found = ls.find("shop_1"); found == nil {
					return
				}
				defer found.mu.Unlock()
				if working.Add(1) != 1 {
					t.Error("two work on one lease")
				}
				if do(found) {
					places.Add(1)
					mu.Lock()
					won[name]++
					mu.Unlock()
				}
				working.Add(-1)
			})
		}
		all.Wait()
		if places.Load() != 1 {
			t.Fatalf("the place is free %d times", places.Load())
		}
		ls.end(l)
	}
	if len(won) < 2 {
		t.Errorf("it was always the same: %v", won)
	}
}

// TestLeasesList: what is listed, found and counted is what somebody has.
func TestLeasesList(t *testing.T) {
	ls := newLeases(dbconn.Endpoint{Socket: "/s"})
	add := func(name string, then ...func(*lease)) *lease {
		l := newLease("shop", name, true)
		ls.claim(l)
		for _, f := range then {
			f(l)
		}
		return l
	}
	begin := func(l *lease) { ls.begin(l, time.Minute) }
	keep := func(l *lease) { ls.keep(l) }
	add("making")
	add("spare", ls.made)
	add("assigned", ls.made, ls.assign)
	add("held", ls.made, ls.assign, begin)
	add("kept", ls.made, ls.assign, begin, keep)
	var names []string
	for _, l := range ls.list() {
		names = append(names, l.Name)
		if l.Endpoint.Socket != "/s" || l.Endpoint.Database != l.Name || l.Kept != l.Expires.IsZero() {
			t.Errorf("lease %+v", l)
		}
	}
	if want := []string{"held", "kept"}; !slices.Equal(names, want) {
		t.Errorf("listed are %v, want %v", names, want)
	}
	for _, name := range []string{"making", "spare", "assigned", "held", "kept", "none"} {
		l := ls.find(name)
		if (l != nil) != slices.Contains(names, name) {
			t.Errorf("find %s: %v", name, l)
		}
		if l != nil {
			l.mu.Unlock()
		}
	}
	if n := ls.count("shop"); n != 3 { // with the one that is about to be had
		t.Errorf("%d leases count, want 3", n)
	}
}
