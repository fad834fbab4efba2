package volume

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Mount is a volume that is a file system of its own: tmpfs, ramfs, xfs, zram.
//
// It is made without a place, with all that is in it at the beginning, and then
// appears at its mount point at once: a maker that is killed before leaves nothing,
// since the kernel takes mount, loop device and backing file with the process. Only
// a zram device stays, whose number is therefore written down first (zram.go).
type Mount struct {
	directory
	opener *Opener
}

var _ Volume = (*Mount)(nil)

// ErrUnfit says that this machine, or this user, cannot have a volume of that kind.
var ErrUnfit = errors.New("not possible here")

// mountPoint is where the volume of a kind is mounted.
func (o *Opener) mountPoint(kind Kind) string { return filepath.Join(o.Places.Mounts, string(kind)) }

// mount returns the volume of a kind, whether it is there or not.
func (o *Opener) mount(kind Kind) *Mount {
	m := &Mount{directory{kind: kind, dir: o.mountPoint(kind), host: o.Host}, o}
	m.meter = m.usage
	return m
}

// openMount opens the volume of a mounted kind, and makes it if it is not there.
func (o *Opener) openMount(ctx context.Context, spec Spec) (*Mount, error) {
	if o.Places.Mounts == "" {
		return nil, fmt.Errorf("open volume %s: %w: only root can mount\nhint: --volume shm", spec.Kind, ErrUnfit)
	}
	m := o.mount(spec.Kind)
	there, err := sys.Mounted(m.dir)
	if err == nil && !there {
		err = m.make(ctx, spec.Size)
	}
	if err == nil {
		err = m.check()
	}
	if err == nil && there {
		err = m.grow(ctx, spec.Size)
	}
	if err != nil {
		return nil, fmt.Errorf("open volume %s: %w", spec.Kind, err)
	}
	return m, nil
}

// lock keeps other processes from making, growing or removing the volume.
func (m *Mount) lock(ctx context.Context) (*sys.FileLock, error) {
	for _, dir := range []string{filepath.Dir(filepath.Dir(m.dir)), filepath.Dir(m.dir)} {
		if err := ownDir(dir, dirMode()); err != nil {
			return nil, err
		}
	}
	return sys.Lock(ctx, m.dir+lockSuffix, sys.Exclusive, nil)
}

// make makes the volume, unless another process has done so meanwhile. Size 0 is the
// default.
func (m *Mount) make(ctx context.Context, size int64) (err error) {
	lock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if there, err := sys.Mounted(m.dir); there || err != nil {
		return err
	}
	if err := m.reclaim(); err != nil {
		return err
	}
	memory, err := m.host.Memory()
	if err != nil {
		return err
	}
	if size == 0 {
		size = memory.Total / DefaultRAMShare
	}
	fsys, err := m.newFilesystem(ctx, size, memory)
	if err != nil {
		return errors.Join(unfit(err), m.reclaim())
	}
	err = m.furnish(fsys, size)
	if err == nil {
		err = fsys.Attach(m.dir)
	}
	if err = errors.Join(err, fsys.Close()); err != nil {
		return errors.Join(err, m.reclaim())
	}
	return nil
}

// newFilesystem makes the file system, without a place yet.
func (m *Mount) newFilesystem(ctx context.Context, size int64, memory host.Memory) (*sys.Mount, error) {
	switch m.kind {
	case Tmpfs:
		// Huge pages are not asked for: a clone of 4 KB files would take 2 MB each
		// with huge=always, and huge=within_size gained nothing on data directories.
		return sys.NewMount("tmpfs", fmt.Sprintf("size=%d", size), "mode=0711", "nr_inodes=0", "?noswap")
	case Ramfs:
		return sys.NewMount("ramfs", "mode=0711")
	case XFS:
		return m.newXFS(ctx, size, memory.Total)
	}
	return m.newZram(ctx, size, memory.Total)
}

// furnish puts into the new file system what every volume has.
func (m *Mount) furnish(fsys *sys.Mount, size int64) error {
	empty, err := sys.Statfs(fsys.Path())
	if err != nil {
		return err
	}
	if err := writeNote(fsys.Path(), note{Limit: size, Empty: empty.Size - empty.Avail}); err != nil {
		return err
	}
	for _, name := range []string{".", "images", "instances"} {
		path := filepath.Join(fsys.Path(), name)
		if err := os.Mkdir(path, dirMode()); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := os.Chmod(path, dirMode()); err != nil {
			return err
		}
	}
	if err := os.Mkdir(m.dir, dirMode()); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return ownDir(m.dir, dirMode())
}

