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
	// shm volume takes at most when no size is given.
	DefaultRAMShare = 2

	// userMode closes an ordinary user's volume. The server runs as the same user.
	userMode = 0o700
	// rootMode lets the unprivileged account that servers of root run under
	// pass through to its own directory, without seeing what else there is.
	rootMode = 0o711
)

// Dir is a volume that is a plain directory: the kinds shm and disk.
type Dir struct {
	kind Kind
	size int64 // limit in bytes, 0 for the default
	dir  string
	host host.Host
}

var _ Volume = (*Dir)(nil)

// openDir makes the directory, or takes the one that is there if nobody else can
// have put anything in it.
func openDir(h host.Host, spec Spec, dir string) (*Dir, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open volume: %w", err)
	}
	mode := fs.FileMode(userMode)
	if os.Geteuid() == 0 {
		mode = rootMode
	}
	if spec.Kind == Disk {
		if err := os.MkdirAll(filepath.Dir(dir), mode); err != nil {
			return nil, fmt.Errorf("open volume: %w", err)
		}
	}
	for _, d := range []string{dir, filepath.Join(dir, "images"), filepath.Join(dir, "instances")} {
		if err := ownDir(d, mode); err != nil {
			return nil, fmt.Errorf("open volume %w", err)
		}
	}
	return &Dir{kind: spec.Kind, size: spec.Size, dir: dir, host: h}, nil
}

// ownDir makes the directory, or checks that the one that is there belongs to this
// user and is closed to the writing of others. /dev/shm is open to everybody:
// a symbolic link or a directory put there in wait must not be used.
func ownDir(dir string, mode fs.FileMode) error {
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w", dir, err)
	}
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	switch {
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s: it is not a directory, or a symbolic link to one\nhint: look at it with ls -ld %s, and remove it if it is not yours to keep", dir, dir)
	case errors.Is(err, fs.ErrPermission):
		// Closed to us: then it is somebody else's, or has an odd mode.
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
func (d *Dir) Kind() Kind { return d.kind }

// Dir implements Volume.
func (d *Dir) Dir() string { return d.dir }

// Close implements Volume: a directory holds nothing open.
func (d *Dir) Close() error { return nil }

// Usage implements Volume.
func (d *Dir) Usage() (Usage, error) {
	u, err := d.usage()
	if err != nil {
		return Usage{}, fmt.Errorf("measure volume %s: %w", d.dir, err)
	}
	return u, nil
}

func (d *Dir) usage() (Usage, error) {
	used, err := sys.DiskUsage(d.dir)
	if err != nil {
		return Usage{}, err
	}
	fsys, err := sys.Statfs(d.dir)
	if err != nil {
		return Usage{}, err
	}
	u := Usage{Size: fsys.Size, Used: used, Free: fsys.Avail, Bound: ByFilesystem}
	if fsys.FreeInodes == 0 {
		u.Free, u.Bound = 0, ByInodes
	}
	if d.kind == Shm {
		m, err := d.host.Memory()
		if err != nil {
			return Usage{}, err
		}
		u.Size = min(u.Size, m.Total/DefaultRAMShare)
		if room, byCgroup := m.Room(); room < u.Free {
			u.Free, u.Bound = room, ByMemory
			if byCgroup {
				u.Bound = ByCgroup
			}
		}
	}
	if d.size > 0 {
		u.Size = d.size
	}
	if left := max(0, u.Size-used); left < u.Free {
		u.Free, u.Bound = left, ByLimit
	}
	return u, nil
}
