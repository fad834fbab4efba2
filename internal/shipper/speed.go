package shipper

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

const (
	// lastAppends is how many appends the speed of a disk is measured by: by the slowest of them, one in slowShare. A disk
	// that others write to as well is slow from time to time.
	lastAppends = 32
	slowShare   = 4
	// saysRate is how large an append must be, in bytes, to say how many a disk takes in a second. Smaller ones say how
	// long it takes for anything.
	saysRate = 64 << 10
	// guessedRate is how many bytes a second a disk is expected to take before that was measured: so few that a slow one
	// does, too. The first large appends say more within milliseconds.
	guessedRate = 1 << 20
)

// speed is how fast a disk has been lately.
type speed struct {
	mu           sync.Mutex // guards what follows
	large, small lately
}

// lately has the last appends of a kind.
type lately struct {
	last [lastAppends]written
	n    int // of all that there were
}

// written is one append.
type written struct {
	bytes int
	took  time.Duration
}

// pace is how long it took for a byte, in seconds.
func (w written) pace() float64 { return w.took.Seconds() / float64(w.bytes) }

// note notes an append, and how long it took.
func (s *speed) note(bytes int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.small
	if bytes >= saysRate {
		l = &s.large
	}
	l.last[l.n%lastAppends] = written{bytes, max(took, time.Microsecond)}
	l.n++
}

// slowest are the slowest of the last appends, none before the first.
func (l *lately) slowest() []written {
	list := slices.Clone(l.last[:min(l.n, lastAppends)])
	slices.SortFunc(list, func(a, b written) int { return cmp.Compare(b.pace(), a.pace()) })
	return list[:(len(list)+slowShare-1)/slowShare]
}

// sum is what appends were together.
func sum(list []written) (all written) {
	for _, w := range list {
		all.bytes += w.bytes
		all.took += w.took
	}
	return all
}

// rate is how many bytes a second the disk takes; 0 if that was not measured yet.
func (s *speed) rate() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.large.n == 0 {
		return 0
	}
	return 1 / sum(s.large.slowest()).pace()
}

// takes is how many bytes the disk takes within a time: none where that is shorter than one append takes.
func (s *speed) takes(within time.Duration) int64 {
	rate := s.rate()
	if rate == 0 {
		rate = guessedRate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := min(s.small.n, lastAppends); n > 0 {
		within -= sum(s.small.last[:n]).took / time.Duration(n)
	}
	return int64(rate * max(0, within).Seconds())
}
