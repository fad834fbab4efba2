package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// DefaultRAMShare is the part of the machine's memory, one in this many, that a
	// volume in RAM takes at most when no size is given.
	DefaultRAMShare = 2

	// userMode closes an ordinary user's volume. The server runs as the same user.
	userMode = 0o700
	// rootMode lets the unprivileged account that servers of root run under
	// pass through to its own directory, without seeing what else there is.
	rootMode = 0o711
)

// directory is a volume that is a directory: the kinds shm and disk as they are, and the
// others by way of Mount. Outside gives out one as what is no volume.
type directory struct {
	kind Kind
	size int64 // limit in bytes, 0 for the default
	dir  string
	host host.Host
	// meter measures the room, in the way of the kind.
	meter func() (Usage, error)
}

var _ Volume = (*directory)(nil)

// openDir makes the directory, or takes the one that is there if no other user can
// have put anything in it.
func (o *Opener) openDir(spec Spec, dir string) (*directory, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open volume: %w", err)
	}
	mode := dirMode()
	if spec.Kind == Disk {
		if err := os.MkdirAll(filepath.Dir(dir), mode); err != nil {
			return nil, fmt.Errorf("open volume: %w", err)
		}
	}
	for _, name := range []string{"", "images", "instances"} {
		if err := ownDir(filepath.Join(dir, name), mode); err != nil {
			return nil, fmt.Errorf("open volume %w", err)
		}
		if name == "" && spec.Kind == Shm {
			if err := o.claim(dir); err != nil {
				return nil, fmt.Errorf("open volume: %w", err)
			}
		}
	}
	return newDirectory(o.Host, spec, dir), nil
}

func newDirectory(h host.Host, spec Spec, dir string) *directory {
	d := &directory{kind: spec.Kind, size: spec.Size, dir: dir, host: h}
	d.meter = d.walk
	return d
}

// dirMode is the mode of a volume's directories.
func dirMode() fs.FileMode {
	if os.Geteuid() == 0 {
		return rootMode
	}
	return userMode
}

// ownDir makes the directory, or checks that the one that is there belongs to this
// user and is closed to the writing of others. /dev/shm is open to everybody:
// a symbolic link or a directory put there in wait must not be used.
func ownDir(dir string, mode fs.FileMode) error {
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return checkDir(dir, mode)
}

// checkDir is ownDir of a directory that must be there.
func checkDir(dir string, mode fs.FileMode) error {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	switch {
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s: it is not a directory, or a symbolic link to one\nhint: look at it with ls -ld %s, and remove it if it is not yours to keep", dir, dir)
	case errors.Is(err, fs.ErrPermission):
		// Closed to us: then it is another user's, or has an odd mode.
		fi, lerr := os.Lstat(dir)
		if lerr != nil {
			return fmt.Errorf("%s: %w", dir, lerr)
		}
		if err := checkOwner(dir, fi); err != nil {
			return err
		}
		return fmt.Errorf("%s: %w\nhint: chmod %o %s", dir, syscall.EACCES, mode, dir)
	case err != nil:
		return fmt.Errorf("%s: %w", dir, err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if err := checkOwner(dir, fi); err != nil {
		return err
	}
	if fi.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s: others may write to it (mode %o), so what lies in it cannot be trusted\nhint: rm -rf %s", dir, fi.Mode().Perm(), dir)
	}
	if fi.Mode().Perm() != mode {
		if err := f.Chmod(mode); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

func checkOwner(dir string, fi fs.FileInfo) error {
	uid := int(fi.Sys().(*syscall.Stat_t).Uid)
	if uid != os.Geteuid() {
		return fmt.Errorf("%s: it belongs to uid %d, not to you (uid %d)\nhint: use another volume with --home DIR or --volume disk, or have its owner remove it", dir, uid, os.Geteuid())
	}
	return nil
}

// Kind implements Volume.
func (d *directory) Kind() Kind { return d.kind }

// Dir implements Volume.
func (d *directory) Dir() string { return d.dir }

// Close implements Volume: a directory holds nothing open.
func (d *directory) Close() error { return nil }

// Usage implements Volume.
func (d *directory) Usage() (Usage, error) {
	u, err := d.meter()
	if err != nil {
		return Usage{}, fmt.Errorf("measure volume %s: %w", d.dir, err)
	}
	return u, nil
}

// walk measures the room of a volume that shares its file system with others.
func (d *directory) walk() (Usage, error) {
	used, err := sys.DiskUsage(d.dir)
	if err != nil {
		return Usage{}, err
	}
	fsys, err := sys.Statfs(d.dir)
	if err != nil {
		return Usage{}, err
	}
	return d.usage(used, fsys)
}

// usage is the room of a volume whose files take used bytes of a file system.
func (d *directory) usage(used int64, fsys sys.FS) (Usage, error) {
	u := Usage{Size: fsys.Size, Free: fsys.Avail, Bound: ByFilesystem}
	if fsys.FreeInodes == 0 {
		u.Free, u.Bound = 0, ByInodes
	}
	if traits[d.kind].ram {
		total, err := d.boundByMemory(&u)
		if err != nil {
			return Usage{}, err
		}
		u.Size = min(u.Size, total/DefaultRAMShare)
	}
	if d.size > 0 {
		u.Size = d.size
	}
	return d.with(u, used), nil
}

// with is a usage, of which all else is known, with what the files take.
func (d *directory) with(u Usage, used int64) Usage {
	u.Used = used
	if traits[d.kind].ram {
		u.Memory = used
	}
	if left := max(0, u.Size-used); left < u.Free {
		u.Free, u.Bound = left, ByLimit
	}
	return u
}

// boundByMemory lowers what is free to what the machine and its control groups
// leave, and returns how much memory the machine has.
func (d *directory) boundByMemory(u *Usage) (total int64, err error) {
	m, err := d.host.Memory()
	if err != nil {
		return 0, err
	}
	if room, byCgroup := m.Room(); room < u.Free {
		u.Free, u.Bound = room, ByMemory
		if byCgroup {
			u.Bound, u.Cgroup = ByCgroup, m.Cgroup
		}
	}
	return m.Total, nil
}

// Shares implements Volume.
func (d *directory) Shares() bool { return !traits[d.kind].ram && sys.CanReflink(d.dir) }
