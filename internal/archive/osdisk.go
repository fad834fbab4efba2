package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// OSDisk is the Disk of a directory of this machine. Directories are made 0700, files 0600.
type OSDisk struct {
	Dir string
	// ReadOnly opens files for reading alone, as on media that cannot be written to.
	ReadOnly bool
	// Home is the directory as it was found. Nothing is made or removed once another one lies in its
	// place, as when the archive is moved and another instance's put there. nil looks at nothing.
	Home fs.FileInfo
}

var _ Disk = OSDisk{}

func (d OSDisk) path(name string) string { return filepath.Join(d.Dir, filepath.FromSlash(name)) }

// Mkdir implements Disk.
func (d OSDisk) Mkdir(name string) error {
	if err := d.Moved(); err != nil {
		return err
	}
	err := os.Mkdir(d.path(name), 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// Names implements Disk.
func (d OSDisk) Names(dir string) ([]string, error) {
	entries, err := os.ReadDir(d.path(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names, err
}

// Create implements Disk.
func (d OSDisk) Create(name string) (File, error) {
	if d.ReadOnly {
		return nil, &os.PathError{Op: "create", Path: d.path(name), Err: syscall.EROFS}
	}
	if err := d.Moved(); err != nil {
		return nil, err
	}
	return d.open(name, os.O_CREATE|os.O_TRUNC)
}

// Open implements Disk.
func (d OSDisk) Open(name string) (File, error) { return d.open(name, 0) }

func (d OSDisk) open(name string, flags int) (File, error) {
	mode := os.O_RDWR
	if d.ReadOnly {
		mode = os.O_RDONLY
	}
	f, err := os.OpenFile(d.path(name), mode|syscall.O_NOFOLLOW|flags, 0o600)
	if err != nil {
		return nil, err
	}
	return &osFile{File: f, disk: d}, nil
}

// Rename implements Disk.
func (d OSDisk) Rename(from, to string) error {
	if err := d.Moved(); err != nil {
		return err
	}
	return os.Rename(d.path(from), d.path(to))
}

// Remove implements Disk.
func (d OSDisk) Remove(name string) error {
	if err := d.Moved(); err != nil {
		return err
	}
	return os.Remove(d.path(name))
}

// ErrMoved says that a directory does not lie where it was found.
var ErrMoved = errors.New("it was moved, or removed")

// Moved is ErrMoved if something else lies in the place of Home, or nothing.
func (d OSDisk) Moved() error {
	if d.Home == nil {
		return nil
	}
	fi, err := os.Stat(d.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || !os.SameFile(d.Home, fi) {
		return &fs.PathError{Op: "use", Path: d.Dir, Err: ErrMoved}
	}
	return nil
}

// SyncDir implements Disk.
func (d OSDisk) SyncDir(dir string) error {
	f, err := os.Open(d.path(dir))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// osFile is an open file. Synchronous writes go through a second opening of it.
type osFile struct {
	*os.File
	disk OSDisk
	sync *os.File
}

// WriteSync implements File. The write goes past the page cache where the file system can do that.
func (f *osFile) WriteSync(b []byte, at int64) error {
	if f.sync == nil {
		// The same file, whatever its name is now.
		name := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
		var err error
		if f.sync, err = os.OpenFile(name, os.O_RDWR|syscall.O_DSYNC|syscall.O_DIRECT, 0); errors.Is(err, syscall.EINVAL) {
			f.sync, err = os.OpenFile(name, os.O_RDWR|syscall.O_DSYNC, 0)
		}
		if err != nil {
			return err
		}
	}
	n, err := f.sync.WriteAt(b, at)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = f.found()
	}
	return err
}

// ErrRemoved says that a file has no name any more: what is written to it nothing reads again.
var ErrRemoved = errors.New("it was removed")

// found is the error of a file that is not found again where it was.
func (f *osFile) found() error {
	_, links, err := sys.OpenID(f.sync)
	if err != nil {
		return err
	}
	if links == 0 {
		return &fs.PathError{Op: "write", Path: f.Name(), Err: ErrRemoved}
	}
	return f.disk.Moved()
}

// Size implements File.
func (f *osFile) Size() (int64, error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}

// Close implements File.
func (f *osFile) Close() error {
	err := f.File.Close()
	if f.sync != nil {
		err = errors.Join(err, f.sync.Close())
	}
	return err
}
