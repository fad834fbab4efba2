package sys

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Arena is memory that is not Go's. It takes none of the machine's until it is written to, begins at a multiple of the
// page size, and parts of it can be given back.
type Arena struct{ b []byte }

// NewArena reserves size bytes, a multiple of the page size.
func NewArena(size int64) (*Arena, error) {
	b, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("reserve %d bytes of memory: %w", size, err)
	}
	// The kernel would give two megabytes for the first byte of them, and could not take back a part.
	_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE)
	return &Arena{b}, nil
}

// Bytes is all of it. Nothing may use it after Close.
func (a *Arena) Bytes() []byte { return a.b }

// GiveBack gives n bytes from off on back to the machine, both multiples of the page size; they then read as zeros.
func (a *Arena) GiveBack(off, n int64) error {
	if err := unix.Madvise(a.b[off:off+n], unix.MADV_DONTNEED); err != nil {
		return fmt.Errorf("give memory back: %w", err)
	}
	return nil
}

// Close gives it up.
func (a *Arena) Close() error {
	if err := unix.Munmap(a.b); err != nil {
		return fmt.Errorf("give memory up: %w", err)
	}
	return nil
}

// UnnamedDirect makes a file without a name in a directory, for this account alone, which is read and written past the
// page cache: offsets, lengths and memory are multiples of its file system's block, 4096 bytes at most. A file system
// that cannot pass over the cache uses it.
func UnnamedDirect(dir string) (_ *os.File, err error) {
	d, err := OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer d.CloseWith(&err)
	f, err := d.unnamed()
	if err != nil {
		return nil, err
	}
	Direct(f)
	return f, nil
}
