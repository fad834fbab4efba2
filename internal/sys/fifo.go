package sys

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// fifoPoll is the pause between two looks whether a FIFO has a reader, or was read.
const fifoPoll = 500 * time.Microsecond

// MakeFIFO makes a FIFO of one name in d, with mode 0600, for an account to read; 0 and 0 leave it to the caller.
func (d *Dir) MakeFIFO(name string, uid, gid int) error {
	err := d.oneName(name)
	if err == nil {
		err = unix.Mkfifoat(d.fd, name, 0o600)
	}
	if err == nil && (uid != 0 || gid != 0) {
		err = unix.Fchownat(d.fd, name, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return &os.PathError{Op: "make FIFO", Path: filepath.Join(d.path, name), Err: err}
	}
	return nil
}

// FIFO is the writing end of one that somebody reads.
type FIFO struct{ f *os.File }

// OpenFIFO waits until somebody has opened the FIFO of one name in the directory at path for reading, and opens it for
// writing. Anything else by that name is ErrNotPlain.
func OpenFIFO(ctx context.Context, path, name string) (_ *FIFO, err error) {
	d, err := OpenDir(path)
	if err != nil {
		return nil, err
	}
	defer d.CloseWith(&err)
	for {
		fd, err := unix.Openat(d.fd, name, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == nil {
			return fifoOf(fd, filepath.Join(path, name))
		}
		if !errors.Is(err, unix.ENXIO) { // nobody reads it yet
			return nil, &os.PathError{Op: "open FIFO", Path: filepath.Join(path, name), Err: notPlain(err)}
		}
		if err := fifoPause(ctx); err != nil {
			return nil, err
		}
	}
}

func fifoOf(fd int, path string) (*FIFO, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFIFO {
		err = ErrNotPlain
	}
	if err == nil { // who writes to one that nobody reads any more is told
		err = unix.SetNonblock(fd, false)
	}
	if err != nil {
		return nil, errors.Join(&os.PathError{Op: "open FIFO", Path: path, Err: err}, unix.Close(fd))
	}
	return &FIFO{os.NewFile(uintptr(fd), path)}, nil
}

// Write implements io.Writer.
func (p *FIFO) Write(b []byte) (int, error) { return p.f.Write(b) }

// Drained waits until all that was written has been read.
func (p *FIFO) Drained(ctx context.Context) error {
	for {
		n, err := unix.IoctlGetInt(int(p.f.Fd()), unix.TIOCINQ)
		if err != nil {
			return &os.PathError{Op: "look at FIFO", Path: p.f.Name(), Err: err}
		}
		if n == 0 {
			return nil
		}
		if err := fifoPause(ctx); err != nil {
			return err
		}
	}
}

// Close ends what is read from it.
func (p *FIFO) Close() error { return p.f.Close() }

func fifoPause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(fifoPoll):
		return nil
	}
}
