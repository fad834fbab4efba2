package sys

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Direct has ReadDirect read a file past the page cache (O_DIRECT), where its file system can do that: what is read
// once need not take the memory of a second copy.
func Direct(f *os.File) {
	if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0); err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETFL, flags|unix.O_DIRECT)
	}
}

// ReadDirect reads from a file that Direct was called for, up to the end of b or of the file; want is how many of
// these bytes there must be. The memory of b begins at a multiple of the file system's block, as that of a large
// slice does; its length is such a multiple, and so is at.
func ReadDirect(f *os.File, b []byte, at, want int64) error {
	for n := int64(0); n < want; {
		got, err := unix.Pread(int(f.Fd()), b[n:], at+n)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("read %s: %w", f.Name(), err)
		case got == 0:
			return fmt.Errorf("read %s: %w", f.Name(), io.ErrUnexpectedEOF)
		}
		n += int64(max(got, 0))
	}
	return nil
}

// IsDirect reports whether Direct could do that.
func IsDirect(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_DIRECT != 0
}

// DropCache has the page cache forget what it has of a file that was synced.
func DropCache(f *os.File) error {
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return fmt.Errorf("drop the page cache of %s: %w", f.Name(), err)
	}
	return nil
}
