package pool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/internal/reset"
)

// ResetResult says how a database was put back, and how long that took.
type ResetResult struct {
	reset.Result
	Took time.Duration
}

// Reset puts a leased database back to its template, and renews the lease. Errors match
// ErrNotFound, reset.ErrTemplateChanged, reset.ErrLocked, and ErrUnclonable where something that the
// template leads to may switch the binary log off by now.
func (p *Pool) Reset(ctx context.Context, name string, c reset.Counters) (ResetResult, error) {
	return p.resetBy(ctx, name, func(s *reset.Session, l *lease) (reset.Result, error) {
		return p.engine.Reset(ctx, s, &l.database, c)
	})
}

// SetSavepoint sets the savepoint of a leased database to its present content, until the next
// Reset or SetSavepoint, and renews the lease. Errors match ErrNotFound, ErrKept and
// reset.ErrNoSavepoint.
func (p *Pool) SetSavepoint(ctx context.Context, name string) error {
	return p.onLease(ctx, name, func(s *reset.Session, l *lease) error {
		if err := p.notKept(l); err != nil {
			return err
		}
		return p.engine.SetSavepoint(ctx, s, &l.database)
	})
}

// RollBack puts a leased database back to its savepoint, and renews the lease. Errors match
// ErrNotFound, ErrKept and reset.ErrSavepointLost. After the last the database was reset to its
// template instead, and the result says how.
func (p *Pool) RollBack(ctx context.Context, name string, c reset.Counters) (ResetResult, error) {
	return p.resetBy(ctx, name, func(s *reset.Session, l *lease) (reset.Result, error) {
		if err := p.notKept(l); err != nil {
			return reset.Result{}, err
		}
		return p.engine.RollBack(ctx, s, &l.database, c)
	})
}

// resetBy puts a database back by f, and counts that.
func (p *Pool) resetBy(ctx context.Context, name string, f func(*reset.Session, *lease) (reset.Result, error)) (res ResetResult, err error) {
	began := time.Now()
	err = p.onLease(ctx, name, func(s *reset.Session, l *lease) (err error) {
		res.Result, err = f(s, l)
		return err
	})
	if err != nil && !errors.Is(err, reset.ErrSavepointLost) {
		return ResetResult{}, err
	}
	res.Took = time.Since(began)
	p.counters.reset(res.Way, res.Took)
	return res, err
}

// onLease calls f with a leased database, whose time to live starts over.
func (p *Pool) onLease(ctx context.Context, name string, f func(*reset.Session, *lease) error) error {
	l, err := p.find(name)
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	s, done, err := p.session(ctx)
	if err != nil {
		return err
	}
	err = p.put(ctx, s, l, func() error { return f(s, l) })
	done(err)
	p.leases.renew(l)
	return err
}

// rolesTries is how often a database is put back while somebody changes the roles that all accounts have.
const rolesTries = 3

// put calls f, which puts the database of a lease back, once that is current, and again where f finds other roles that all
// accounts have than before: by one a session may have switched the log off, and no log tells of the setting.
func (p *Pool) put(ctx context.Context, s *reset.Session, l *lease, f func() error) (err error) {
	for range rolesTries {
		roles := p.journal.Roles()
		if err = p.current(ctx, s, l); err == nil {
			err = f()
		}
		if p.journal.Roles() == roles {
			break
		}
	}
	return err
}

// notKept refuses a lease that is to stay as it is. The journal does not follow it.
func (p *Pool) notKept(l *lease) error {
	if p.leases.isKept(l) {
		return fmt.Errorf("the database %s: %w\nhint: ramaria db new %s makes another; ramaria db drop %[1]s removes this one", l.Name, ErrKept, l.Template)
	}
	return nil
}

// Database returns a lease and renews it. The error matches ErrNotFound if the lease does not
// exist.
func (p *Pool) Database(name string) (Lease, error) {
	l, err := p.find(name)
	if err != nil {
		return Lease{}, err
	}
	defer l.mu.Unlock()
	return p.leases.renew(l), nil
}

// Keep takes a lease out of the pool: its database stays as it is until it is dropped. The
// error matches ErrNotFound if the lease does not exist.
func (p *Pool) Keep(name string) (Lease, error) {
	l, err := p.find(name)
	if err != nil {
		return Lease{}, err
	}
	defer l.mu.Unlock()
	out, held := p.leases.keep(l)
	if !held {
		return out, nil
	}
	p.queue.leave()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.journal != nil {
		p.journal.Forget(l.Name) // there is no end to what may happen to it
	}
	return out, p.save()
}

