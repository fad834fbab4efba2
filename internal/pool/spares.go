package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/template"
)

// Limits bound a Pool.
type Limits struct {
	// MaxDatabases is how many leases there may be at a time. Those that are kept do not
	// count, nor do spare ones.
	MaxDatabases int `json:"max_databases"`
	// Spare is how many clones of each template are made ahead of requests, if there is
	// room for them.
	Spare int `json:"spare"`
}

// DefaultLimits are those of a new instance.
var DefaultLimits = Limits{MaxDatabases: 64, Spare: 2}

// makers is how many clones of a template are made at a time.
const makers = 2

// tmpl is a template, and what there is of it ahead of requests. It is under Pool.mu.
type tmpl struct {
	name string
	// shape is nil until it is asked for after a restart, and size then not known, in bytes.
	shape *template.Shape
	size  int64
	made  time.Time
	// family and key are what it was asked for by, "" for one that was not; used is when.
	family, key string
	used        time.Time
	// took is how long it took to make the last clone.
	took time.Duration

	// ready are leases that are not handed out. waiting are those who want one, in the order in
	// which they came, and making is how many are being made.
	ready   []*lease
	waiting []chan clone
	making  int
	// None is made unasked before rests, which is pause after the last that could not be made.
	rests time.Time
	pause time.Duration
}

// clone is what a request that waits for a lease gets.
type clone struct {
	*lease
	err error
}

// refuse has all who wait get an error.
func (t *tmpl) refuse(err error) {
	for _, w := range t.waiting {
		w <- clone{err: err}
	}
	t.waiting = nil
}

// Limits returns the limits.
func (p *Pool) Limits() Limits {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limits
}

