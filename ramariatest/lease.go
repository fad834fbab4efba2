package ramariatest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/client"
)

// maxIdle is how many databases of a process may wait for the next test. Tests that follow
// each other need one for each that runs at once, and those that wait are not given back
// when the process ends.
const maxIdle = 4

// idleWait is for how long one may wait: the instance's pool is finite.
const idleWait = 20 * time.Second

// renewals is how often a database is renewed in a TTL: once may be missed.
const renewals = 3

// fullWait is for how long a test waits while as many databases are in use as may be:
// longer than those of processes that ended are kept.
const fullWait = DefaultTTL + 30*time.Second

// callTimeout is for how long a call that no test waits for may take.
const callTimeout = 10 * time.Second

// leases are the databases that a process has from one instance.
type leases struct {
	api *client.Client

	mu   sync.Mutex
	idle []*lease // the last used last
}

// lease is a database that the process has. It is renewed for as long as it is in use.
type lease struct {
	client.Database
	ttl   time.Duration
	all   *leases
	timer *time.Timer // for renew
	over  bool        // guarded by all.mu
}

// take returns a database that is as its template, one that waits if there is one.
func (ls *leases) take(ctx context.Context, template string, ttl time.Duration) (*lease, error) {
	if l := ls.waiting(template, ttl); l != nil {
		return l, nil
	}
	d, err := ls.api.NewDatabase(ctx, client.DatabaseRequest{Template: template, TTLSeconds: ttl.Seconds(), WaitSeconds: fullWait.Seconds()})
	if err != nil {
		return nil, err
	}
	l := &lease{Database: d, ttl: ttl, all: ls}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l.timer = time.AfterFunc(ttl/renewals, l.renew)
	return l, nil
}

func (ls *leases) waiting(template string, ttl time.Duration) *lease {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for i, l := range slices.Backward(ls.idle) {
		if l.Template == template && l.ttl == ttl {
			ls.idle = slices.Delete(ls.idle, i, i+1)
			return l
		}
	}
	return nil
}

// put makes a database wait that was reset. One that waits for long is given back.
func (ls *leases) put(ctx context.Context, l *lease) error {
	ls.mu.Lock()
	ls.idle = append(ls.idle, l)
	l.timer.Reset(min(l.ttl/renewals, idleWait))
	var surplus *lease
	if len(ls.idle) > maxIdle {
		surplus = ls.idle[0]
		ls.idle = slices.Delete(ls.idle, 0, 1)
	}
	ls.mu.Unlock()
	if surplus == nil {
		return nil
	}
	return surplus.drop(ctx)
}

// release gives back the databases that wait.
func (ls *leases) release(ctx context.Context) error {
	ls.mu.Lock()
	list := ls.idle
	ls.idle = nil
	ls.mu.Unlock()
	var errs []error
	for _, l := range list {
		errs = append(errs, l.drop(ctx))
	}
	return errors.Join(errs...)
}

// renew is called from time to time: a database in use is renewed, one that waits since the
// last time is given back. An error shows in the next call for the database.
func (l *lease) renew() {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	if l.leave() {
		_ = l.drop(ctx)
		return
	}
	_, _ = l.all.api.Database(ctx, l.Name)
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	if !l.over {
		l.timer.Reset(l.ttl / renewals)
	}
}

// leave takes a database out of those that wait, if it is one of them.
func (l *lease) leave() bool {
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	i := slices.Index(l.all.idle, l)
	if i < 0 {
		return false
	}
	l.all.idle = slices.Delete(l.all.idle, i, i+1)
	return true
}

// end is for a database that is not the process's any more.
func (l *lease) end() {
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	l.over = true
	l.timer.Stop()
}

// drop gives a database back that no test uses.
func (l *lease) drop(ctx context.Context) error {
	l.end()
	return l.all.api.DropDatabase(ctx, l.Name)
}
