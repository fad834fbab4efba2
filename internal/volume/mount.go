package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Mount is a volume that is a file system of its own: tmpfs, ramfs, xfs, zram.
//
// It is made without a mount point, with everything that it contains at first, and then appears
// at its mount point at once. A maker that is killed before that leaves nothing behind, because
// the kernel removes mount, loop device and backing file with the process. Only a zram device
// stays; its number is therefore recorded first (zram.go).
type Mount struct {
	directory
	opener *Opener
}

var _ Volume = (*Mount)(nil)

const (
	// placeTries and placePause are how often, and after what, the directories of the
	// mounts are made again when other processes remove them.
	placeTries = 500
	placePause = time.Millisecond
)

// ErrUnfit says that this machine, or this user, cannot have a volume of the kind.
var ErrUnfit = errors.New("not possible here")

var errNotRoot = fmt.Errorf("%w: only root can mount\nhint: --volume shm", ErrUnfit)

// mount returns the volume of a kind, whether it is there or not.
func (o *Opener) mount(kind Kind) *Mount { return o.mountIn(kind, o.place(kind)) }

// mountIn is mount for a volume at a directory.
func (o *Opener) mountIn(kind Kind, dir string) *Mount {
	m := &Mount{directory{kind: kind, dir: dir, host: o.Host}, o}
	m.meter = m.usage
	return m
}

// filesystem is the kernel's name of what a kind is.
func (o *Opener) filesystem(kind Kind) string {
	if o.kernelName != nil {
		return o.kernelName(kind)
	}
	if kind == Zram {
		return string(XFS)
	}
	return string(kind)
}

// errVanished says that the volume was taken away while it was opened.
var errVanished = errors.New("it is taken away again and again")

// openMount opens the volume of a mounted kind, and makes it if it is not there.
func (o *Opener) openMount(ctx context.Context, spec Spec) (*Mount, error) {
	if o.Places.Mounts == "" {
		return nil, fmt.Errorf("open volume %s: %w", spec.Kind, errNotRoot)
	}
	var m *Mount
	var err error
	for range placeTries {
		m = o.mount(spec.Kind)
		if err = m.open(ctx, spec.Size); !errors.Is(err, errVanished) && !errors.Is(err, errForeign) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open volume %s: %w", spec.Kind, err)
	}
	return m, nil
}

// open makes the volume if it is not there, and else grows it to size if it is smaller.
func (m *Mount) open(ctx context.Context, size int64) error {
	there, err := sys.Mounted(m.dir)
	if err == nil && !there {
		err = m.make(ctx, size)
	}
	was := err == nil
	if err == nil {
		err = m.check()
	}
	if err == nil && there {
		err = m.grow(ctx, size)
	}
	if err == nil || isFailed(err) {
		return err
	}
	if still, _ := sys.Mounted(m.dir); was && !still {
		return errVanished
	}
	return err
}

// lock keeps other processes from making, growing or removing the volume. leave ends it.
func (m *Mount) lock(ctx context.Context) (lock *sys.FileLock, err error) {
	for range placeTries {
		for _, dir := range []string{filepath.Dir(filepath.Dir(m.dir)), filepath.Dir(m.dir)} {
			if err = ownDir(dir, dirMode()); err != nil {
				break
			}
		}
		if err == nil {
			lock, err = sys.Lock(ctx, m.dir+lockSuffix, sys.Exclusive, nil)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		time.Sleep(placePause) // leave of another process has just removed the directories
	}
	return lock, err
}

// leave lets go of the lock. Of a volume that is not there it removes the place, and
// the directories of all if there is no other.
func (m *Mount) leave(lock *sys.FileLock) error {
	if there, err := sys.Mounted(m.dir); there || err != nil {
		return errors.Join(err, lock.Unlock())
	}
	if others, err := m.mountedInOthers(); others || err != nil {
		return errors.Join(err, lock.Unlock())
	}
	_ = syscall.Rmdir(m.dir) // what is in it is not ours to judge: make and Destroy do
	err := lock.UnlockRemove()
	removePlaces(filepath.Dir(m.dir))
	return err
}

// removePlaces removes the directory of mounts if it is empty, and the one above it
// unless there are those of other homes.
func removePlaces(mounts string) {
	if syscall.Rmdir(mounts) == nil {
		_ = syscall.Rmdir(filepath.Dir(mounts))
	}
}

// make makes the volume, unless another process has done so meanwhile. Size 0 is the
// default.
func (m *Mount) make(ctx context.Context, size int64) (err error) {
	lock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.leave(lock)) }()
	if there, err := sys.Mounted(m.dir); there || err != nil {
		return err
	}
	if err := m.reclaim(ctx); err != nil {
		return err
	}
	memory, err := m.host.Memory()
	if err != nil {
		return err
	}
	if size == 0 {
		size = memory.Total / DefaultRAMShare
	}
	clean := context.WithoutCancel(ctx)
	fsys, err := m.newFilesystem(ctx, size, memory)
	if err != nil {
		return errors.Join(unfitFor(m.kind, err), m.reclaim(clean))
	}
	err = m.provision(ctx, fsys, size)
	if err == nil {
		err = m.noteNamespace() // before, lest one that is killed in between is unknown
	}
	if err == nil {
		err = fsys.Attach(m.dir)
	}
	if err = errors.Join(err, fsys.Close()); err != nil {
		return errors.Join(err, m.reclaim(clean))
	}
	return nil
}

