package pool

import (
	"math"
	"time"
)

const (
	// spareShare is the part of the room, one in so many, that the spare clones of a template may
	// take; keepShare is what they may take before they go. It is the larger by far, since room is
	// never known to the byte, and clones would else be made and removed by turns.
	spareShare = 16
	keepShare  = 8
	// reused is how many times as many spare clones there may be as are made unasked, of
	// those that others have left: putting one back costs less than making one. Three, so that a
	// suite of two workers, which has a database more than workers, neither drops clones at its
	// end nor has others made beside its next run.
	reused = 3
	// firstRest is for how long none is made unasked after one that could not be made, and
	// longestRest how long that becomes, by doubling, while none can.
	firstRest   = time.Second
	longestRest = time.Minute
)

// tend ends leases whose time has run out, and has as many spare clones as there is room for.
func (p *Pool) tend() {
	room, known := p.measure()
	p.mu.Lock()
	if known {
		p.room = room
		p.thinAll()
		for _, t := range p.templates {
			p.deal(t)
		}
	}
	p.mu.Unlock()
	p.expire(time.Now())
}

// measure returns how much room there is, in bytes, if that can be known.
func (p *Pool) measure() (room int64, known bool) {
	if p.config.Room == nil {
		return math.MaxInt64, true
	}
	room, err := p.config.Room()
	return max(0, room), err == nil
}

// afford is how many spare clones of a template may take one part in so many of the room, within
// the limit. What spare clones take counts as room, those of other templates as well: whatever
// becomes of them changes nothing. The caller holds p.mu.
func (p *Pool) afford(t *tmpl, share float64) int {
	if t.shape == nil {
		return 0
	}
	room := float64(p.room) // more than there are numbers for, where nobody measures
	for _, other := range p.templates {
		room += float64(len(other.ready)) * float64(other.size)
	}
	return int(min(float64(p.limits.Spare), room/share/float64(max(1, t.size))))
}

// thinAll removes a spare clone of each template that has too many for the room, unless others are
// being removed: how much room there is then is known only when they are gone. The caller holds
// p.mu.
func (p *Pool) thinAll() {
	if len(p.unwanted) > 0 {
		return
	}
	for _, t := range p.templates {
		if len(t.ready) > reused*p.afford(t, keepShare) {
			p.discard(t.ready[0])
			t.ready = t.ready[1:]
		}
	}
}

// discard removes a lease that is nobody's, in the background. The caller holds p.mu.
func (p *Pool) discard(l *lease) {
	l.spare = true
	if p.life.Err() != nil {
		return // it is in the file, and removed by the next run
	}
	p.unwanted = append(p.unwanted, l)
	if len(p.unwanted) == 1 { // one after the other: sessions are for those who wait
		p.behind.Go(p.removeUnwanted)
	}
}

// removeUnwanted removes the leases that were discarded, until there is none.
func (p *Pool) removeUnwanted() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.unwanted) > 0 && p.life.Err() == nil {
		l := p.unwanted[0]
		p.mu.Unlock()
		l.mu.Lock()
		if err := p.drop(p.life, l, false); err != nil && p.life.Err() == nil {
			p.config.Log.Error("cannot remove a spare database", "database", l.Name, "error", err)
		}
		l.mu.Unlock()
		p.mu.Lock()
		p.unwanted = p.unwanted[1:]
	}
}

// rest has no clone made unasked for a while after an error, and as before after none.
func (t *tmpl) rest(err error) {
	if err == nil {
		t.pause, t.rests = 0, time.Time{}
		return
	}
	t.pause = min(max(firstRest, 2*t.pause), longestRest)
	t.rests = time.Now().Add(t.pause)
}
