package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// queue says whose turn it is to have a lease: each lease takes one of limit places.
//
// The invariant: turns come in the order in which requests came, and only while fewer than limit
// places are taken; a request either gets its turn, which takes a place until leave, or an error,
// never both.
type queue struct {
	// life ends the queue: no turn comes after it, and all who wait get ErrClosed.
	life context.Context

	mu      sync.Mutex
	limit   int
	used    int
	waiting []*ticket
}

// ticket is the place of a request in the queue: when its turn comes then is called, if it is not
// nil, and turn closed.
type ticket struct {
	turn chan struct{}
	then func()
}

func newQueue(life context.Context, limit int) *queue { return &queue{life: life, limit: limit} }

// enter waits for a place until wait is over; leave gives it back. then, if it is not nil, is called
// when the turn comes, before any later turn: it must not call the queue.
func (q *queue) enter(ctx context.Context, wait time.Duration, then func()) error {
	t := &ticket{make(chan struct{}), then}
	q.mu.Lock()
	q.waiting = append(q.waiting, t)
	q.grant()
	q.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var err error
	select {
	case <-t.turn:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-q.life.Done():
		err = ErrClosed
	case <-timer.C:
		err = ErrFull
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, t)
	if i < 0 { // its turn came in the same moment
		return nil
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	if errors.Is(err, ErrFull) {
		err = fmt.Errorf("%w: all %d databases of max_databases were in use for %s\nhint: ramaria db drop NAME releases one that ramaria db ls shows; ramaria db pool --max-databases %d allows more",
			err, q.limit, wait, 2*q.limit)
	}
	return err
}

// occupy takes a place out of turn, even beyond the limit: for a lease of the last run.
func (q *queue) occupy() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used++
}

// leave gives a place to the next.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used--
	q.grant()
}

// setLimit changes how many places there are. Leases that are over it stay.
func (q *queue) setLimit(limit int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limit = limit
	q.grant()
}

// counts returns how many places are taken, and how many requests wait for one.
func (q *queue) counts() (used, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used, len(q.waiting)
}

// grant gives free places to those who have waited longest. The caller holds q.mu.
func (q *queue) grant() {
	for q.life.Err() == nil && len(q.waiting) > 0 && q.used < q.limit {
		t := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.used++
		if t.then != nil {
			t.then()
		}
		close(t.turn)
	}
}