// newFilesystem makes the file system, without a place yet.
func (m *Mount) newFilesystem(ctx context.Context, size int64, memory host.Memory) (*sys.Mount, error) {
	switch m.kind {
	case Tmpfs:
		// Not huge=within_size: it halves the time of a clone (25 MB: 2.7 ms instead of
		// 5.6), but each 4 KB written into a hole then takes 2 MB; a file of 64 MB with
		// 32 pieces of 16 KB in it takes all 64 MB, and holes are what keeps images small.
		return sys.NewMount(m.opener.filesystem(m.kind), fmt.Sprintf("size=%d", size), "mode=0711", "nr_inodes=0", "?noswap")
	case Ramfs:
		return sys.NewMount(m.opener.filesystem(m.kind), "mode=0711")
	case XFS:
		return m.newXFS(ctx, size, memory.Total)
	}
	return m.newZram(ctx, size, memory.Total)
}

// provision makes the place of the new file system, and puts into it what every volume has.
func (m *Mount) provision(ctx context.Context, fsys *sys.Mount, size int64) error {
	if err := m.makePlace(ctx); err != nil {
		return err
	}
	// A new file system has no label that a policy knows. It gets that of the directory that it will cover.
	sys.TakeLabel(fsys.Path(), m.dir)
	empty, err := sys.Statfs(fsys.Path())
	if err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(fsys.Path(), noteFile), note{Kind: m.kind, Limit: size, Empty: empty.Size - empty.Avail}); err != nil {
		return err
	}
	if m.opener.Owner.Registry != "" {
		if err := m.opener.writeOwner(fsys.Path()); err != nil {
			return err
		}
	}
	for _, name := range []string{".", "images", "instances"} {
		path := filepath.Join(fsys.Path(), name)
		if err := os.Mkdir(path, dirMode()); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := os.Chmod(path, dirMode()); err != nil { //nolint:forbidigo // no other process reaches the file system yet
			return err
		}
	}
	return nil
}

// makePlace makes the directory to mount at, which must be empty: what lies in it would
// be hidden.
func (m *Mount) makePlace(ctx context.Context) error {
	if err := ownDir(m.dir, dirMode()); err != nil {
		return err
	}
	// Left by those who were at work in the volume when it was taken away.
	if err := m.Sweep(ctx); err != nil {
		return err
	}
	for _, left := range []string{SamplesPath(m), SamplesPath(m) + newSuffix} {
		if err := os.Remove(left); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	entries, err := os.ReadDir(m.dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("its directory holds what ramaria did not put there: %s\nhint: look at it, and move it away",
			filepath.Join(m.dir, entries[0].Name()))
	}
	return err
}

// check looks whether what is mounted is the volume, works, and is closed to others. It
// makes nothing: the volume may be taken away at the same time.
func (m *Mount) check() error {
	if _, err := m.note(); err != nil {
		return err
	}
	if m.opener.foreign(m.dir) {
		return fmt.Errorf("%s: %w", m.dir, errForeign)
	}
	for _, name := range []string{"", "images", "instances"} {
		err := checkDir(filepath.Join(m.dir, name), dirMode())
		if isFailed(err) {
			return m.failed(err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// usage measures the room: the volume is all that is in its file system.
func (m *Mount) usage() (Usage, error) {
	fsys, err := sys.Statfs(m.dir)
	if err != nil {
		return Usage{}, err
	}
	n, err := m.note()
	if err != nil {
		return Usage{}, err
	}
	u := Usage{Size: n.Limit, Used: max(0, fsys.Size-fsys.Avail-n.Empty), Free: fsys.Avail, Bound: ByLimit}
	if m.kind == Ramfs { // it knows neither its size nor what is in it
		if u.Used, err = sys.DiskUsage(m.dir); err != nil {
			return Usage{}, err
		}
	}
	// XFS is not made smaller than leastXFS.
	u.Free = min(u.Free, max(0, u.Size-u.Used))
	if fsys.FreeInodes == 0 {
		u.Free, u.Bound = 0, ByInodes
	}
	u.Memory = u.Used
	if m.kind == Zram {
		if u.Memory, err = m.zramMemory(); err != nil {
			return Usage{}, err
		}
	}
	_, err = m.boundByMemory(&u)
	return u, err
}

// Shares implements Volume.
func (m *Mount) Shares() bool { return traits[m.kind].shares }

// grow raises the volume's limit to size, if that is more than it has.
func (m *Mount) grow(ctx context.Context, size int64) (err error) {
	n, err := m.note()
	if err != nil || size <= n.Limit {
		return err
	}
	lock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.leave(lock)) }()
	if n, err = m.note(); err != nil || size <= n.Limit { // another process was first
		return err
	}
	switch m.kind {
	case Tmpfs:
		err = sys.ResizeTmpfs(m.dir, size)
	case XFS, Zram:
		err = m.growXFS(&n, size)
	}
	if err != nil {
		return err
	}
	n.Limit = size
	return writeJSON(filepath.Join(m.dir, noteFile), n)
}

// Clone implements Volume.
func (m *Mount) Clone(ctx context.Context, src, dst string) error {
	return m.Snapshot(ctx, src, dst, How{})
}

// Snapshot implements Volume. Before it copies to a ramfs, for which the kernel keeps no limit,
// it checks the room: a full ramfs takes all memory of the machine.
func (m *Mount) Snapshot(ctx context.Context, src, dst string, how How) error {
	if m.kind == Ramfs {
		need, err := sys.DiskUsage(src)
		if err == nil {
			err = CheckRoom(m, need, filepath.Base(dst))
		}
		if err != nil {
			return fmt.Errorf("clone %s: %w", src, err)
		}
	}
	return m.directory.Snapshot(ctx, src, dst, how)
}
