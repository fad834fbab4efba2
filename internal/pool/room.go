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

// setRoom says how many bytes may be written.
func (s *spares) setRoom(room int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room = room
}

// maintain removes clones that are idle, and keeps as many of the others as there is room for. Where
// the room is not known, the last measurement counts.
func (s *spares) maintain(now time.Time, room int64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trimIdle(now)
	if known {
		s.room = room
		s.trim()
		for _, t := range s.byUse() {
			s.deal(t)
		}
	}
}

// spares is how many spare clones of a template there are, with those that are being made and for
// which no request waits. The caller holds spares.mu.
func (t *supply) spares() int { return len(t.ready) + max(0, t.making-len(t.waiting)) }

// bytes is what the spare clones of all templates take. The caller holds s.mu.
func (s *spares) bytes() (bytes float64) {
	for _, t := range s.of {
		bytes += float64(t.spares()) * float64(t.size)
	}
	return bytes
}

// byUse returns the templates, the one first that was asked for last. The caller holds s.mu.
func (s *spares) byUse() []*supply {
	return slices.SortedFunc(maps.Values(s.of), func(a, b *supply) int { return b.used.Compare(a.used) })
}

// allowed is what the spare clones of all templates may take, in bytes: one part in so many of the
// room that there would be without them. The caller holds s.mu.
func (s *spares) allowed(share float64) float64 {
	return (float64(s.room) + s.bytes()) / share // more than there are numbers for, where room is not measured
}

// fits is how many spare clones of a template there may be for all to take no more than one part in
// so many of the room, those of others staying as they are. The caller holds s.mu.
func (s *spares) fits(t *supply, share float64) int {
	more := (s.allowed(share) - s.bytes()) / float64(max(1, t.size))
	return max(0, t.spares()+int(math.Floor(min(more, float64(s.limits.MaxDatabases)))))
}

// trim removes spare clones that take more than their part of the room, of the template first that
// no client has asked for the longest, unless others are being removed: how much room there is then is
// known only when they are gone. The caller holds s.mu.
func (s *spares) trim() {
	if len(s.unwanted) > 0 {
		return
	}
	excess := s.bytes() - s.allowed(keepShare)
	for _, t := range slices.Backward(s.byUse()) {
		for len(t.ready) > 0 && excess > 0 {
			s.discard(t.ready[0])
			t.ready = t.ready[1:]
			excess -= float64(t.size)
		}
	}
}
