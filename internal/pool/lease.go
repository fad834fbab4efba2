package pool

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/template"
)

// Defaults of a Request.
const (
	DefaultTTL  = time.Hour
	DefaultWait = time.Minute
)

// Lease is one test's exclusive hold on a clone of a template.
type Lease struct {
	Name, Template string
	Endpoint       dbconn.Endpoint
	// Expires is when the lease ends if it is not used before; zero for a kept one.
	Expires time.Time
	Kept    bool
}

// Request asks for a lease.
type Request struct {
	Template string
	// Name of the database; "" lets the pool choose one.
	Name string
	// TTL is how long the lease lasts after its last use; 0 is DefaultTTL.
	TTL time.Duration
	// Wait is how long to wait while the pool is full; 0 is DefaultWait.
	Wait time.Duration
}

// undoTime is how long undoing what failed may take, although its client may have gone away.
const undoTime = time.Minute

// NewDatabase leases a clone of a template, with an account that may do anything in it. While
// the pool is full, it waits its turn. Errors match ErrInvalid (name, TTL or wait), ErrNotFound
// (the template), reset.ErrTemplateChanged, ErrTaken (the name), ErrFull (after the wait) and
// ErrClosed.
func (p *Pool) NewDatabase(ctx context.Context, r Request) (Lease, error) {
	began := time.Now()
	l, err := p.newDatabase(ctx, r)
	if err != nil {
		return Lease{}, fmt.Errorf("make a database from template %s: %w", r.Template, err)
	}
	p.counters.lease(time.Since(began))
	return l, nil
}

func (p *Pool) newDatabase(ctx context.Context, r Request) (Lease, error) {
	r.Template, r.Name = p.fold(r.Template), p.fold(r.Name)
	if r.TTL < 0 || r.Wait < 0 {
		return Lease{}, fmt.Errorf("%w: a time to live of %s, a wait of %s", ErrInvalid, r.TTL, r.Wait)
	}
	if r.Name != "" && (!dbconn.PlainName(r.Name) || dbconn.SystemSchema(r.Name)) {
		return Lease{}, fmt.Errorf("%w: the name %q: 1 to %d letters, digits and _, and none of the server's own", ErrInvalid, r.Name, dbconn.MaxName)
	}
	if !grantable(r.Name) {
		return Lease{}, fmt.Errorf("%w: the name %q: at most %d characters, of which _ counts twice", ErrInvalid, r.Name, dbconn.MaxName)
	}
	var l *lease
	var err error
	if wait := cmp.Or(r.Wait, DefaultWait); r.Name == "" {
		l, err = p.take(ctx, r.Template, wait)
	} else {
		l, err = p.named(ctx, r, wait)
	}
	if err != nil {
		return Lease{}, err
	}
	err = p.wake(ctx, l)
	if err = cmp.Or(err, ctx.Err()); err == nil {
		out := p.leases.begin(l, cmp.Or(r.TTL, DefaultTTL))
		if err = p.saveNow(); err == nil {
			return out, nil
		}
	}
	// Its request has ended, or it cannot be written down.
	l.mu.Lock()
	cancelled := p.leases.cancel(l)
	l.mu.Unlock()
	if cancelled {
		p.queue.leave()
		p.spares.giveBack(l, l.pooled && l.database.Asleep)
	}
	return Lease{}, err
}

// take returns a clone that was made ahead of time, or the next one that is made: requests get them
// in the order in which they came.
func (p *Pool) take(ctx context.Context, name string, wait time.Duration) (*lease, error) {
	p.mu.Lock()
	err := p.start()
	if err == nil && p.templates[name] == nil {
		err = noTemplate(name)
	}
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var t *supply
	mine := make(chan clone, 1)
	// It waits for a clone from the moment of its turn on, so that none comes first that came later.
	if err := p.queue.enter(ctx, wait, func() { t = p.spares.wait(name, mine) }); err != nil {
		return nil, err
	}
	l, err := p.spares.get(ctx, t, mine)
	if err != nil {
		p.queue.leave()
	}
	return l, err
}

