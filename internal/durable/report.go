package durable

import (
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/shipper"
)

// Report is how an archive stands.
type Report struct {
	// Position is up to where the log is archived, and Bytes how many that are in the epoch that goes on.
	Position string
	Bytes    int64
	// Newest is the base that recovery would begin with, and Since how many bytes of the log come after it.
	Newest archive.Base
	Since  int64
	Bases  int
	// Recovery is how long it would take, Within how long it may; DataAlone says that it would take
	// longer than that without any log.
	Recovery, Within time.Duration
	DataAlone        bool
	// Verified is when what the archive gives was last compared; zero if never.
	Verified time.Time
	Breaches []archive.Breach
	// Breached is how many breaches there were since the instance started.
	Breached int
	// RoomForBase says that there is room for another base.
	RoomForBase bool
}

// Slow reports whether a recovery would take longer than it may.
func (r Report) Slow() bool { return r.Recovery > r.Within }

// Report says how the archive stands; its file system has size bytes, and room for so many.
func (k *Keeper) Report(room, size int64) Report {
	k.manifest.Lock()
	defer k.manifest.Unlock()
	m := k.Archive.Manifest
	b, since, ok := k.newest()
	r := Report{
		Bytes: k.log.Total(), Newest: b, Since: since, Bases: len(m.Bases), Within: k.Policy.within(), Breaches: m.Breaches, RoomForBase: RoomForBase(m, room, size),
	}
	if last := m.Last(); last != nil {
		r.Position = FormatPosition(last.Number, k.ship.Shipped())
	}
	if ok {
		r.Recovery, r.DataAlone = k.Policy.Recovery(m, b, k.work()), k.Policy.Recovery(m, b, 0) > k.Policy.within()
	}
	if m.Verified != nil {
		r.Verified = m.Verified.Time
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	r.Breached = k.breached
	return r
}

// Lag is how many bytes of the log are not archived, and how long at most the oldest of them has waited.
func (k *Keeper) Lag() (bytes int64, waited time.Duration, err error) {
	k.mu.Lock()
	ship := k.ship
	k.mu.Unlock()
	return ship.Lag()
}

// Pace says whether commits are slowed by the archive's disk, with an interval.
func (k *Keeper) Pace() shipper.Pace {
	k.mu.Lock()
	ship := k.ship
	k.mu.Unlock()
	return ship.Pace()
}

// SetPolicy has bases made and kept by another policy from now on.
func (k *Keeper) SetPolicy(p Policy) {
	k.manifest.Lock()
	defer k.manifest.Unlock()
	k.Policy = p
}
