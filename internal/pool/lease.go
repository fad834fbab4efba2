package pool

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/rewind"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/template"
)

// DefaultTTL is how long a lease lasts that nobody uses.
const DefaultTTL = time.Hour

// lease is a clone of a template with an account of its own.
type lease struct {
	Name     string
	Template string
	Login    server.Login
	TTL      time.Duration

	// mu is held by whoever works on the database.
	mu       sync.Mutex
	database rewind.Database
	gone     bool

	// expires and ready are under Pool.mu; it is ready once it was made.
	expires time.Time
	ready   bool
}

// Lease is a database that one test has for itself.
type Lease struct {
	Name, Template string
	Endpoint       server.Endpoint
	Expires        time.Time
}

// Request asks for a database.
type Request struct {
	Template string
	// Name of the database; "" for one that is chosen.
	Name string
	// TTL is for how long it may lie unused; 0 for DefaultTTL.
	TTL time.Duration
}

// nameRule is what names of databases must keep: they must not need quotes anywhere, and
// a name chosen from theirs must fit as well.
var nameRule = regexp.MustCompile(`^[A-Za-z0-9_]{1,64}$`)

// longestName is the longest that a server takes.
const longestName = 64

// NewDatabase makes a clone of a template with an account that may do anything in it.
func (p *Pool) NewDatabase(ctx context.Context, r Request) (Lease, error) {
	l, err := p.newDatabase(ctx, r)
	if err != nil {
		return Lease{}, fmt.Errorf("make a database from template %s: %w", r.Template, err)
	}
	return l, nil
}

