package lab

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
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
func (l *Lab) Begin(ctx context.Context, s runner.Scenario, scalable bool) error {
	if _, err := l.Run(ctx, "image", "rm", "--all"); err != nil {
		return fmt.Errorf("begin scenario %s: %w", s.Name, err)
	}
	return l.Room(s, scalable)
}

// Room returns an error if there is not enough of the disk, of memory or of shared memory for a
// scenario; scalable says that --scale makes it smaller.
func (l *Lab) Room(s runner.Scenario, scalable bool) error {
	fs, err := sys.Statfs(l.Dir)
	if err != nil {
		return err
	}
	if fs.Avail < s.Disk {
		hint := "--disk DIR on another disk"
		if scalable {
			hint += ", or --scale 0.1"
		}
		return fmt.Errorf("run scenario %s: %s has %s free, and it takes up to %s\nhint: "+hint, s.Name, l.Dir, runner.Bytes.Format(float64(fs.Avail)), runner.Bytes.Format(float64(s.Disk)))
	}
	mem, unknown := l.Host.Memory()
	free, _ := mem.Room()
	if need := s.Memory + spareBytes; unknown == nil && free < need {
		hint := "ramaria ls and ramaria volume ls show what could go"
		if scalable {
			hint = "--scale 0.1, or --quick"
		}
		return fmt.Errorf("run scenario %s: %s of memory are available, and it takes up to %s\nhint: "+hint, s.Name, runner.Bytes.Format(float64(free)), runner.Bytes.Format(float64(need)))
	}
	return l.shmRoom(s, scalable)
}

// shmRoom looks at /dev/shm. If it is missing, the rows that would be in it say so.
func (l *Lab) shmRoom(s runner.Scenario, scalable bool) error {
	dir, fs, err := l.shmFS()
	if err == nil && fs.Avail < s.Shm {
		hint := moreShm(dir, fs, s.Shm)
		if scalable {
			hint += ", or --scale 0.1"
		}
		return fmt.Errorf("run scenario %s: %s has %s free, and it takes up to %s\nhint: %s", s.Name, dir, runner.Bytes.Format(float64(fs.Avail)), runner.Bytes.Format(float64(s.Shm)), hint)
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
	dirs, err := l.HomeDirs()
	if err != nil {
		return "", sys.FS{}, err
	}
	dir := filepath.Dir(dirs.Shm)
	fs, err := sys.Statfs(dir)
	return dir, fs, err
}

// Need is what a scenario takes at most, in bytes, as runner.Scenario has it.
type Need struct{ Disk, Memory, Shm int64 }

// SetIn states it in a scenario.
func (r Need) SetIn(s *runner.Scenario) { s.Disk, s.Memory, s.Shm = r.Disk, r.Memory, r.Shm }

// AddServer counts what a server keeps in a place.
func (r *Need) AddServer(l *Lab, p Place, files int64) {
	if !p.InRAM() {
		r.Disk += files
		return
	}
	r.Memory += files
	r.Shm += l.SharedMemoryOf(p, files)
}

// SharedMemoryOf is the part of a server's files that lies in /dev/shm: all or nothing. Where there is no
// room for any server, rows by hand take none, and say so.
func (l *Lab) SharedMemoryOf(p Place, files int64) int64 {
	if p.ByHandInRAM() {
		if _, fs, err := l.shmFS(); err != nil || fs.Avail < l.FreshBytes() {
			return 0
		}
		return files
	}
	if p.Ramaria && p.Kind == volume.Shm {
		return files
	}
	return 0
}

// Fits returns ErrUnavailable where there is less of memory or of /dev/shm than rows take: that is
// no reason to refuse the other rows.
func (l *Lab) Fits(r Need) error {
	mem, unknown := l.Host.Memory()
	if free, _ := mem.Room(); unknown == nil && free < r.Memory+spareBytes {
		return fmt.Errorf("%w: %s of memory are available, and it takes up to %s", runner.ErrUnavailable, runner.Bytes.Format(float64(free)), runner.Bytes.Format(float64(r.Memory+spareBytes)))
	}
	if r.Shm == 0 {
		return nil
	}
	dir, fs, err := l.shmFS()
	if err != nil {
		return fmt.Errorf("%w: %w", runner.ErrUnavailable, err)
	}
	if fs.Avail < r.Shm {
		return fmt.Errorf("%w: %s has %s free, and it takes up to %s; %s gives it more", runner.ErrUnavailable, dir, runner.Bytes.Format(float64(fs.Avail)), runner.Bytes.Format(float64(r.Shm)), moreShm(dir, fs, r.Shm))
	}
	return nil
}

// NeedIfFits is what rows take, nothing if they do not fit: they say so then, by UnlessFull.
func (l *Lab) NeedIfFits(r Need) Need {
	if l.Fits(r) != nil {
		return Need{}
	}
	return r
}

// UnlessFull makes a row unavailable where there is too little room for those that share it; it
// is looked at once, before the first of them.
func UnlessFull(fits func() error, c runner.Case) runner.Case {
	prepare := c.Prepare
	c.Prepare = func(ctx context.Context) error {
		if err := fits(); err != nil {
			return err
		}
		return prepare(ctx)
	}
	return c
}

// SetOnlyRow makes a row that takes all of its room the scenario's only one. Without that room the
// row says so: it cannot run, which is no failure of a run of all scenarios.
func (l *Lab) SetOnlyRow(r Need, row runner.Case, s *runner.Scenario) {
	l.NeedIfFits(r).SetIn(s)
	s.Cases = []runner.Case{UnlessFull(func() error { return l.Fits(r) }, row)}
}

// SharedMemoryOfRAM is the part of files in the volume of RamKind that lies in /dev/shm.
func (l *Lab) SharedMemoryOfRAM(files int64) int64 {
	kind, err := l.RAMKind(context.Background())
	if err != nil {
		return 0 // which the rows say
	}
	return l.SharedMemoryOf(Place{Name: PlaceRamaria, Ramaria: true, Kind: kind}, files)
}

// FreshBytes is what a data directory of a stock server takes at most.
func (l *Lab) FreshBytes() int64 { return l.Server.Family().Stock.FreshBytes }

// ResidentBytes is the memory of a server's process when it has done some work, at most.
func (l *Lab) ResidentBytes() int64 { return l.Server.Family().Stock.ResidentBytes }
