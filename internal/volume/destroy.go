package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// busyPatience is how long a volume that is in use may stay so before it counts:
	// another command may just be looking at it.
	busyPatience = 500 * time.Millisecond
	busyPause    = 5 * time.Millisecond
	// namedUsers is how many processes are named that keep a volume in use.
	namedUsers = 5
)

// Destroy implements Volume.
func (m *Mount) Destroy(ctx context.Context, force bool) error {
	if err := m.destroy(ctx, force); err != nil {
		return fmt.Errorf("remove volume %s: %w", m.kind, err)
	}
	return nil
}

func (m *Mount) destroy(ctx context.Context, force bool) (err error) {
	lock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.leave(lock)) }()
	there, err := sys.Mounted(m.dir)
	if err != nil {
		return err
	}
	if there && !force {
		if _, err := m.note(); err != nil {
			return err
		}
		if err := m.checkEmpty(); err != nil {
			return err
		}
	}
	if err := m.unmount(force); err != nil {
		return err
	}
	return m.reclaim(ctx)
}

// unmount takes the mount away. One that is in use stays, unless force: then it loses
// its place at once, and is gone with its last user.
func (m *Mount) unmount(force bool) error {
	err := sys.Unmount(m.dir, false)
	for end := time.Now().Add(busyPatience); errors.Is(err, syscall.EBUSY) && !force && time.Now().Before(end); {
		time.Sleep(busyPause)
		err = sys.Unmount(m.dir, false)
	}
	if !errors.Is(err, syscall.EBUSY) {
		return err
	}
	if force {
		return sys.Unmount(m.dir, true)
	}
	return fmt.Errorf("%w: %s\nhint: end it, or ramaria volume rm %s --force", ErrInUse, InUseBy(m.dir), m.kind)
}

// InUseBy says what keeps a file system at dir from being unmounted.
func InUseBy(dir string) string {
	if below := sys.MountsBelow(dir); len(below) > 0 {
		return "another file system is mounted in it, at " + strings.Join(below, ", ")
	}
	users := Users(dir)
	if len(users) == 0 {
		users = []string{"a process of another container or user"}
	}
	return strings.Join(users, ", ") + " works in " + dir
}

// Users names processes that have a file below dir open or mapped, or have their working
// directory there: a few at most, and only those that the caller may inspect.
func Users(dir string) []string {
	procs, err := sys.Glob("/proc", "[0-9]*")
	if err != nil {
		return nil
	}
	var out []string
	for _, proc := range procs {
		if !uses(proc, dir) {
			continue
		}
		name, _ := os.ReadFile(filepath.Join(proc, "comm"))
		out = append(out, fmt.Sprintf("%s (process %s)", strings.TrimSpace(string(name)), filepath.Base(proc)))
		if len(out) == namedUsers {
			break
		}
	}
	return out
}

func uses(proc, dir string) bool {
	below := func(link string) bool {
		to, err := os.Readlink(link)
		return err == nil && (to == dir || strings.HasPrefix(to, dir+"/"))
	}
	if below(proc+"/cwd") || below(proc+"/root") || below(proc+"/exe") {
		return true
	}
	open, _ := os.ReadDir(proc + "/fd")
	for _, fd := range open {
		if below(filepath.Join(proc, "fd", fd.Name())) {
			return true
		}
	}
	maps, _ := os.ReadFile(proc + "/maps")
	return strings.Contains(string(maps), " "+dir+"/")
}

// Reclaim removes what killed processes have left of volumes that are not mounted. It reads one
// small directory, which normally does not exist.
func (o *Opener) Reclaim(ctx context.Context) error {
	if o.Places.Mounts == "" {
		return nil
	}
	return errors.Join(o.reclaimIn(ctx, o.Places.Mounts), o.reclaimIn(ctx, o.apart(o.Places.Mounts)))
}

func (o *Opener) reclaimIn(ctx context.Context, mounts string) error {
	entries, err := os.ReadDir(mounts)
	if err != nil {
		return nil //nolint:nilerr // the directory is missing, or not ours to read
	}
	if len(entries) == 0 {
		removePlaces(mounts)
	}
	var errs []error
	done := map[Kind]bool{}
	for _, e := range entries {
		kind, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(e.Name(), lockSuffix), recordSuffix), "-")
		if k := Kind(kind); traits[k].mounted && !done[k] && (isRecord(e.Name()) || strings.HasSuffix(e.Name(), lockSuffix)) {
			done[k] = true
			errs = append(errs, o.mountIn(k, filepath.Join(mounts, string(k))).reclaimKilled(ctx))
		}
	}
	return errors.Join(errs...)
}

// reclaimKilled does the work of Reclaim for one kind, unless another process is at it.
func (m *Mount) reclaimKilled(ctx context.Context) error {
	if there, err := sys.Mounted(m.dir); there || err != nil {
		return err
	}
	lock, err := sys.TryLock(m.dir+lockSuffix, sys.Exclusive)
	if errors.Is(err, sys.ErrLocked) {
		return nil // being made, or taken away, just now
	}
	if err != nil {
		return fmt.Errorf("reclaim volume %s: %w", m.kind, err)
	}
	if there, err := sys.Mounted(m.dir); there || err != nil {
		return errors.Join(err, lock.Unlock())
	}
	if err := m.reclaim(ctx); err != nil {
		return errors.Join(fmt.Errorf("reclaim volume %s: %w", m.kind, err), lock.Unlock())
	}
	return m.leave(lock)
}

// Destroy implements Volume.
func (d *directory) Destroy(ctx context.Context, force bool) error {
	err := ctx.Err()
	if err == nil && !force {
		err = d.checkEmpty()
	}
	if err == nil {
		err = sys.RemoveTree(d.dir)
	}
	if err != nil {
		return fmt.Errorf("remove volume %s: %w", d.kind, err)
	}
	return nil
}

// checkEmpty refuses to take away a volume that holds instances.
func (d *directory) checkEmpty() error {
	entries, err := os.ReadDir(filepath.Join(d.dir, "instances"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil || len(entries) == 0 {
		return err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if more := len(names) - namedUsers; more > 0 {
		names = append(names[:namedUsers], "and "+strconv.Itoa(more)+" more")
	}
	return fmt.Errorf("%w: it holds the instances %s\nhint: ramaria down NAME --rm removes one; ramaria volume rm %s --force removes all", ErrInUse, strings.Join(names, ", "), d.kind)
}