// check looks whether the mounted file system is one that works and that nobody else
// has prepared.
func (m *Mount) check() error {
	for _, name := range []string{"", "images", "instances"} {
		err := ownDir(filepath.Join(m.dir, name), dirMode())
		if errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EUCLEAN) {
			return fmt.Errorf("its file system has failed: %w\nhint: ramaria volume rm %s --force takes it away, and what it holds is lost", err, m.kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unfit marks errors that say that the machine cannot, so that another kind may do.
func unfit(err error) error {
	for _, e := range []error{syscall.EPERM, syscall.EACCES, syscall.ENODEV, syscall.ENOSYS, syscall.EOPNOTSUPP, fs.ErrNotExist, sys.ErrNoLoop, sys.ErrNoZram} {
		if errors.Is(err, e) {
			return fmt.Errorf("%w: %w\nhint: ramaria doctor tells what this machine can; --volume shm needs nothing", ErrUnfit, err)
		}
	}
	return err
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
		u.Free = max(0, u.Size-u.Used)
	}
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
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if n, err = m.note(); err != nil || size <= n.Limit { // another process was first
		return err
	}
	n.Limit = size
	switch m.kind {
	case Tmpfs:
		err = sys.ResizeTmpfs(m.dir, size)
	case XFS, Zram:
		err = m.growXFS(&n)
	}
	if err != nil {
		return err
	}
	return writeNote(m.dir, n)
}

// Destroy implements Volume.
func (m *Mount) Destroy(ctx context.Context, force bool) (err error) {
	lock, err := m.lock(ctx)
	if err != nil {
		return fmt.Errorf("remove volume %s: %w", m.kind, err)
	}
	defer func() { err = errors.Join(err, lock.UnlockRemove()) }()
	if err := m.checkEmpty(force); err != nil {
		return err
	}
	err = sys.Unmount(m.dir, force)
	if errors.Is(err, syscall.EBUSY) {
		return fmt.Errorf("remove volume %s: %w: a process works in %s\nhint: fuser -vm %s names it", m.kind, ErrInUse, m.dir, m.dir)
	}
	if err != nil {
		return fmt.Errorf("remove volume %s: %w", m.kind, err)
	}
	if err := os.Remove(m.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove volume %s: %w", m.kind, err)
	}
	if err := m.reclaim(); err != nil {
		return fmt.Errorf("remove volume %s: %w", m.kind, err)
	}
	return nil
}

// Reclaim takes away what a process that was killed has left of a volume that is not
// mounted. It looks at one small file that normally is not there.
func (o *Opener) Reclaim(ctx context.Context) error {
	if o.Places.Mounts == "" {
		return nil
	}
	m := o.mount(Zram)
	if _, err := os.Lstat(m.recordPath()); err != nil {
		return nil //nolint:nilerr // there is none, or it is not ours to read
	}
	if there, err := sys.Mounted(m.dir); err != nil || there {
		return err
	}
	lock, err := sys.TryLock(m.dir+lockSuffix, sys.Exclusive)
	if errors.Is(err, sys.ErrLocked) {
		return nil // being made just now
	}
	if err != nil {
		return fmt.Errorf("reclaim volume: %w", err)
	}
	if there, err := sys.Mounted(m.dir); err != nil || there {
		return errors.Join(err, lock.Unlock())
	}
	if err := m.reclaim(); err != nil {
		return errors.Join(fmt.Errorf("reclaim volume %s: %w", m.kind, err), lock.Unlock())
	}
	return lock.UnlockRemove()
}

// note is what a mounted volume says of itself, in a file at its top.
type note struct {
	// Limit is the size, in bytes, that it was made with or grown to.
	Limit int64 `json:"limit"`
	// Empty is what its file system counts as used, in bytes, with nothing in it: XFS
	// sets room aside for its own structures.
	Empty int64 `json:"empty"`
}

const noteFile = ".volume.json"

func (m *Mount) note() (n note, err error) {
	b, err := os.ReadFile(filepath.Join(m.dir, noteFile))
	if err == nil {
		err = json.Unmarshal(b, &n)
	}
	return n, err
}

// writeNote writes the note of the volume whose top is dir, whole or not at all.
func writeNote(dir string, n note) error {
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, noteFile)
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