// current makes sure that what is known of a lease, which is locked, is about the present run of
// the server, and its template as it is now.
func (p *Pool) current(ctx context.Context, s *reset.Session, l *lease) error {
	shape, err := p.shape(ctx, s, l.Template)
	if err != nil || l.database.Shape == shape {
		return err
	}
	why := "its template was made again"
	switch {
	case l.database.Shape == nil:
		why = "the server was restarted"
		p.journal.Watch(l.Name)
		// The instance may have been put back to a mark from before the lease.
		if err := p.config.Server.Dialect().MakeLease(ctx, s.Conn, l.Login, l.Name); err != nil {
			return err
		}
	case shape.Redefines(l.database.Shape):
		why = "rights of accounts were changed, by which one may have switched the binary log off"
		// A session in which it is off keeps it so.
		if err := s.End(ctx, l.Login.User); err != nil {
			return err
		}
		p.journal.Return(l.Name, reset.Warned("all connections of the database were ended, since "+why))
	}
	p.journal.Invalidate(l.Name, why)
	l.database = l.database.Renewed(l.Name, l.Login.User, shape, why)
	return nil
}

// Drop ends a lease: it drops the account and its connections, and removes the database or
// resets it for the next lease. The error matches ErrNotFound if the lease does not exist.
func (p *Pool) Drop(ctx context.Context, name string) error {
	l, err := p.find(name)
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	return p.drop(ctx, l, true)
}

// drop is Drop of a lease that is locked; again says whether others may have the database.
func (p *Pool) drop(ctx context.Context, l *lease, again bool) error {
	s, done, err := p.session(ctx)
	if err != nil {
		return err
	}
	// Once begun it goes on without its caller: half a lease is of no use.
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	var next *lease
	if err = p.revoke(undo, s, l); err == nil {
		if t, shape := p.spares.find(l.Template); again && shape != nil && p.outdated(t) {
			_, err := p.shape(undo, s, l.Template) // of which this one is not then
			again = err == nil
		}
		// What it did without the log, the next account's reset would not look for.
		if again && !p.journal.Mighty(l.Login.User) {
			next = p.spares.reuse(l)
		}
		if next == nil {
			err = p.erase(undo, s, l)
		}
	}
	if next == nil {
		done(err)
	} else {
		// The account is for the next run, so that it knows that the database is ours if there is no
		// more time in this one. The lease is over also without it.
		err := p.config.Server.Dialect().MakeLease(undo, s.Conn, next.Login, next.Name)
		done(err)
		p.spares.workOn(next)
	}
	if err != nil {
		p.journal.Invalidate(l.Name, "it was half removed")
		p.leases.retry(l)
		return fmt.Errorf("drop %s: %w", l.Name, err)
	}
	if p.leases.end(l) {
		p.queue.leave()
	}
	return p.saveNow()
}

// expire ends the leases whose time has run out and that no request works on, and builds.
func (p *Pool) expire(now time.Time) {
	over := p.leases.expired(now)
	p.mu.Lock()
	for name, b := range p.builds {
		if now.After(b.expires) {
			p.config.Log.Warn("a template was not built in time, and is removed", "template", name)
			p.abandon(name)
		}
	}
	p.mu.Unlock()
	for _, l := range over {
		if !l.mu.TryLock() {
			continue // in use, which renews it
		}
		if p.leases.isExpired(l, now) {
			p.expireOne(l)
		}
		l.mu.Unlock()
	}
}

// expireOne ends a lease whose time has run out, or that the last run left.
func (p *Pool) expireOne(l *lease) {
	spare := p.leases.isSpare(l)
	if spare {
		if ours, err := p.ours(l); err == nil && !ours {
			// The data is from another time, such as a mark's: whose database that is, or
			// will be is not known.
			p.leases.end(l)
			if err := p.saveNow(); err != nil {
				p.config.Log.Error("cannot write down that a database is not ours", "database", l.Name, "error", err)
			}
			return
		}
	} else {
		p.config.Log.Info("a database was not used for its time to live, and is removed", "database", l.Name, "ttl", l.ttl)
	}
	if err := p.drop(p.life, l, !spare); err != nil && p.life.Err() == nil {
		p.config.Log.Error("cannot remove a database whose time has run out", "database", l.Name, "error", err)
	}
}

// ours reports whether the server knows the account of a lease.
func (p *Pool) ours(l *lease) (bool, error) {
	s, done, err := p.session(p.life)
	if err != nil {
		return false, err
	}
	there, err := p.config.Server.Dialect().Has(p.life, s.Conn, l.Login.User)
	done(err)
	return there, err
}

// Databases lists the leases by name.
func (p *Pool) Databases() []Lease { return p.leases.list() }
