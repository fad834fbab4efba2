package sys

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// FileID says which file it is.
type FileID struct {
	DevMajor, DevMinor uint32
	Inode              uint64
}

// LinkID says which file a name stands for, without following a link.
//
// Unlike lstat(2) it does not ask for times: after a question for its times the next write to a file gives it a
// new one, on many file systems (multigrain timestamps, Linux 6.13), and that is a second write to the disk where
// writes are synchronous.
func LinkID(path string) (FileID, error) {
	id, _, err := fileID(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT)
	if err != nil {
		return id, &os.PathError{Op: "statx", Path: path, Err: err}
	}
	return id, nil
}

// OpenID says which file is open, and how many names it has. It does not ask for times either.
func OpenID(f *os.File) (id FileID, links uint32, err error) {
	id, links, err = fileID(int(f.Fd()), "", unix.AT_EMPTY_PATH)
	runtime.KeepAlive(f)
	if err != nil {
		return id, links, fmt.Errorf("statx %s: %w", f.Name(), err)
	}
	return id, links, nil
}

func fileID(dir int, path string, flags int) (id FileID, links uint32, err error) {
	st, err := statx(dir, path, flags, unix.STATX_INO|unix.STATX_NLINK)
	return FileID{st.Dev_major, st.Dev_minor, st.Ino}, st.Nlink, err
}

func statx(dir int, path string, flags, mask int) (st unix.Statx_t, err error) {
	for {
		if err = unix.Statx(dir, path, flags, mask, &st); err != unix.EINTR {
			return st, err
		}
	}
}

// Born says when an open file was made, by a clock that may be some milliseconds behind. Some file systems do not know.
func Born(f *os.File) (time.Time, error) {
	st, err := statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME)
	runtime.KeepAlive(f)
	if err == nil && st.Mask&unix.STATX_BTIME == 0 {
		err = errors.ErrUnsupported
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("statx %s: %w", f.Name(), err)
	}
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)), nil
}
