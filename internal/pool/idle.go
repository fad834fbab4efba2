package pool

import "time"

// DefaultIdle is for how long at least spare clones stay that are not asked for: each makes
// information_schema slower for everybody who asks it about all databases, as many frameworks do.
const DefaultIdle = 10 * time.Second

// worth is for how many times as long as it takes to make one they stay beyond that: 5 s for a clone
// made in 10 ms, an hour for one made in 7 s.
const worth = 500

// made notes how long it took to make a clone.
func (p *Pool) made(from string, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.templates[from]; t != nil {
		t.took = took
	}
}

// idle reports whether no client has had or asked for a clone of a template for so long that spare ones
// are not worth what they cost others. The caller holds p.mu.
func (p *Pool) idle(t *tmpl) bool {
	return !p.inUse(t) && time.Since(t.used) > p.config.Idle+worth*t.took
}

// inUse reports whether a client has a clone of a template, or waits for one. Those that are kept are
// out of the pool. The caller holds p.mu.
func (p *Pool) inUse(t *tmpl) bool {
	for _, l := range p.leases {
		if l.Template == t.name && !l.spare && !l.kept {
			return true
		}
	}
	return len(t.waiting) > 0
}

// trimIdle removes the spare clones of templates that are idle. The caller holds p.mu.
func (p *Pool) trimIdle(now time.Time) {
	for _, t := range p.templates {
		switch {
		case p.inUse(t):
			t.used = now
		case p.idle(t):
			for _, l := range t.ready {
				p.discard(l)
			}
			t.ready = nil
		}
	}
}
