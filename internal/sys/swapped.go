package sys

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrNoCachestat says that the kernel does not tell which pages of a file are in memory: it is older
// than 6.5, or a filter of calls forbids it.
var ErrNoCachestat = errors.New("the kernel does not tell what of a file is in memory")

// SwappedOut returns how many bytes of the files in dir, and in the directories in it, are swapped
// out. dir must lie in a tmpfs: in another file system the same number is of pages that were in the
// cache once. What vanishes meanwhile is passed over.
func SwappedOut(dir string) (bytes int64, err error) {
	var one func(fd int, name string, st *unix.Stat_t) error
	one = func(fd int, name string, st *unix.Stat_t) error {
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			return files(fd, name, one)
		case unix.S_IFREG:
			n, err := swapped(fd, name)
			bytes += n
			return err
		}
		return nil
	}
	return bytes, files(unix.AT_FDCWD, dir, one)
}

// swapped is SwappedOut of a regular file.
func swapped(dir int, name string) (int64, error) {
	// The server can put a FIFO in its place at any moment: opening one must not wait.
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ELOOP) {
		return 0, nil
	}
	if err != nil {
		return 0, gone("open", name, err)
	}
	defer unix.Close(fd)
	var whole unix.CachestatRange // from 0 on, to the end
	var c unix.Cachestat_t
	_, _, errno := unix.Syscall6(unix.SYS_CACHESTAT, uintptr(fd), uintptr(unsafe.Pointer(&whole)), uintptr(unsafe.Pointer(&c)), 0, 0, 0) // #nosec G103 -- the call has no wrapper
	switch errno {
	case 0:
		// Of a tmpfs, entries of swap are what is in the place of evicted pages: mm/filemap.c, filemap_cachestat.
		return int64(c.Evicted) * int64(unix.Getpagesize()), nil // #nosec G115 -- less than the file
	case unix.ENOSYS, unix.EPERM, unix.EOPNOTSUPP:
		return 0, ErrNoCachestat
	}
	return 0, gone("cachestat", name, errno)
}