// SetLimits changes the limits. Leases that are over them stay.
func (p *Pool) SetLimits(l Limits) error {
	if l.MaxDatabases < 1 || l.Spare < 0 {
		return fmt.Errorf("change the limits of the pool: %w: max_databases must be at least 1, and spare at least 0", ErrInvalid)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.limits
	p.limits = l
	if err := p.save(); err != nil {
		p.limits = old
		return err
	}
	p.grant()
	for _, t := range p.templates {
		for l.Spare < old.Spare && len(t.ready) > l.Spare {
			p.discard(t.ready[0])
			t.ready = t.ready[1:]
		}
		p.deal(t)
	}
	return nil
}

// ticket is a request's place in the queue: when it is their turn then is called, if it is
// not nil, under Pool.mu, and turn closed.
type ticket struct {
	turn chan struct{}
	then func()
}

// enter waits until the caller may have a lease; leave ends that. The caller holds p.mu,
// which is let go meanwhile.
func (p *Pool) enter(ctx context.Context, wait time.Duration, then func()) error {
	t := &ticket{make(chan struct{}), then}
	p.queue = append(p.queue, t)
	p.grant()
	p.mu.Unlock()
	defer p.mu.Lock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var err error
	select {
	case <-t.turn:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-p.life.Done():
		err = ErrClosed
	case <-timer.C:
		err = ErrFull
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.queue, t)
	if i < 0 { // its turn came in the same moment
		return nil
	}
	p.queue = slices.Delete(p.queue, i, i+1)
	if errors.Is(err, ErrFull) {
		err = fmt.Errorf("%w: all %d databases of max_databases were in use for %s\nhint: ramaria db drop NAME releases one that ramaria db ls shows; ramaria db pool --max-databases %d allows more",
			err, p.limits.MaxDatabases, wait, 2*p.limits.MaxDatabases)
	}
	return err
}

// leave makes room for the next. The caller holds p.mu.
func (p *Pool) leave() {
	p.used--
	p.grant()
}

// grant lets those go on who waited longest. The caller holds p.mu.
func (p *Pool) grant() {
	for p.life.Err() == nil && len(p.queue) > 0 && p.used < p.limits.MaxDatabases {
		t := p.queue[0]
		p.queue = p.queue[1:]
		p.used++
		if t.then != nil {
			t.then()
		}
		close(t.turn)
	}
}

// take returns a clone that was made ahead of time, or the next one that is made: those
// who wait get them in the order in which they came.
func (p *Pool) take(ctx context.Context, name string, wait time.Duration) (*lease, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.start(); err != nil {
		return nil, err
	}
	if p.templates[name] == nil {
		return nil, noTemplate(name)
	}
	var t *tmpl
	mine := make(chan clone, 1)
	// Whose turn it is waits for a clone from that moment on, so that no request comes first that
	// came later.
	err := p.enter(ctx, wait, func() {
		if t = p.templates[name]; t == nil {
			mine <- clone{err: noTemplate(name)}
			return
		}
		t.used = time.Now()
		t.waiting = append(t.waiting, mine)
		p.deal(t)
	})
	if err != nil {
		return nil, err
	}
	l, err := p.get(ctx, t, mine)
	if err != nil {
		p.leave()
	}
	return l, err
}

// get waits for a clone. The caller holds p.mu, which is let go meanwhile.
func (p *Pool) get(ctx context.Context, t *tmpl, mine chan clone) (*lease, error) {
	p.mu.Unlock()
	var err error
	select {
	case c := <-mine:
		p.mu.Lock()
		return c.lease, c.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-p.life.Done():
		err = ErrClosed
	}
	p.mu.Lock()
	select {
	case c := <-mine: // it came in the same moment
		if c.lease != nil {
			p.addSpare(t, c.lease)
		}
	default:
		t.waiting = slices.DeleteFunc(t.waiting, func(w chan clone) bool { return w == mine })
	}
	return nil, err
}

// deal gives those who wait what is there, and has made what is missing. The caller holds
// p.mu.
func (p *Pool) deal(t *tmpl) {
	if t.shape != nil && len(t.waiting) > 0 {
		if err := p.engine.Certain(t.name); err != nil {
			t.refuse(err)
		}
	}
	for len(t.waiting) > 0 && len(t.ready) > 0 {
		l := t.ready[0]
		t.ready = t.ready[1:]
		if l.database.Shape != t.shape || p.journal.Changed(l.Name) != "" {
			p.discard(l)
			continue
		}
		l.spare = false
		t.waiting[0] <- clone{lease: l}
		t.waiting = t.waiting[1:]
	}
	// One after the other while no request waits for more: they are then numbered as they are
	// handed out, and leave the rest of the machine to the tests.
	for p.missing(t, p.spare(t)) > 0 && t.making < min(makers, max(1, len(t.waiting))) {
		p.work(t, func() (*lease, error) { return p.make(p.life, t.name, "") })
	}
}

// missing is how many clones are to be made for there to be so many spare ones. The caller
// holds p.mu.
func (p *Pool) missing(t *tmpl, spare int) int {
	if p.life.Err() != nil || p.templates[t.name] != t {
		return 0
	}
	return len(t.waiting) + spare - len(t.ready) - t.making
}

// spare is how many clones of a template there should be ahead of requests. The caller
// holds p.mu.
func (p *Pool) spare(t *tmpl) int {
	if !p.clonable(t) || time.Now().Before(t.rests) || p.idle(t) {
		return 0
	}
	return min(p.limits.Spare, p.fits(t, spareShare))
}

// clonable reports whether clones of a template can be made, and put back. The caller holds p.mu.
func (p *Pool) clonable(t *tmpl) bool { return t.shape != nil && p.journal.Changed(t.name) == "" }

// work has a clone made in the background. The caller holds p.mu.
func (p *Pool) work(t *tmpl, job func() (*lease, error)) {
	t.making++
	p.behind.Go(func() {
		l, err := job()
		p.mu.Lock()
		defer p.mu.Unlock()
		t.making--
		t.rest(err)
		switch {
		case err == nil:
			p.addSpare(t, l)
			return
		case len(t.waiting) > 0: // each has one made for it
			t.waiting[0] <- clone{err: err}
			t.waiting = t.waiting[1:]
		case p.life.Err() == nil:
			p.config.Log.Warn("cannot make a clone ahead of time", "template", t.name, "error", err)
		}
		p.deal(t)
	})
}

// addSpare puts a lease among those that are not handed out. The caller holds p.mu.
func (p *Pool) addSpare(t *tmpl, l *lease) {
	l.spare = true
	if p.templates[t.name] != t {
		p.discard(l)
		t.refuse(noTemplate(t.name))
		return
	}
	t.ready = append(t.ready, l)
	p.deal(t)
}

// wants reports whether a clone that others have left is to be a spare one. The caller holds
// p.mu.
func (p *Pool) wants(t *tmpl) bool {
	return p.clonable(t) && p.missing(t, min(reused*p.limits.Spare, p.fits(t, keepShare))) > 0
}

// reuse gives the database of a lease that has ended to others, if it is wanted: it returns
// the lease that it is now, which is to be put back by workOn, else nil.
func (p *Pool) reuse(l *lease) *lease {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.templates[l.Template]
	if !l.pooled || l.kept || t == nil || l.database.Shape != t.shape || !p.wants(t) {
		return nil
	}
	next := newLease(l.Template, l.Name, true)
	next.database = l.database
	next.database.User = next.Login.User
	next.database.Asleep = true
	p.leases[l.Name] = next
	return next
}

// workOn has the database of a lease put back that another has left. The caller holds p.mu.
func (p *Pool) workOn(l *lease) {
	t := p.templates[l.Template]
	switch {
	case p.life.Err() != nil: // it is in the file, and removed by the next run
	case t == nil, !p.wants(t): // others may have come back meanwhile
		l.ready = true
		p.discard(l)
	default:
		p.work(t, func() (*lease, error) { return l, p.putBack(l) })
	}
}

// putBack makes a lease of the database that another has left.
func (p *Pool) putBack(l *lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, done, err := p.session(p.life)
	if err != nil {
		return err
	}
	err = p.provision(p.life, s, l, func() error {
		_, err := p.engine.Reset(p.life, s, &l.database, reset.RestoreCounters)
		return err
	})
	done(err)
	return err
}
