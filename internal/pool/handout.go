package pool

import (
	"context"
	"slices"
	"time"
)

// wait has mine get a clone of a template, made ahead or made next, behind all who wait already. It
// returns the supply, which get takes.
func (s *spares) wait(name string, mine chan clone) *supply {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.of[name]
	if t == nil {
		mine <- clone{err: noTemplate(name)}
		return nil
	}
	t.used = time.Now()
	t.waiting = append(t.waiting, mine)
	s.deal(t)
	return t
}

// get waits for the clone that comes by wait. One that its request does not wait for is a spare one
// again.
func (s *spares) get(ctx context.Context, t *supply, mine chan clone) (*lease, error) {
	var err error
	select {
	case c := <-mine:
		return c.lease, c.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-s.life.Done():
		err = ErrClosed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case c := <-mine: // it came in the same moment
		if c.lease != nil {
			s.put(t, c.lease)
		}
	default:
		t.waiting = slices.DeleteFunc(t.waiting, func(w chan clone) bool { return w == mine })
	}
	return nil, err
}

// deal gives those who wait what is there, and has made what is missing. The caller holds s.mu.
func (s *spares) deal(t *supply) {
	if t.shape != nil && len(t.waiting) > 0 {
		if err := s.maker.certain(t.name); err != nil {
			t.refuse(err)
		}
	}
	for len(t.waiting) > 0 && len(t.ready) > 0 {
		l := t.ready[0]
		t.ready = t.ready[1:]
		if l.database.Shape != t.shape || s.maker.changed(l.Name) != "" {
			s.discard(l)
			continue
		}
		s.leases.assign(l)
		t.waiting[0] <- clone{lease: l}
		t.waiting = t.waiting[1:]
	}
	// One after the other while no request waits for more: they are then numbered as they are
	// handed out, and leave the rest of the machine to the tests.
	for s.missing(t, s.wanted(t)) > 0 && t.making < min(makers, max(1, len(t.waiting))) {
		s.work(t, func() (*lease, error) { return s.maker.makeSpare(t.name) })
	}
}

// missing is how many clones are to be made for there to be so many spare ones. The caller
// holds s.mu.
func (s *spares) missing(t *supply, spare int) int {
	if s.life.Err() != nil || t.ended {
		return 0
	}
	return len(t.waiting) + spare - len(t.ready) - t.making
}

// wanted is how many clones of a template there should be ahead of requests. The caller
// holds s.mu.
func (s *spares) wanted(t *supply) int {
	if !s.clonable(t) || time.Now().Before(t.rests) || s.isIdle(t) {
		return 0
	}
	return min(s.limits.Spare, s.fits(t, spareShare))
}

// clonable reports whether clones of a template can be made, and put back. The caller holds s.mu.
func (s *spares) clonable(t *supply) bool { return t.shape != nil && s.maker.changed(t.name) == "" }

// work makes a clone in the background. The caller holds s.mu.
func (s *spares) work(t *supply, job func() (*lease, error)) {
	t.making++
	s.run(func() {
		l, err := job()
		s.mu.Lock()
		defer s.mu.Unlock()
		t.making--
		t.rest(err)
		switch {
		case err == nil:
			s.put(t, l)
			return
		case len(t.waiting) > 0: // each has one made for it
			t.waiting[0] <- clone{err: err}
			t.waiting = t.waiting[1:]
		case s.life.Err() == nil:
			s.log.Warn("cannot make a clone ahead of time", "template", t.name, "error", err)
		}
		s.deal(t)
	})
}

// put makes a lease a spare one of a template. The caller holds s.mu.
func (s *spares) put(t *supply, l *lease) {
	s.leases.free(l)
	if t.ended {
		s.discard(l)
		t.refuse(noTemplate(t.name))
		return
	}
	t.ready = append(t.ready, l)
	s.deal(t)
}

// giveBack takes a lease that its request cannot have; asNew says that others can.
func (s *spares) giveBack(l *lease, asNew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.of[l.Template]; t != nil && asNew {
		s.put(t, l)
	} else {
		s.discard(l)
	}
}

// wants reports whether a clone that others have left is to be a spare one. The caller holds s.mu.
func (s *spares) wants(t *supply) bool {
	return s.clonable(t) && s.missing(t, min(reused*s.limits.Spare, s.fits(t, keepShare))) > 0
}

// reuse gives the database of a lease that has ended to others, if it is wanted: it returns
// the lease that it is now, which is to be put back by workOn, else nil.
func (s *spares) reuse(l *lease) *lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.of[l.Template]
	if !l.pooled || s.leases.isKept(l) || t == nil || l.database.Shape != t.shape || !s.wants(t) {
		return nil
	}
	next := newLease(l.Template, l.Name, true)
	next.database = l.database
	next.database.User = next.Login.User
	next.database.Asleep = true
	s.leases.replace(l, next)
	return next
}

// workOn puts back the database of a lease that its test has left.
func (s *spares) workOn(l *lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.of[l.Template]
	switch {
	case s.life.Err() != nil: // it is in the file, and removed by the next run
	case t == nil, !s.wants(t): // others may have come back meanwhile
		s.discard(l)
	default:
		s.work(t, func() (*lease, error) { return l, s.maker.restore(l) })
	}
}
