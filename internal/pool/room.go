package pool

import (
	"maps"
	"math"
	"slices"
	"time"
)

const (
	// spareShare is the part of the room, one in so many, that spare clones may take for another to be
	// made, and keepShare what they may take before some go. It is the larger by far, since room is
	// never known to the byte, and clones would else be made and removed by turns.
	spareShare = 8
	keepShare  = 4
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

// maintain compares templates that may have changed, ends leases whose time has run out, and keeps
// as many spare clones as there is room for. Where the room cannot be measured, the last measurement
// counts.
func (p *Pool) maintain() {
	p.verify()
	room, known := p.measure()
	p.mu.Lock()
	p.trimIdle(time.Now())
	if known {
		p.room = room
		p.trim()
		for _, t := range p.byUse() {
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

// spares is how many spare clones of a template there are, with those that are being made and for
// which no request waits. The caller holds p.mu.
func (t *tmpl) spares() int { return len(t.ready) + max(0, t.making-len(t.waiting)) }

// spareBytes is what the spare clones of all templates take, in bytes. The caller holds p.mu.
func (p *Pool) spareBytes() (bytes float64) {
	for _, t := range p.templates {
		bytes += float64(t.spares()) * float64(t.size)
	}
	return bytes
}

// byUse returns the templates, the one first that was asked for last. The caller holds p.mu.
func (p *Pool) byUse() []*tmpl {
	return slices.SortedFunc(maps.Values(p.templates), func(a, b *tmpl) int { return b.used.Compare(a.used) })
}

// allowed is what the spare clones of all templates may take, in bytes: one part in so many of the
// room that there would be without them. The caller holds p.mu.
func (p *Pool) allowed(share float64) float64 {
	return (float64(p.room) + p.spareBytes()) / share // more than there are numbers for, where room is not measured
}

// fits is how many spare clones of a template there may be for all to take no more than one part in
// so many of the room, those of others staying as they are. The caller holds p.mu.
func (p *Pool) fits(t *tmpl, share float64) int {
	more := (p.allowed(share) - p.spareBytes()) / float64(max(1, t.size))
	return max(0, t.spares()+int(math.Floor(min(more, float64(p.limits.MaxDatabases)))))
}

// trim removes spare clones that take more than their part of the room, of the template first that
// no client has asked for the longest, unless others are being removed: how much room there is then is
// known only when they are gone. The caller holds p.mu.
func (p *Pool) trim() {
	if len(p.unwanted) > 0 {
		return
	}
	excess := p.spareBytes() - p.allowed(keepShare)
	for _, t := range slices.Backward(p.byUse()) {
		for len(t.ready) > 0 && excess > 0 {
			p.discard(t.ready[0])
			t.ready = t.ready[1:]
			excess -= float64(t.size)
		}
	}
}

// discard removes a lease that is not handed out, in the background. The caller holds p.mu.
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
