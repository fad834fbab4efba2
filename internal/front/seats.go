package front

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/client"
)

// Pool gives out clones of templates. A client.Client is one.
type Pool interface {
	Status(ctx context.Context) (client.Status, error)
	Templates(ctx context.Context) ([]client.Template, error)
	NewDatabase(ctx context.Context, r client.DatabaseRequest) (client.Database, error)
	Database(ctx context.Context, name string) (client.Database, error)
	ResetDatabase(ctx context.Context, name string, mode client.ResetMode) (client.Reset, error)
	SetSavepoint(ctx context.Context, name string) error
	RollbackDatabase(ctx context.Context, name string, mode client.ResetMode) (client.Reset, error)
	DropDatabase(ctx context.Context, name string) error
}

var _ Pool = (*client.Client)(nil)

const (
	// at divides a template from the name that its clone belongs to.
	at = "@"
	// own is a name behind at that gives each connection a clone of its own.
	own = "@"
	// leaseTime is how long a lease outlives a door that was killed.
	leaseTime = time.Minute
	// renewal is how often it is renewed.
	renewal = leaseTime / 3
	// leaseWait is how long a client waits while the pool is full: its own patience is often ten seconds.
	leaseWait = 8 * time.Second
	// glanceTime is how long a client waits before clones that linger make way for it.
	glanceTime = 10 * time.Millisecond
	// releaseTime is how long giving a lease back may take. Pauses between attempts grow from releasePause to mostPause.
	releaseTime  = time.Minute
	releasePause = 200 * time.Millisecond
	mostPause    = 3 * time.Second
)

// seat is the clone that the connections of one name share.
type seat struct {
	name string // of the database as clients know it; "" for one that is of one connection

	// The rest is under seats.mu.
	users int
	// hushed is how many of the users send nothing more, and may still wait for an answer; one that was killed cannot be told
	// from them.
	hushed int
	since  time.Time
	idle   time.Time   // when its last user left
	left   *time.Timer // gives the clone back, unless somebody comes

	// made is closed when lease and err are known, and both stay as they are.
	made  chan struct{}
	lease client.Database
	err   error
}

// seats says which name has which clone.
//
// The invariant: a seat has a lease as long as it has users, and for linger after that, unless somebody waits for a
// clone. One that is not in byName any more gets no users: so it is linger after the last user that may say something.
type seats struct {
	pool   Pool
	linger time.Duration
	warn   func(text string, err error)

	mu     sync.Mutex
	byName map[string]*seat
	all    map[*seat]struct{}
	work   sync.WaitGroup
	closed bool

	closing chan struct{} // is closed when nothing is waited for any more
}

var errClosed = errors.New("the door closes")

// sit gives a connection the clone that belongs to a database's name, and leases it for the first. Call leave.
func (s *seats) sit(ctx context.Context, name string) (*seat, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed
	}
	template, who, _ := strings.Cut(name, at)
	p := s.byName[name]
	first := p == nil
	if first {
		p = &seat{name: name, made: make(chan struct{}), since: time.Now()}
		if who == own {
			p.name = ""
		} else {
			s.byName[name] = p
		}
		s.all[p] = struct{}{}
	}
	p.users++
	if p.left != nil {
		p.left.Stop()
		p.left = nil
	}
	s.mu.Unlock()
	if first {
		s.work.Add(1)
		go func() {
			defer s.work.Done()
			s.take(context.WithoutCancel(ctx), p, template)
		}()
	}
	select {
	case <-p.made:
	case <-ctx.Done():
		s.leave(p, false)
		return nil, ctx.Err()
	}
	if p.err != nil {
		s.leave(p, false)
		return nil, p.err
	}
	return p, nil
}

// leased is the server's name of the clone that a name has; "" where it has none.
func (s *seats) leased(name string) string {
	s.mu.Lock()
	p := s.byName[name]
	s.mu.Unlock()
	if p == nil {
		return ""
	}
	<-p.made
	return p.lease.Name
}

// isClone reports whether a database's name may be of a template's clone: there may be none, and a database of that name.
func isClone(database string) bool { return strings.Index(database, at) > 0 }

// ofTemplate reports whether a clone's name is of a template that there is.
func (s *seats) ofTemplate(ctx context.Context, name string) (bool, error) {
	all, err := s.pool.Templates(ctx)
	var e *client.Error
	if errors.As(err, &e) && (e.Code == client.CodeDurable || e.Code == client.CodeNoLog) {
		return false, nil // which have no templates
	}
	template, _, _ := strings.Cut(name, at)
	return slices.ContainsFunc(all, func(t client.Template) bool { return t.Name == template }), err
}

// take leases a seat's clone, for all who wait for it.
func (s *seats) take(ctx context.Context, p *seat, template string) {
	p.lease, p.err = s.newLease(ctx, template)
	if p.err != nil {
		s.forget(p)
	}
	close(p.made)
}

