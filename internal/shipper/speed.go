package shipper

import (
	"sync"
	"time"
)

const (
	// lastAppends is how many appends the speed of a disk is measured by.
	lastAppends = 8
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
	last [lastAppends]struct {
		bytes int
		took  time.Duration
	}
	n int // of all that there were
}

// note notes an append, and how long it took.
func (s *speed) note(bytes int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.small
	if bytes >= saysRate {
		l = &s.large
	}
	at := &l.last[l.n%lastAppends]
	at.bytes, at.took = bytes, max(took, time.Microsecond)
	l.n++
}

// sum is what the last appends were together.
func (l *lately) sum() (bytes int, took time.Duration) {
	for _, a := range l.last {
		bytes += a.bytes
		took += a.took
	}
	return bytes, took
}

// rate is how many bytes a second the disk takes; 0 if that was not measured yet.
func (s *speed) rate() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.large.n == 0 {
		return 0
	}
	bytes, took := s.large.sum()
	return float64(bytes) / took.Seconds()
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
		_, took := s.small.sum()
		within -= took / time.Duration(n)
	}
	return int64(rate * max(0, within).Seconds())
}
