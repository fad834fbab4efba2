package scenario

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

const (
	// MaxThreads is the most threads of a load.
	MaxThreads = 1024
	// MaxScale is the largest scale.
	MaxScale = 1000
	// spareBytes is what the machine is left with in memory: commands of the bench run there.
	spareBytes = 256 << 20
)

// Begin makes sure that there is room for a scenario when it begins. Images that those before have
// left go first: each counted its room for itself, and finds the lab as if it were the only one.
func (l *Lab) Begin(ctx context.Context, s bench.Scenario) error {
	if _, err := l.Run(ctx, "image", "rm", "--all"); err != nil {
		return fmt.Errorf("begin scenario %s: %w", s.Name, err)
	}
	return l.Room(s)
}

// Room returns an error if there is not enough of the disk, of memory or of shared memory for a
// scenario.
func (l *Lab) Room(s bench.Scenario) error {
	scalable := slices.ContainsFunc(Kinds, func(k Kind) bool { return k.Name == s.Name && k.Takes(FlagScale) })
	fs, err := sys.Statfs(l.Dir)
	if err != nil {
		return err
	}
	if fs.Avail < s.Disk {
		hint := "--disk DIR on another disk"
		if scalable {
			hint += ", or --scale 0.1"
		}
		return fmt.Errorf("run scenario %s: %s has %s free, and it takes up to %s\nhint: "+hint, s.Name, l.Dir, bench.Bytes.Format(float64(fs.Avail)), bench.Bytes.Format(float64(s.Disk)))
	}
	mem, unknown := l.Host.Memory()
	free, _ := mem.Room()
	if need := s.Memory + spareBytes; unknown == nil && free < need {
		hint := "ramaria ls and ramaria volume ls show what could go"
		if scalable {
			hint = "--scale 0.1, or --quick"
		}
		return fmt.Errorf("run scenario %s: %s of memory are available, and it takes up to %s\nhint: "+hint, s.Name, bench.Bytes.Format(float64(free)), bench.Bytes.Format(float64(need)))
	}
	return l.shmRoom(s, scalable)
}

// shmRoom looks at /dev/shm. Where there is none, the rows that would be in it say so.
func (l *Lab) shmRoom(s bench.Scenario, scalable bool) error {
	dir, fs, err := l.shmFS()
	if err == nil && fs.Avail < s.Shm {
		hint := moreShm(dir, fs, s.Shm)
		if scalable {
			hint += ", or --scale 0.1"
		}
		return fmt.Errorf("run scenario %s: %s has %s free, and it takes up to %s\nhint: %s", s.Name, dir, bench.Bytes.Format(float64(fs.Avail)), bench.Bytes.Format(float64(s.Shm)), hint)
	}
	return nil
}

// moreShm is what makes room in it.
func moreShm(dir string, fs sys.FS, need int64) string {
	const mega = 1 << 20
	return fmt.Sprintf("mount -o remount,size=%dM %s as root (in a container: docker run --shm-size=%[1]dM)", (fs.Size-fs.Avail+need)/mega+1, dir)
}

// shmFS is the file system of shared memory, and where it is mounted.
func (l *Lab) shmFS() (string, sys.FS, error) {
	dirs, err := l.homeDirs()
	if err != nil {
		return "", sys.FS{}, err
	}
	dir := filepath.Dir(dirs.Shm)
	fs, err := sys.Statfs(dir)
	return dir, fs, err
}

// room is what a scenario takes at most, in bytes, as bench.Scenario has it.
type room struct{ disk, memory, shm int64 }

// of has it stated in a scenario.
func (r room) of(s *bench.Scenario) { s.Disk, s.Memory, s.Shm = r.disk, r.memory, r.shm }

// put counts what a server keeps in a place.
func (r *room) put(l *Lab, p place, files int64) {
	if !p.inRAM() {
		r.disk += files
		return
	}
	r.memory += files
	r.shm += l.shmOf(p, files)
}

// shmOf is the part of a server's files that lies in /dev/shm: all or nothing. Where there is no
// room for any server, rows by hand take none, and say so.
func (l *Lab) shmOf(p place, files int64) int64 {
	if p.name == placeRAMByHand {
		if _, fs, err := l.shmFS(); err != nil || fs.Avail < l.freshBytes() {
			return 0
		}
		return files
	}
	if p.ramaria && p.kind == volume.Shm {
		return files
	}
	return 0
}

// fits returns ErrUnavailable where there is less of memory or of /dev/shm than rows take: that is
// no reason to refuse the other rows.
func (l *Lab) fits(r room) error {
	mem, unknown := l.Host.Memory()
	if free, _ := mem.Room(); unknown == nil && free < r.memory+spareBytes {
		return fmt.Errorf("%w: %s of memory are available, and it takes up to %s", bench.ErrUnavailable, bench.Bytes.Format(float64(free)), bench.Bytes.Format(float64(r.memory+spareBytes)))
	}
	if r.shm == 0 {
		return nil
	}
	dir, fs, err := l.shmFS()
	if err != nil {
		return fmt.Errorf("%w: %w", bench.ErrUnavailable, err)
	}
	if fs.Avail < r.shm {
		return fmt.Errorf("%w: %s has %s free, and it takes up to %s; %s gives it more", bench.ErrUnavailable, dir, bench.Bytes.Format(float64(fs.Avail)), bench.Bytes.Format(float64(r.shm)), moreShm(dir, fs, r.shm))
	}
	return nil
}

// roomIfFits is what rows take, nothing if they do not fit: they say so then, by unlessFull.
func (l *Lab) roomIfFits(r room) room {
	if l.fits(r) != nil {
		return room{}
	}
	return r
}

// unlessFull has a row be unavailable where there is too little room for those that share it; it
// is looked at once, before the first of them.
func unlessFull(fits func() error, c bench.Case) bench.Case {
	prepare := c.Prepare
	c.Prepare = func(ctx context.Context) error {
		if err := fits(); err != nil {
			return err
		}
		return prepare(ctx)
	}
	return c
}

// alone has a scenario measure a row that takes all of its room. Where that is not there the row
// says so: nobody can run it, which is no failure of a run of all scenarios.
func (l *Lab) alone(r room, row bench.Case, s *bench.Scenario) {
	l.roomIfFits(r).of(s)
	s.Cases = []bench.Case{unlessFull(func() error { return l.fits(r) }, row)}
}

// shmOfRAM is the part of files in the volume of ramKind that lies in /dev/shm.
func (l *Lab) shmOfRAM(files int64) int64 {
	kind, err := l.ramKind(context.Background())
	if err != nil {
		return 0 // which the rows say
	}
	return l.shmOf(place{name: PlaceRamaria, ramaria: true, kind: kind}, files)
}
