package pool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// turns observes a queue, and finds what breaks its invariant.
type turns struct {
	limit, used int
	last        int
	faults      []error
}

// turn is that of the nth request.
func (o *turns) turn(n int) {
	if n <= o.last {
		o.faults = append(o.faults, fmt.Errorf("request %d had its turn after %d", n, o.last))
	}
	o.last = n
	if o.used++; o.used > o.limit {
		o.faults = append(o.faults, fmt.Errorf("request %d had its turn with all %d places taken", n, o.limit))
	}
}

// answer is what the nth request got, after so many turns.
func (o *turns) answer(n, turns int, err error) {
	if got := turns == 1; turns > 1 || got != (err == nil) {
		o.faults = append(o.faults, fmt.Errorf("request %d had %d turns and error %v", n, turns, err))
	}
}

// TestQueue: requests come, give up and run out of time while places come and go.
func TestQueue(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			life, end := context.WithCancel(t.Context())
			defer end()
			o := turns{limit: 3}
			q := newQueue(life, o.limit)
			var all sync.WaitGroup
			for n := 1; n <= 100; n++ {
				wait, use, patience := time.Duration(rnd.IntN(40)), time.Duration(rnd.IntN(20)), time.Duration(rnd.IntN(60))
				all.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					had := 0
					err := q.enter(ctx, wait, func() { had++; o.turn(n) })
					q.mu.Lock()
					o.answer(n, had, err)
					q.mu.Unlock()
					if err == nil {
						time.Sleep(use)
						q.mu.Lock()
						o.used-- // before the next turn, which leave gives
						q.mu.Unlock()
						q.leave()
					}
				})
				synctest.Wait() // requests come one after the other
				switch rnd.IntN(10) {
				case 0:
					q.mu.Lock()
					o.limit = 2 + rnd.IntN(4)
					limit := o.limit
					q.mu.Unlock()
					q.setLimit(limit)
				case 1, 2, 3:
					time.Sleep(time.Duration(rnd.IntN(10)))
				}
			}
			all.Wait()
			if used, waiting := q.counts(); used != 0 || waiting != 0 {
				o.faults = append(o.faults, fmt.Errorf("%d places are taken and %d requests wait at the end", used, waiting))
			}
			for _, err := range o.faults {
				t.Errorf("seed %d: %v", seed, err)
			}
		})
	}
}

// TestQueueFaults: the observer of TestQueue sees a request pass another, one too many, one that has
// both a place and an error, and one that has neither.
func TestQueueFaults(t *testing.T) {
	for name, do := range map[string]func(*turns){
		"passed":   func(o *turns) { o.turn(2); o.turn(1) },
		"too many": func(o *turns) { o.turn(1); o.turn(2); o.turn(3) },
		"both":     func(o *turns) { o.answer(1, 1, ErrFull) },
		"neither":  func(o *turns) { o.answer(1, 0, nil) },
		"twice":    func(o *turns) { o.answer(1, 2, nil) },
	} {
		o := turns{limit: 2}
		if do(&o); len(o.faults) == 0 {
			t.Errorf("%s: no fault is seen", name)
		}
	}
}

// TestQueueEnds: once the pool is closed no request gets a turn, and those that wait fail.
func TestQueueEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		life, end := context.WithCancel(t.Context())
		q := newQueue(life, 1)
		q.occupy()
		got := make(chan error, 1)
		go func() { got <- q.enter(t.Context(), time.Hour, func() { t.Error("a turn after the end") }) }()
		synctest.Wait()
		end()
		if err := <-got; !errors.Is(err, ErrClosed) {
			t.Errorf("who waited: %v, want %v", err, ErrClosed)
		}
		q.leave()
		if err := q.enter(t.Context(), time.Hour, func() { t.Error("a turn after the end") }); !errors.Is(err, ErrClosed) {
			t.Errorf("who came later: %v, want %v", err, ErrClosed)
		}
	})
}
