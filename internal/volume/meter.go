package volume

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// Fastest is what all that write to a volume can write to it together, in bytes a second.
	Fastest = 2 << 30
	// walkShare bounds what the walks cost that nothing but exact numbers asks for: one part in so
	// many of the time, and in RAM, where numbers follow without a walk, ramShare. They are exact again
	// after walkMost at the latest, and after walkLeast where walks cost next to nothing.
	walkShare, ramShare = 2000, 10000
	walkLeast, walkMost = time.Second, 5 * time.Minute
)

// Meter measures the room of a volume again and again. A volume that is a file system of its own
// tells by one system call. One that shares its file system, as shm and disk do, would have to be
// walked, which takes a millisecond for a thousand files; the Meter walks only when that can make a
// difference. Several goroutines may use it at once.
//
// The invariant: what it calls the worst is never better than what a walk would find, as long as no
// more than Fastest is written.
type Meter struct {
	volume Volume

	mu sync.Mutex
	// last is the last walk. Its zero value is none.
	last walk
}

// walk is what a walk has found.
type walk struct {
	used int64
	// fs is what the file system said before, at began.
	fs    sys.FS
	began time.Time
	took  time.Duration
}

// Reading is what a Meter reads.
type Reading struct {
	// Usage is exact after a walk. Otherwise Used is what the walk before has found, and in RAM by how
	// much the file system has filled since, which is exact unless others have files in it that change.
	Usage
	// Worst is the Usage with the most that can be used and the least that can be free.
	Worst Usage
}

// NewMeter returns a meter of a volume.
func NewMeter(v Volume) *Meter { return &Meter{volume: v} }

// Read measures the room. Where that takes a walk, it is taken if enough says that the reading without
// one is not good enough; nil takes any. Now and then it is taken all the same, so that numbers stay
// true.
func (m *Meter) Read(enough func(Reading) bool) (Reading, error) {
	d, walks := m.volume.(*directory)
	if !walks {
		u, err := m.volume.Usage()
		return Reading{u, u}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.read(d, time.Now(), enough)
	if err != nil {
		return Reading{}, fmt.Errorf("measure volume %s: %w", d.dir, err)
	}
	return r, nil
}

func (m *Meter) read(d *directory, now time.Time, enough func(Reading) bool) (Reading, error) {
	fsys, err := sys.Statfs(d.dir)
	if err != nil {
		return Reading{}, err
	}
	if !m.last.began.IsZero() {
		rest, err := d.usage(0, fsys)
		if err != nil {
			return Reading{}, err
		}
		used, most := m.last.estimate(fsys, now, traits[d.kind].ram)
		r := Reading{d.with(rest, used), d.with(rest, most)}
		if m.last.lasts(fsys, now, traits[d.kind].ram) && (used == most || enough == nil || enough(r)) {
			return r, nil
		}
	}
	used, err := sys.DiskUsage(d.dir)
	if err != nil {
		return Reading{}, err
	}
	m.last = walk{used, fsys, now, time.Since(now)}
	// It may have filled meanwhile.
	if fsys, err = sys.Statfs(d.dir); err != nil {
		return Reading{}, err
	}
	u, err := d.usage(used, fsys)
	return Reading{u, u}, err
}

// estimate is what is used now, and the most that it can be. In RAM the files of the volume are a part
// of what is in the file system; elsewhere they may take more than their blocks, which clones share.
func (w walk) estimate(now sys.FS, at time.Time, ram bool) (used, most int64) {
	used, most = w.used, w.used+int64(Fastest*at.Sub(w.began).Seconds())
	if ram && now.Size != math.MaxInt64 {
		all := now.Size - now.Free
		used = min(max(0, used+all-(w.fs.Size-w.fs.Free)), all)
		most = max(used, min(most, all))
	}
	return used, most
}

// lasts reports whether a walk need not be taken again for its age.
func (w walk) lasts(now sys.FS, at time.Time, ram bool) bool {
	most := walkMost
	switch {
	case w.same(now):
	case ram:
		most = min(max(walkLeast, ramShare*w.took), most)
	default:
		most = min(max(walkLeast, walkShare*w.took), most)
	}
	return at.Sub(w.began) < most
}

// same reports whether a file system has the same files as at the walk, as far as it tells.
func (w walk) same(now sys.FS) bool {
	return now.Size-now.Free == w.fs.Size-w.fs.Free && now.FreeInodes == w.fs.FreeInodes
}
