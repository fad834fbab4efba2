package pool

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/template"
)

// makers is how many clones of a template are made at a time.
const makers = 2

// maker makes and removes the clones that spares ask for. makeSpare, restore and removeSpare are
// called in the background, without any lock; certain and changed with spares.mu, and return at once.
type maker interface {
	// makeSpare makes a clone of a template, with a name of its choice.
	makeSpare(template string) (*lease, error)
	// restore puts back the database of a lease that has it from another.
	restore(l *lease) error
	// removeSpare removes the database and the account of a spare lease.
	removeSpare(l *lease) error
	// certain returns an error if a template was changed for certain, and changed why a database may
	// have been, "" if it was not.
	certain(template string) error
	changed(database string) string
}

// spares has the clones that are made ahead of requests, and hands them out.
//
// The invariant: requests for a template are answered in the order in which they came, each with one
// clone or one error; no clone goes to two requests, and none that was touched, or that is of the
// template as it was before. While no request waits, no more clones are made than Limits.Spare, nor
// than fit into the room.
type spares struct {
	maker  maker
	leases *leases
	// run runs a function in the background, where life ends it.
	life context.Context
	run  func(func())
	log  *slog.Logger
	// idle is how long clones stay at least that are not asked for.
	idle time.Duration

	mu     sync.Mutex
	limits Limits
	of     map[string]*supply
	// room is how many bytes may be written, as of the last time that it could be measured, and
	// unwanted are the leases that are being removed.
	room     int64
	unwanted []*lease
}

// supply is what there is of one template, under spares.mu.
type supply struct {
	name string
	// shape is nil until it is asked for after a restart, and size then not known, in bytes.
	shape *template.Shape
	size  int64
	// rights is what the log had when shape.Definers were about to be read.
	rights reset.Rights
	// used is when a clone was asked for last, and took how long it took to make the last.
	used time.Time
	took time.Duration

	// ready are spare leases. waiting are the requests that want one, in the order in which they
	// came, and making is how many are being made.
	ready   []*lease
	waiting []chan clone
	making  int
	// None is made unasked before rests, which is pause after the last that could not be made.
	rests time.Time
	pause time.Duration
	// ended says that the template is one no more.
	ended bool
}

// clone is what a request that waits for a lease gets.
type clone struct {
	*lease
	err error
}

// add begins the supply of a template.
func (s *spares) add(t *supply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.ended = false
	s.of[t.name] = t
}

// end ends the supply of a template, unless a test has a clone of it, whose name it returns, or a
// request waits for one.
func (s *spares) end(t *supply) (clone string, waited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if clone, waited = s.leases.one(t.name), len(t.waiting) > 0; clone != "" || waited {
		return clone, waited
	}
	t.ended = true
	delete(s.of, t.name)
	return "", false
}

// find returns what there is of a template, nil if there is no such template, and its shape, nil if it
// is not known.
func (s *spares) find(name string) (*supply, *template.Shape) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.of[name]
	if t == nil {
		return nil, nil
	}
	return t, t.shape
}

// rights returns what the log had when the definers of a template were about to be read.
func (s *spares) rights(t *supply) reset.Rights {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.rights
}

// setShape says what a template is like from now on. Clones of another shape are handed out no more.
func (s *spares) setShape(t *supply, shape *template.Shape, size int64, rights reset.Rights) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.shape, t.size, t.rights = shape, size, rights
}

// renew is setShape of a template that is made again just now.
func (s *spares) renew(t *supply, shape *template.Shape, size int64, rights reset.Rights) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.shape, t.size, t.rights, t.used = shape, size, rights, time.Now()
	t.rest(nil)
}

// touch says that a template was asked for.
func (s *spares) touch(t *supply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.used = time.Now()
}

// supplyView is a supply at one moment.
type supplyView struct {
	shape *template.Shape
	size  int64
	used  time.Time
	ready int
	// busy says that a clone is being made, or waited for.
	busy bool
}

func (s *spares) view(t *supply) supplyView {
	s.mu.Lock()
	defer s.mu.Unlock()
	return supplyView{t.shape, t.size, t.used, len(t.ready), t.making+len(t.waiting) > 0}
}

// refuse makes all waiting requests fail.
func (s *spares) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.of {
		t.refuse(err)
	}
}

func (t *supply) refuse(err error) {
	for _, w := range t.waiting {
		w <- clone{err: err}
	}
	t.waiting = nil
}

// setLimits changes the limits, and returns those before. Clones over them stay until adjust.
func (s *spares) setLimits(l Limits) (old Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, s.limits = s.limits, l
	return old
}

// adjust makes what the limits allow, and removes what they have allowed no more since old.
func (s *spares) adjust(old Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.of {
		for s.limits.Spare < old.Spare && len(t.ready) > s.limits.Spare {
			s.discard(t.ready[0])
			t.ready = t.ready[1:]
		}
		s.deal(t)
	}
}

// clear removes all spare clones of a template.
func (s *spares) clear(t *supply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.empty(t)
}

// fill has made what is missing of a template.
func (s *spares) fill(t *supply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deal(t)
}

// empty removes all spare clones of a template. The caller holds s.mu.
func (s *spares) empty(t *supply) {
	for _, l := range t.ready {
		s.discard(l)
	}
	t.ready = nil
}

// discard removes a lease that no test holds, in the background. The caller holds s.mu.
func (s *spares) discard(l *lease) {
	s.leases.free(l)
	if s.life.Err() != nil {
		return // it is in the file, and removed by the next run
	}
	s.unwanted = append(s.unwanted, l)
	if len(s.unwanted) == 1 { // one after the other: sessions are for those who wait
		s.run(s.removeUnwanted)
	}
}

// removeUnwanted removes the leases that were discarded, until none is left.
func (s *spares) removeUnwanted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.unwanted) > 0 && s.life.Err() == nil {
		l := s.unwanted[0]
		s.mu.Unlock()
		if err := s.maker.removeSpare(l); err != nil && s.life.Err() == nil {
			s.log.Error("cannot remove a spare database", "database", l.Name, "error", err)
		}
		s.mu.Lock()
		s.unwanted = s.unwanted[1:]
	}
}

// rest has no clone made unasked for a while after an error, and as before after none.
func (t *supply) rest(err error) {
	if err == nil {
		t.pause, t.rests = 0, time.Time{}
		return
	}
	t.pause = min(max(firstRest, 2*t.pause), longestRest)
	t.rests = time.Now().Add(t.pause)
}