// named makes a clone with a name that was wished for.
func (p *Pool) named(ctx context.Context, r Request, wait time.Duration) (*lease, error) {
	if err := p.queue.enter(ctx, wait, nil); err != nil {
		return nil, err
	}
	l, err := p.make(ctx, r.Template, r.Name)
	if err != nil {
		p.queue.leave()
	}
	return l, err
}

// make makes a clone that no test holds yet, with the name or a chosen one.
func (p *Pool) make(ctx context.Context, from, name string) (_ *lease, err error) {
	s, done, err := p.session(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { done(err) }()
	shape, err := p.shape(ctx, s, from)
	if err != nil {
		return nil, err
	}
	l, err := p.reserve(ctx, s, from, name)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	err = p.provision(ctx, s, l, func() error {
		began := time.Now()
		counters, err := p.engine.CloneAsleep(ctx, s, shape, l.Name)
		p.spares.made(from, time.Since(began))
		l.database = reset.Database{Name: l.Name, User: l.Login.User, Shape: shape, Counters: counters, Asleep: true}
		return err
	})
	return l, err
}

// Pool makes the clones that spares ask for.
var _ maker = (*Pool)(nil)

func (p *Pool) makeSpare(from string) (*lease, error) { return p.make(p.life, from, "") }

func (p *Pool) restore(l *lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, done, err := p.session(p.life)
	if err != nil {
		return err
	}
	err = p.provision(p.life, s, l, func() error {
		roles := p.journal.Roles()
		_, err := p.engine.Reset(p.life, s, &l.database, reset.RestoreCounters)
		if p.journal.Roles() != roles {
			l.database.Shape = nil // nobody gets it: see put
		}
		return err
	})
	done(err)
	return err
}

func (p *Pool) removeSpare(l *lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return p.drop(p.life, l, false)
}

// certain and changed are called once a session was had, so that there are journal and engine.
func (p *Pool) certain(template string) error  { return p.engine.Certain(template) }
func (p *Pool) changed(database string) string { return p.journal.Touched(database) }

// provision writes a lease down, makes its account, and then, by f, its database: a database
// without the account in the file is not ours to remove, whatever it is called.
func (p *Pool) provision(ctx context.Context, s *reset.Session, l *lease, f func() error) error {
	err := p.saveNow()
	if err == nil {
		err = p.config.Server.Dialect().MakeLease(ctx, s.Conn, l.Login, l.Name)
	}
	if err == nil {
		err = f()
	}
	if err == nil {
		p.leases.made(l)
		return nil
	}
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	var removed error
	if errors.Is(err, template.ErrExists) {
		// Another client made it meanwhile: it must not be ours to remove, whatever becomes of the
		// account.
		if err := p.revoke(undo, s, l); err != nil {
			p.config.Log.Error("cannot remove an account", "database", l.Name, "error", err)
		}
		p.journal.Forget(l.Name)
		err = fmt.Errorf("the database %s: %w", l.Name, ErrTaken)
	} else {
		removed = p.remove(undo, s, l)
	}
	if removed == nil {
		p.leases.end(l)
		return errors.Join(err, p.saveNow())
	}
	p.leases.retry(l)
	return errors.Join(err, removed)
}

// leaseUser is what the names of the accounts of leases begin with.
const leaseUser = "lease_"

// leased reports whether an account is that of a lease, or was.
func leased(user string) bool { return strings.HasPrefix(user, leaseUser) }

// userBytes is how many random bytes stand in the name of an account.
const userBytes = 6

// random returns random bytes as hexadecimal digits.
func random(bytes int) string {
	b := make([]byte, bytes)
	if _, err := rand.Read(b); err != nil {
		panic(err) // crypto/rand.Read never fails on Linux
	}
	return hex.EncodeToString(b)
}

// reserve takes a name, and returns the lease locked.
func (p *Pool) reserve(ctx context.Context, s *reset.Session, from, wanted string) (*lease, error) {
	for n := 1; ; n++ {
		name := wanted
		if name == "" {
			name = suffixed(from, "_"+strconv.Itoa(n))
		}
		l := newLease(from, name, wanted == "")
		l.mu.Lock()
		p.mu.Lock()
		free := !p.taken(name) && p.leases.claim(l)
		p.mu.Unlock()
		if free {
			there, err := exists(ctx, s, name)
			if err == nil && !there {
				return l, nil
			}
			p.leases.end(l)
			l.mu.Unlock()
			if err != nil {
				return nil, err
			}
		}
		if wanted != "" {
			return nil, fmt.Errorf("the database %s: %w\nhint: ramaria db ls lists the clones of templates", name, ErrTaken)
		}
	}
}

// fold is the name of a database as the server keeps it: the binary log has no other.
func (p *Pool) fold(name string) string {
	if p.config.FoldsNames {
		return strings.ToLower(name)
	}
	return name
}

// taken reports whether a name is that of a lease or a template. The caller holds p.mu.
func (p *Pool) taken(name string) bool {
	return p.leases.taken(name) || p.templates[name] != nil || p.builds[name] != nil
}

// exists reports whether the server has a database.
func exists(ctx context.Context, s *reset.Session, name string) (bool, error) {
	var n int
	err := dbconn.Ask(ctx, s.Conn, dbconn.Question{
		Text: "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = " + dbconn.Quote(name),
		Row:  func(rows *sql.Rows) error { return rows.Scan(&n) },
	})
	return n > 0, err
}

// suffixed is a name, made to be a dbconn.PlainName and to be granted, with something behind it.
func suffixed(name, suffix string) string {
	base := strings.Map(func(c rune) rune {
		if dbconn.PlainName(string(c)) {
			return c
		}
		return '_'
	}, name)
	for base != "" && !grantable(base+suffix) {
		base = base[:len(base)-1]
	}
	return base + suffix
}

// grantable reports whether rights on a database of that name, and on no other, can be given to
// an account: _ stands for any character where that is done, and takes two to be meant.
func grantable(name string) bool { return len(dbconn.GrantPattern(name)) <= dbconn.MaxName }

// remove removes the account and the database of a lease.
func (p *Pool) remove(ctx context.Context, s *reset.Session, l *lease) error {
	if err := p.revoke(ctx, s, l); err != nil {
		p.journal.Forget(l.Name)
		return err
	}
	return p.erase(ctx, s, l)
}

// eraseTries is how often a database is removed that the lock of an unknown connection keeps: MariaDB's event
// scheduler has its own table locked while it begins an event.
const eraseTries = 3

// erase removes the database of a lease whose account was revoked.
func (p *Pool) erase(ctx context.Context, s *reset.Session, l *lease) error {
	var err error
	for range eraseTries {
		err = p.unlocked(ctx, s, l, func() error {
			return p.engine.Drop(ctx, s, &reset.Database{Name: l.Name, User: l.Login.User})
		})
		if !errors.Is(err, reset.ErrLocked) {
			break
		}
	}
	p.journal.Forget(l.Name)
	return err
}

// revoke removes the account of a lease, and ends its connections.
func (p *Pool) revoke(ctx context.Context, s *reset.Session, l *lease) error {
	// In this order: no connection logs in again in between.
	err := p.unlocked(ctx, s, l, func() error {
		_, err := s.Conn.ExecContext(ctx, p.config.Server.Dialect().EndLeaseSQL(l.Login))
		return err
	})
	if err == nil {
		err = p.engine.RollBackPrepared(ctx, s, &reset.Database{Name: l.Name, User: l.Login.User})
	}
	if err != nil {
		return err
	}
	return s.End(ctx, l.Login.User)
}

// unlocked calls f, which works on the database of a lease, and ends whatever holds locks on it
// meanwhile.
func (p *Pool) unlocked(ctx context.Context, s *reset.Session, l *lease, f func() error) error {
	d := &reset.Database{Name: l.Name, User: l.Login.User, Shape: l.database.Shape}
	warnings, err := p.engine.Unlocked(ctx, s, d, f)
	for _, text := range warnings {
		p.config.Log.Warn(text, "database", l.Name)
	}
	return err
}

// find returns a lease, locked, once no other request works on it.
func (p *Pool) find(name string) (*lease, error) {
	name = p.fold(name)
	if l := p.leases.find(name); l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("database %s: %w\nhint: ramaria db ls lists the clones of templates; ramaria db new TEMPLATE makes one", name, ErrNotFound)
}