func (p *Pool) newDatabase(ctx context.Context, r Request) (_ Lease, err error) {
	if r.TTL < 0 {
		return Lease{}, fmt.Errorf("%w: a time to live of %s", ErrInvalid, r.TTL)
	}
	if r.TTL == 0 {
		r.TTL = DefaultTTL
	}
	if r.Name != "" && (!nameRule.MatchString(r.Name) || server.SystemSchema(r.Name)) {
		return Lease{}, fmt.Errorf("%w: the name %q: 1 to %d letters, digits and _, and none of the server's own", ErrInvalid, r.Name, longestName)
	}
	s, done, err := p.session(ctx)
	if err != nil {
		return Lease{}, err
	}
	defer func() { done(err) }()
	shape, err := p.shape(ctx, s, r.Template)
	if err != nil {
		return Lease{}, err
	}
	l, err := p.reserve(ctx, s, r)
	if err != nil {
		return Lease{}, err
	}
	defer l.mu.Unlock()
	if err := p.make(ctx, s, l, shape); err != nil {
		p.mu.Lock()
		delete(p.leases, l.Name)
		p.mu.Unlock()
		l.gone = true
		return Lease{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leaseOf(l), nil
}

// reserve takes a name, and returns the lease locked.
func (p *Pool) reserve(ctx context.Context, s *rewind.Session, r Request) (*lease, error) {
	exists := func(name string) (bool, error) {
		var n int
		err := s.Conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?", name).Scan(&n)
		return n > 0, err
	}
	for n := 1; ; n++ {
		name := r.Name
		if name == "" {
			suffix := "_" + strconv.Itoa(n)
			base := strings.Map(func(c rune) rune {
				if nameRule.MatchString(string(c)) {
					return c
				}
				return '_'
			}, r.Template)
			name = base[:min(len(base), longestName-len(suffix))] + suffix
		}
		p.mu.Lock()
		taken := p.leases[name] != nil || p.templates[name] != nil
		l := &lease{Name: name, Template: r.Template, TTL: r.TTL, expires: time.Now().Add(r.TTL)}
		l.mu.Lock()
		if !taken {
			p.leases[name] = l
		}
		p.mu.Unlock()
		if !taken {
			there, err := exists(name)
			if err == nil && !there {
				return l, nil
			}
			p.mu.Lock()
			delete(p.leases, name)
			p.mu.Unlock()
			l.gone = true
			l.mu.Unlock()
			if err != nil {
				return nil, err
			}
		}
		if r.Name != "" {
			return nil, fmt.Errorf("the database %s: %w\nhint: ramaria db ls lists the clones of templates", name, ErrTaken)
		}
	}
}

// make makes the database of a lease, its account, and writes it down.
func (p *Pool) make(ctx context.Context, s *rewind.Session, l *lease, shape *template.Shape) error {
	user := make([]byte, 6)
	if _, err := rand.Read(user); err != nil {
		panic(err) // crypto/rand.Read never fails on Linux
	}
	l.Login = server.Login{User: "lease_" + hex.EncodeToString(user), Password: server.NewPassword()}
	counters, err := p.rewinder.Clone(ctx, s, shape, l.Name)
	if err != nil {
		return err
	}
	l.database = rewind.Database{Name: l.Name, User: l.Login.User, Shape: shape, Counters: counters}
	_, err = s.Conn.ExecContext(ctx, p.config.Server.LeaseSQL(l.Login, l.Name))
	if err == nil {
		p.mu.Lock()
		l.ready = true
		err = p.save()
		p.mu.Unlock()
	}
	if err != nil {
		return errors.Join(err, p.remove(context.WithoutCancel(ctx), s, l))
	}
	return nil
}

// remove removes the database and the account of a lease.
func (p *Pool) remove(ctx context.Context, s *rewind.Session, l *lease) error {
	err := s.End(ctx, l.Login.User)
	if err == nil {
		err = template.Drop(ctx, s.Conn, l.Name)
	}
	if err == nil {
		_, err = s.Conn.ExecContext(ctx, p.config.Server.EndLeaseSQL(l.Login))
	}
	p.journal.Forget(l.Name)
	return err
}

// find returns a lease, locked, once nobody else works on it.
func (p *Pool) find(name string) (*lease, error) {
	p.mu.Lock()
	l := p.leases[name]
	p.mu.Unlock()
	if l != nil {
		l.mu.Lock()
		if !l.gone {
			return l, nil
		}
		l.mu.Unlock()
	}
	return nil, fmt.Errorf("database %s: %w\nhint: ramaria db ls lists the clones of templates; ramaria db new TEMPLATE makes one", name, ErrNotFound)
}

// ResetResult says how a database was put back.
type ResetResult struct {
	rewind.Result
	Took time.Duration
}

// Reset puts a database back to what its template was when it was made.
func (p *Pool) Reset(ctx context.Context, name string) (ResetResult, error) {
	began := time.Now()
	l, err := p.find(name)
	if err != nil {
		return ResetResult{}, err
	}
	defer l.mu.Unlock()
	s, done, err := p.session(ctx)
	if err != nil {
		return ResetResult{}, err
	}
	res, err := p.reset(ctx, s, l)
	done(err)
	if err != nil {
		return ResetResult{}, err
	}
	p.mu.Lock()
	l.expires = time.Now().Add(l.TTL)
	p.mu.Unlock()
	return ResetResult{res, time.Since(began)}, nil
}

// reset is Reset of a lease that is locked.
func (p *Pool) reset(ctx context.Context, s *rewind.Session, l *lease) (rewind.Result, error) {
	shape, err := p.shape(ctx, s, l.Template)
	if err != nil {
		return rewind.Result{}, err
	}
	if l.database.Shape != shape {
		why := "its template was made anew"
		if l.database.Shape == nil {
			why = "the server was started anew"
			p.journal.Watch(l.Name)
			// The instance may have been put back to a mark from before the lease.
			if _, err := s.Conn.ExecContext(ctx, p.config.Server.LeaseSQL(l.Login, l.Name)); err != nil {
				return rewind.Result{}, err
			}
		}
		p.journal.Doubt(l.Name, why)
		l.database = rewind.Database{Name: l.Name, User: l.Login.User, Shape: shape}
	}
	return p.rewinder.Reset(ctx, s, &l.database)
}

// Drop removes a database and its account, and ends its connections.
func (p *Pool) Drop(ctx context.Context, name string) error {
	l, err := p.find(name)
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	return p.drop(ctx, l)
}

// drop is Drop of a lease that is locked.
func (p *Pool) drop(ctx context.Context, l *lease) error {
	s, done, err := p.session(ctx)
	if err != nil {
		return err
	}
	err = p.remove(ctx, s, l)
	done(err)
	if err != nil {
		p.journal.Doubt(l.Name, "it was half removed")
		return fmt.Errorf("drop %s: %w", l.Name, err)
	}
	l.gone = true
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.leases, l.Name)
	return p.save()
}

// expire ends the leases whose time has run out and that nobody works on.
func (p *Pool) expire(now time.Time) {
	p.mu.Lock()
	var over []*lease
	for _, l := range p.leases {
		if l.ready && now.After(l.expires) {
			over = append(over, l)
		}
	}
	p.mu.Unlock()
	for _, l := range over {
		if !l.mu.TryLock() {
			continue // in use, which renews it
		}
		if !l.gone {
			p.config.Log.Info("a database was not used for its time to live, and is removed", "database", l.Name, "ttl", l.TTL)
			if err := p.drop(p.life, l); err != nil && p.life.Err() == nil {
				p.config.Log.Error("cannot remove a database whose time has run out", "database", l.Name, "error", err)
			}
		}
		l.mu.Unlock()
	}
}

// Databases lists the leases by name.
func (p *Pool) Databases() []Lease {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]Lease, 0, len(p.leases))
	for _, l := range p.leases {
		if l.ready {
			list = append(list, p.leaseOf(l))
		}
	}
	slices.SortFunc(list, func(a, b Lease) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// leaseOf is what callers get to know of a lease. The caller holds p.mu.
func (p *Pool) leaseOf(l *lease) Lease {
	e := p.config.Endpoint
	e.Login, e.Database = l.Login, l.Name
	return Lease{Name: l.Name, Template: l.Template, Endpoint: e, Expires: l.expires}
}
