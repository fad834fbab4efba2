package durable

import (
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// Policy says when bases are made, and how long what they lead to is kept.
type Policy struct {
	// RecoverWithin is how long recovery may take, and History how far back the instance can be
	// restored; 0 is the default.
	RecoverWithin, History time.Duration
	// Replays is how many bytes of the log the server's applier is expected to apply in a second, where nothing else is
	// known of that.
	Replays float64
	// Short says to keep no more than recovery needs, since the archive lacks room.
	Short bool
}

// Defaults of a Policy.
const (
	DefaultRecoverWithin = 30 * time.Second
	DefaultHistory       = 7 * 24 * time.Hour
)

const (
	// restores is how many bytes a second of a base's files are expected to be restored, until that was
	// measured.
	restores = 300 << 20
	// overhead is what a recovery takes beyond that: starts of servers.
	overhead = 1500 * time.Millisecond
	// LeastLog is how much log there must be, in bytes, that a base is made to have room in its place.
	LeastLog = 16 << 20
	// leastWork is how long a replay must take for another base: with less nothing is won.
	leastWork = 2 * time.Second
	// dueShare is the part of the time for recovery at which a base is begun, since the log grows while
	// it is made.
	dueShare = 0.7
	// earlyShare is how much work there must be for that to be earlier still, as a multiple of what came while the
	// last base was made: a third of the time at least no base is in the making.
	earlyShare = 1.5
	// inTime is the part of the time for recovery at which a base is to be there.
	inTime = 0.9
)

// Recovery is how long it would take to recover from a base with so much work behind it (archive.Extent).
func (p Policy) Recovery(m *archive.Manifest, b archive.Base, since time.Duration) time.Duration {
	return overhead + p.restore(m, b) + p.replay(m, since)
}

func (p Policy) restore(m *archive.Manifest, b archive.Base) time.Duration {
	rate := float64(restores)
	if m.RestoreRate > 0 {
		rate = m.RestoreRate
	}
	return seconds(float64(b.Size) / rate)
}

func (p Policy) replay(m *archive.Manifest, since time.Duration) time.Duration {
	if m.ReplayScale > 0 {
		return seconds(since.Seconds() * m.ReplayScale)
	}
	return since
}

// unread is the work of a log of which only its bytes are known.
func (p Policy) unread(bytes int64) time.Duration {
	if p.Replays <= 0 {
		return 0
	}
	return seconds(float64(bytes) / p.Replays)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// within is RecoverWithin, or its default.
func (p Policy) within() time.Duration {
	if p.RecoverWithin > 0 {
		return p.RecoverWithin
	}
	return DefaultRecoverWithin
}

// history is History, or its default.
func (p Policy) history() time.Duration {
	if p.History > 0 {
		return p.History
	}
	return DefaultHistory
}

// Due reports whether a base is to be made, with so much work behind the last one. meanwhile is how much came
// while that was made, 0 if that is not known: a base is begun early enough to be there in time, unless the time
// is so short that nothing would be done but making bases.
func (p Policy) Due(m *archive.Manifest, b archive.Base, since, meanwhile time.Duration) bool {
	if p.replay(m, since) < leastWork {
		return false
	}
	// Restoring takes its time whatever is done; the least of replays does, too.
	left := max(p.within()-overhead-p.restore(m, b), leastWork)
	if float64(p.replay(m, since)) >= dueShare*float64(left) {
		return true
	}
	return float64(since) >= earlyShare*float64(meanwhile) && float64(p.replay(m, since+meanwhile)) >= inTime*float64(left)
}

const (
	// allFor is for how long every base is kept; beyond that one an hour for a day, then one a day.
	// The log leads from each to any later moment, so that fewer of them cost time, and no history.
	allFor    = time.Hour
	hourlyFor = 24 * time.Hour
)

// Keep returns the bases that are kept: the newest, the one that the history begins with, those after
// that which are not thinned out, those that an epoch begins with, those with statements that the log may not
// repeat, and those that were made after a breach: to what comes then, the log from before leads through what it
// lacks, such as a plugin, or has otherwise. A directory outside of the archive is kept only while there is no other.
func (p Policy) Keep(m *archive.Manifest, now time.Time) []archive.Base {
	if p.Short {
		b, _, err := m.Newest()
		if err != nil {
			return m.Bases
		}
		return []archive.Base{b}
	}
	first := 0 // the last base that is no younger than the history
	for i, b := range m.Bases {
		if !b.Time.After(now.Add(-p.history())) || i > 0 && m.Bases[i-1].Dir != "" { // that is there until there is another
			first = i
		}
	}
	var kept []archive.Base
	var slot time.Time // of the last one that was kept
	for i, b := range m.Bases[min(first, len(m.Bases)):] {
		s := slotOf(b.Time, now)
		if i == 0 || first+i == len(m.Bases)-1 || !s.Equal(slot) || begins(m, b) || b.Fences > 0 || mends(m, b) {
			kept = append(kept, b)
			slot = s
		}
	}
	return kept
}

// slotOf is the time of which one base is kept.
func slotOf(t, now time.Time) time.Time {
	switch age := now.Sub(t); {
	case age <= allFor:
		return t
	case age <= hourlyFor:
		return t.Truncate(time.Hour)
	}
	return t.Truncate(24 * time.Hour)
}

// begins reports whether an epoch begins with a base.
func begins(m *archive.Manifest, b archive.Base) bool {
	return slices.ContainsFunc(m.Epochs, func(e archive.Epoch) bool { return e.Base == b.ID })
}

// mends reports whether a base was made after a breach.
func mends(m *archive.Manifest, b archive.Base) bool {
	return slices.ContainsFunc(m.Breaches, func(br archive.Breach) bool { return br.Base == b.ID })
}
