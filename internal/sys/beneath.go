package sys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNotPlain says that a name below a directory of a server's is no regular file, or no
// directory: a link, for example, which leads elsewhere.
var ErrNotPlain = errors.New("something else has been put in its place")

// Dir is an open directory that a server may write to, for work of root below it. The server's
// account can put a link or a FIFO in the place of any name there, at any moment; so each name is
// opened from the directory that was opened before, and no link is followed. os.Root does less: it
// follows links that stay inside, and waits for who writes to a FIFO.
type Dir struct {
	fd   int
	path string // for messages
}

// OpenDir opens a directory, and refuses a link to one. What it lies in must be ours, or have
// the sticky bit as /tmp has.
func OpenDir(path string) (*Dir, error) {
	return openDirAt(unix.AT_FDCWD, path, path)
}

func openDirAt(at int, name, path string) (*Dir, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open directory", Path: path, Err: notPlain(err)}
	}
	return &Dir{fd, path}, nil
}

// notPlain is ErrNotPlain for the errors that tell of a link, of a file where a directory
// should be, or of a socket or FIFO.
func notPlain(err error) error {
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ENXIO) {
		return ErrNotPlain
	}
	return err
}

// Close lets it go.
func (d *Dir) Close() error { return unix.Close(d.fd) }

// CloseWith is Close for deferring: an error goes into *err.
func (d *Dir) CloseWith(err *error) { *err = errors.Join(*err, d.Close()) }

// Dir opens the directory of one name in d.
func (d *Dir) Dir(name string) (*Dir, error) {
	if err := d.oneName(name); err != nil {
		return nil, err
	}
	return openDirAt(d.fd, name, filepath.Join(d.path, name))
}

// Open opens the regular file of one name in d; anything else is ErrNotPlain. What
// os.O_CREATE makes has mode 0600.
func (d *Dir) Open(name string, flag int) (*os.File, error) {
	if err := d.oneName(name); err != nil {
		return nil, err
	}
	path := filepath.Join(d.path, name)
	fd, err := unix.Openat(d.fd, name, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: notPlain(err)}
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = ErrNotPlain
	}
	if err != nil {
		return nil, errors.Join(&os.PathError{Op: "open", Path: path, Err: err}, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), path), nil
}

// OpenIn opens the regular file of one name in the directory at path for reading.
func OpenIn(path, name string) (_ *os.File, err error) {
	d, err := OpenDir(path)
	if err != nil {
		return nil, err
	}
	defer d.CloseWith(&err)
	return d.Open(name, os.O_RDONLY)
}

// Names returns the names of what lies in d.
func (d *Dir) Names() ([]string, error) {
	fd, err := unix.Openat(d.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open directory", Path: d.path, Err: err}
	}
	f := os.NewFile(uintptr(fd), d.path)
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}

// Modified is when a file in d was last made, removed or renamed, in nanoseconds.
func (d *Dir) Modified() (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		return 0, &os.PathError{Op: "stat", Path: d.path, Err: err}
	}
	return st.Mtim.Nano(), nil
}

// Written is when the file of one name in d was last written, in nanoseconds.
func (d *Dir) Written(name string) (int64, error) {
	var st unix.Stat_t
	err := d.oneName(name)
	if err == nil {
		err = unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return 0, &os.PathError{Op: "stat", Path: filepath.Join(d.path, name), Err: err}
	}
	return st.Mtim.Nano(), nil
}

// SetWritten says that the file of one name in d was last written at a time, in nanoseconds.
func (d *Dir) SetWritten(name string, at int64) error {
	err := d.oneName(name)
	if err == nil {
		err = unix.UtimesNanoAt(d.fd, name, []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(at)}, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return &os.PathError{Op: "set time of", Path: filepath.Join(d.path, name), Err: err}
	}
	return nil
}

// Mode is the permission bits of d.
func (d *Dir) Mode() (fs.FileMode, error) {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		return 0, &os.PathError{Op: "stat", Path: d.path, Err: err}
	}
	return fs.FileMode(st.Mode) & fs.ModePerm, nil
}

// Remove removes the file of one name in d, or the link itself. One that is not there is no error.
func (d *Dir) Remove(name string) error {
	err := d.oneName(name)
	if err == nil {
		err = unix.Unlinkat(d.fd, name, 0)
	}
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "remove", Path: filepath.Join(d.path, name), Err: err}
	}
	return nil
}

// unnamed makes a file in d that has no name, with mode 0600; named gives it one that is free.
func (d *Dir) unnamed() (*os.File, error) {
	fd, err := unix.Openat(d.fd, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "make file in", Path: d.path, Err: err}
	}
	return os.NewFile(uintptr(fd), d.path), nil
}

func (d *Dir) named(f *os.File, name string) error {
	err := d.oneName(name)
	if err == nil {
		err = unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(int(f.Fd())), d.fd, name, unix.AT_SYMLINK_FOLLOW)
	}
	if err != nil {
		return &os.PathError{Op: "name file", Path: filepath.Join(d.path, name), Err: err}
	}
	return nil
}

// Give gives the directory to an account, with mode 0700. It must be the account's, or the
// caller's, now: one in a shared place could be anybody's.
func (d *Dir) Give(uid, gid int) error {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		return &os.PathError{Op: "stat", Path: d.path, Err: err}
	}
	if owner := int(st.Uid); owner != os.Geteuid() && owner != uid {
		return fmt.Errorf("%s is there and belongs to uid %d, not to us", d.path, owner)
	}
	if err := unix.Fchmod(d.fd, 0o700); err != nil {
		return &os.PathError{Op: "set mode of", Path: d.path, Err: err}
	}
	if int(st.Uid) == uid && int(st.Gid) == gid {
		return nil
	}
	if err := unix.Fchown(d.fd, uid, gid); err != nil {
		return fmt.Errorf("give %s to uid %d: %w", d.path, uid, err)
	}
	return nil
}

func (d *Dir) oneName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("use %q in %s: it is no name of a file", name, d.path)
	}
	return nil
}
