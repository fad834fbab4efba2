package pool

import "time"

// DefaultIdle is the least time that unused spare clones stay. Each of them slows down
// questions to information_schema about all databases, as many frameworks ask.
const DefaultIdle = 10 * time.Second

// worth is for how many times as long as it takes to make one they stay beyond that: 5 s for a clone
// made in 10 ms, an hour for one made in 7 s.
const worth = 500

// made notes how long it took to make a clone.
func (s *spares) made(from string, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.of[from]; t != nil {
		t.took = took
	}
}

// isIdle reports whether no client has had or asked for a clone of a template for so long that spare ones
// are not worth what they cost others. The caller holds s.mu.
func (s *spares) isIdle(t *supply) bool {
	return !s.inUse(t) && time.Since(t.used) > s.idle+worth*t.took
}

// inUse reports whether a client has a clone of a template, or waits for one. The caller holds s.mu.
func (s *spares) inUse(t *supply) bool { return s.leases.inUse(t.name) || len(t.waiting) > 0 }

// trimIdle removes the spare clones of templates that are idle. The caller holds s.mu.
func (s *spares) trimIdle(now time.Time) {
	for _, t := range s.of {
		switch {
		case s.inUse(t):
			t.used = now
		case s.isIdle(t):
			s.empty(t)
		}
	}
}
