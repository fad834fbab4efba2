package wheatfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// MountsDir is where this machine's mounts are noted, for all to read. It does not outlive a reboot, as they do not.
const MountsDir = "/run/ramaria-wheatfs"

// Mounts are the file systems that are mounted at places of their own. Those of servers, which only these see, are
// not among them. Each has a note, and a lock that its keeper holds.
type Mounts struct{ Dir string }

// Mounted is one of them.
type Mounted struct {
	Place string `json:"directory"`
	Disk  string `json:"disk"`
	// RAM is what it may have of the memory, in bytes.
	RAM     int64     `json:"ram_bytes_asked"`
	Device  string    `json:"device"`
	Keeper  int       `json:"keeper_pid"`
	Daemon  int       `json:"daemon_pid"`
	Started time.Time `json:"started"`
	Report
	// Size and Free are those of the file system, in bytes.
	Size int64 `json:"size_bytes"`
	Free int64 `json:"free_bytes"`
	// Dead says that its daemon or its keeper was killed: what is mounted there fails, and Clean takes it away.
	Dead bool `json:"dead"`
}

// ErrMounted says that there is such a file system at the place.
var ErrMounted = errors.New("there is a wheatfs already")

// ErrNotMounted says that there is none.
var ErrNotMounted = errors.New("no wheatfs is mounted there")

// note and lock are the files of the mount at a place.
func (m Mounts) note(place string) string {
	sum := sha256.Sum256([]byte(place))
	return filepath.Join(m.Dir, hex.EncodeToString(sum[:8])+".json")
}

func lockOf(note string) string { return strings.TrimSuffix(note, ".json") + ".lock" }

// keepInterval is how often a keeper writes down where the data lies, if that has changed.
const keepInterval = time.Second

// Keep mounts a file system at an empty directory, calls ready, and keeps it until it is unmounted, or ctx ends and
// it has been unmounted for that: its users keep what they have open, and are waited for.
func (m Mounts) Keep(ctx context.Context, place string, o Options, ready func(Mounted), waits func(error)) error {
	note := m.note(place)
	lock, err := m.lock(note)
	if errors.Is(err, sys.ErrLocked) {
		return fmt.Errorf("mount at %s: %w\nhint: ramaria wheatfs umount %s", place, ErrMounted, place)
	}
	if err != nil {
		return err
	}
	defer m.unlock(lock)
	if err := m.clean(note); err != nil {
		return err
	}
	if err := checkPlace(place); err != nil {
		return err
	}
	f, err := Start(ctx, o)
	if err != nil {
		return err
	}
	if err := f.Attach(place); err != nil {
		return errors.Join(err, f.Close(true))
	}
	is := Mounted{Place: place, Disk: o.Disk, RAM: o.RAM, Device: f.device, Keeper: os.Getpid(), Daemon: f.Daemon(), Started: time.Now().UTC()}
	if err := write(note, f.look(is)); err != nil {
		return errors.Join(err, f.Close(true))
	}
	defer os.Remove(note)
	ready(f.look(is))
	return f.keep(ctx, note, is, waits)
}

// lockTries is how often the directory of notes may vanish under who wants a lock in it.
const lockTries = 100

// lock takes the lock of a note, and makes the directory of notes for it.
func (m Mounts) lock(note string) (lock *sys.FileLock, err error) {
	for range lockTries {
		if err := os.MkdirAll(m.Dir, 0o755); err != nil { // #nosec G301 -- all may see what is mounted
			return nil, err
		}
		if lock, err = sys.TryLock(lockOf(note), sys.Exclusive); !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	return lock, err
}

// unlock gives it up, and the directory with the last note.
func (m Mounts) unlock(lock *sys.FileLock) {
	_ = lock.UnlockRemove() // it is unlocked in any case
	_ = os.Remove(m.Dir)    // others have notes in it
}

// checkPlace returns an error if nothing can be mounted on a directory without hiding something.
func checkPlace(place string) error {
	entries, err := os.ReadDir(place)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("mount at %s: there is no such directory\nhint: mkdir '%s'", place, place)
	}
	if err != nil {
		return err
	}
	if is, err := sys.Mounted(place); err != nil || is {
		return errors.Join(err, fmt.Errorf("mount at %s: something else is mounted there", place))
	}
	if len(entries) > 0 {
		return fmt.Errorf("mount at %s: the directory is not empty (%s), and would be hidden", place, entries[0].Name())
	}
	return nil
}

// look fills in what changes.
func (f *FS) look(is Mounted) Mounted {
	is.Report = f.Report()
	if fs, ok := f.Room(); ok {
		is.Size, is.Free = fs.Size, fs.Avail
	}
	return is
}