// newLease leases a clone. Where the pool is full, clones that nobody uses make way.
func (s *seats) newLease(ctx context.Context, template string) (client.Database, error) {
	r := client.DatabaseRequest{Template: template, TTLSeconds: leaseTime.Seconds(), WaitSeconds: glanceTime.Seconds()}
	d, err := s.pool.NewDatabase(ctx, r)
	if !isFull(err) {
		return d, err
	}
	stop := s.makeWay()
	defer stop()
	r.WaitSeconds = leaseWait.Seconds()
	return s.pool.NewDatabase(ctx, r)
}

// makeWay has clones be given back that are without a connection, one every releasePause, until stop is called: that which
// has been so for the longest first, and none that may be between two connections of one test. Others may wait at the pool, and take what comes free: then another one goes.
func (s *seats) makeWay() (stop func()) {
	s.mu.Lock()
	s.endIdlest()
	s.mu.Unlock()
	over := make(chan struct{})
	s.work.Go(func() {
		tick := time.NewTicker(releasePause)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				s.mu.Lock()
				s.endIdlest()
				s.mu.Unlock()
			}
		}
	})
	return func() { close(over) }
}

// endIdlest gives the clone back that has been without a connection for the longest. The caller holds mu.
func (s *seats) endIdlest() {
	var idlest *seat
	for p := range s.all {
		if p.users == 0 && time.Since(p.idle) >= releasePause && (idlest == nil || p.idle.Before(idlest.idle)) {
			idlest = p
		}
	}
	if idlest == nil {
		return
	}
	if idlest.left != nil {
		idlest.left.Stop()
	}
	s.end(idlest)
}

// forget has the next who comes with that name begin anew.
func (s *seats) forget(p *seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName[p.name] == p {
		delete(s.byName, p.name)
	}
}

// hush says that a connection sends nothing more. Whoever comes by the name of those that all do so is of another run, which
// is to find the template, and not what they do.
func (s *seats) hush(p *seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.hushed++
	s.forgetHushed(p)
}

// forgetHushed has a seat be forgotten in a moment if nobody in it says anything more. The caller holds mu.
func (s *seats) forgetHushed(p *seat) {
	if p.hushed < p.users || p.left != nil {
		return
	}
	p.left = time.AfterFunc(s.linger, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if p.hushed == p.users && s.byName[p.name] == p {
			delete(s.byName, p.name)
		}
	})
}

// leave says that a connection has ended, one that was hushed or not. The last one's clone is given back in a moment.
func (s *seats) leave(p *seat, hushed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.users--
	if hushed {
		p.hushed--
	}
	if p.users > 0 {
		s.forgetHushed(p)
		return
	}
	if p.left != nil {
		p.left.Stop()
	}
	if p.name == "" || s.byName[p.name] != p || s.closed {
		s.end(p)
		return
	}
	p.idle = time.Now()
	p.left = time.AfterFunc(s.linger, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if p.users == 0 {
			s.end(p)
		}
	})
}

// end gives a clone back. The caller holds mu.
func (s *seats) end(p *seat) {
	if _, there := s.all[p]; !there {
		return
	}
	delete(s.all, p)
	if s.byName[p.name] == p {
		delete(s.byName, p.name)
	}
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		<-p.made
		if p.err != nil {
			return
		}
		if err := s.giveBack(p.lease); err != nil && !unavailable(err) {
			s.warn("cannot give "+p.lease.Name+" back", err)
		}
	}()
}

// giveBack ends a lease. Where that fails it tries again: after a crash, by which connections end, it has to wait for
// the server.
func (s *seats) giveBack(lease client.Database) error {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	for pause := releasePause; ; pause = min(2*pause, mostPause) {
		d, err := s.pool.Database(ctx, lease.Name)
		if err == nil && (d.Kept || d.User != lease.User) {
			return nil // it is to stay as it is, or the instance was made again, and the name is another's
		}
		if err == nil {
			err = s.pool.DropDatabase(ctx, lease.Name)
		}
		if err == nil || gone(err) {
			return nil
		}
		select {
		case <-s.closing:
			return err
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// renew keeps the leases that have users.
func (s *seats) renew(ctx context.Context) {
	s.mu.Lock()
	var due []*seat
	for p := range s.all {
		select {
		case <-p.made:
			due = append(due, p)
		default:
		}
	}
	s.mu.Unlock()
	for _, p := range due {
		if d, err := s.pool.Database(ctx, p.lease.Name); gone(err) || err == nil && d.Kept {
			s.forget(p) // a rewind of the instance, say, has ended it
		} else if err != nil && ctx.Err() == nil {
			s.warn("cannot keep "+p.lease.Name, err)
		}
	}
}

// close gives all back.
func (s *seats) close() {
	close(s.closing)
	s.mu.Lock()
	s.closed = true
	for p := range s.all {
		if p.users == 0 {
			if p.left != nil {
				p.left.Stop()
			}
			s.end(p)
		}
	}
	s.mu.Unlock()
	s.work.Wait()
}

// unavailable reports whether an error says that the instance does not run: its leases end by themselves, unless it comes back.
func unavailable(err error) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Code == client.CodeUnavailable || errors.Is(err, client.ErrNoServer)
}

// isFull reports whether an error says that all clones are in use.
func isFull(err error) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Code == client.CodeFull
}

// gone reports whether an error says that there is no such lease any more.
func gone(err error) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Code == client.CodeNotFound
}