// keep keeps one that is mounted until it is gone.
func (f *FS) keep(ctx context.Context, note string, is Mounted, waits func(error)) error {
	looks := time.NewTicker(keepInterval)
	defer looks.Stop()
	ended := ctx.Done()
	for last := is; ; {
		select {
		case <-f.gone:
			// Of its own accord, once it was unmounted; else what is mounted there fails.
			err := f.Err()
			return errors.Join(err, takeAway(is.Place, is.Device, true))
		case <-ended:
			ended = nil
			if err := f.Close(false); err != nil {
				waits(err)
				if err := f.Close(true); err != nil {
					return err
				}
			}
		case <-looks.C:
			if now := f.look(is); now != last {
				last = now
				_ = write(note, now) // it is for people to look at
			}
		}
	}
}

// write writes a note whole.
func write(note string, is Mounted) error {
	b, err := json.Marshal(is)
	if err != nil {
		return err
	}
	if err := os.WriteFile(note+".new", b, 0o644); err != nil { // #nosec G306 -- all may see it
		return err
	}
	return os.Rename(note+".new", note)
}

// List are those of this machine, by their places.
func (m Mounts) List() ([]Mounted, error) {
	notes, err := sys.Glob(m.Dir, "*.json")
	if err != nil {
		return nil, err
	}
	all := []Mounted{}
	for _, note := range notes {
		is, err := read(note)
		if errors.Is(err, os.ErrNotExist) {
			continue // unmounted meanwhile
		}
		if err != nil {
			return nil, err
		}
		all = append(all, is)
	}
	slices.SortFunc(all, func(a, b Mounted) int { return strings.Compare(a.Place, b.Place) })
	return all, nil
}

func read(note string) (is Mounted, err error) {
	b, err := os.ReadFile(note)
	if err != nil {
		return is, err
	}
	if err := json.Unmarshal(b, &is); err != nil {
		return is, fmt.Errorf("read %s: %w", note, err)
	}
	held, err := sys.Held(lockOf(note))
	if err != nil && !errors.Is(err, os.ErrPermission) {
		return is, err
	}
	is.Dead = err == nil && !held
	return is, nil
}

// At returns the one at a place, or ErrNotMounted.
func (m Mounts) At(place string) (Mounted, error) {
	is, err := read(m.note(place))
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%s: %w\nhint: ramaria wheatfs status shows those that are", place, ErrNotMounted)
	}
	return is, err
}

// Clean takes away what those that were killed have left at their places.
func (m Mounts) Clean() error {
	all, err := m.List()
	for _, is := range all {
		if is.Dead {
			err = errors.Join(err, m.cleanAt(is.Place))
		}
	}
	return err
}

func (m Mounts) cleanAt(place string) error {
	note := m.note(place)
	lock, err := m.lock(note)
	if errors.Is(err, sys.ErrLocked) {
		return nil // another one does, or has mounted one again
	}
	if err != nil {
		return err
	}
	defer m.unlock(lock)
	return m.clean(note)
}

// clean takes away what is left of one whose lock the caller holds.
func (m Mounts) clean(note string) error {
	is, err := read(note)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := takeAway(is.Place, is.Device, true); err != nil {
		return err
	}
	return os.Remove(note)
}

// takeAway unmounts a place if it is this block device that is mounted there: with force whoever uses it.
func takeAway(place, device string, force bool) (err error) {
	p, err := sys.OpenPlace(place)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // nothing was written
	if is, err := p.Source(); err != nil || is != "/dev/"+device {
		return err
	}
	return p.Unmount(force)
}

// freePatience is how long Unmount waits for the memory.
const freePatience = 5 * time.Second

// Unmount unmounts the file system at a place: unix.EBUSY if it is in use. With force it goes from the place at once,
// whoever uses it. freed says that its memory is free; if not, processes have files open in it, or see it in a mount
// namespace of their own, and it is free when these have ended.
func (m Mounts) Unmount(ctx context.Context, place string, force bool) (freed bool, err error) {
	is, err := m.At(place)
	if err != nil {
		return false, err
	}
	if is.Dead {
		return true, m.cleanAt(place)
	}
	_ = syscall.Kill(is.Daemon, syscall.SIGCONT) // one that was stopped keeps the kernel waiting, and this process
	if err := takeAway(place, is.Device, force); err != nil {
		return false, err
	}
	for end := time.Now().Add(freePatience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if held, err := sys.Held(lockOf(m.note(place))); err != nil || !held {
			return err == nil, err
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
	return false, nil
}
