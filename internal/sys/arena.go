package sys

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Arena is memory that is not Go's. It takes none of the machine's until it is written to, begins at a multiple of the
// page size, and parts of it can be given back.
type Arena struct {
	// all is what was mapped, of which b is used.
	all, b []byte
	// giveBack is the advice that does so: locked memory wants another.
	giveBack int
	// noPopulate says that the kernel cannot give many pages in one call.
	noPopulate atomic.Bool
}

// HugePage is the size of a huge page, in bytes, and where one begins is a multiple of it.
const HugePage = 2 << 20

// NewArena reserves size bytes, a multiple of the page size.
func NewArena(size int64) (*Arena, error) {
	// The kernel would give a huge page for the first byte of it, and could not take back a part.
	return newArena(size, unix.MADV_NOHUGEPAGE)
}

// NewHugeArena reserves size bytes, a multiple of HugePage, that the kernel gives huge pages for where it has some ready.
func NewHugeArena(size int64) (*Arena, error) { return newArena(size, unix.MADV_HUGEPAGE) }

func newArena(size int64, pages int) (*Arena, error) {
	// Room to begin at a huge page.
	all, err := unix.Mmap(-1, 0, int(size+HugePage), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if errors.Is(err, unix.ENOMEM) {
		return nil, fmt.Errorf("reserve %d bytes of addresses: %w\nhint: vm.overcommit_memory=2 and `ulimit -v` limit these; ask for a smaller size", size, err)
	}
	if err != nil {
		return nil, fmt.Errorf("reserve %d bytes of addresses: %w", size, err)
	}
	_ = unix.Madvise(all, pages) // a kernel without huge pages
	first := -int64(uintptr(unsafe.Pointer(unsafe.SliceData(all)))) & (HugePage - 1)
	return &Arena{all: all, b: all[first : first+size], giveBack: unix.MADV_DONTNEED}, nil
}

// Lock keeps what is written to it out of swap, from then on (mlock2(2)). It needs CAP_IPC_LOCK, and Linux 5.18.
func (a *Arena) Lock() error {
	// Before there is anything that counts: the older kernels cannot give locked memory back.
	if err := unix.Madvise(a.b[:os.Getpagesize()], unix.MADV_DONTNEED_LOCKED); err != nil {
		return fmt.Errorf("lock memory that can be given back: %w", err)
	}
	if err := lockOnFault(a.b); err != nil {
		return fmt.Errorf("lock memory: %w", err)
	}
	a.giveBack = unix.MADV_DONTNEED_LOCKED
	return nil
}

// Bytes is all of it. Nothing may use it after Close.
func (a *Arena) Bytes() []byte { return a.b }

// Populate gets memory for n bytes from off on, both multiples of the page size, in one call instead of one page after
// the other as they are written to. Where the kernel cannot (before Linux 5.14), nothing happens.
func (a *Arena) Populate(off, n int64) {
	if !a.noPopulate.Load() && errors.Is(unix.Madvise(a.b[off:off+n], unix.MADV_POPULATE_WRITE), unix.EINVAL) {
		a.noPopulate.Store(true)
	}
}

// GiveBack gives n bytes from off on back to the machine, both multiples of the page size; they then read as zeros.
func (a *Arena) GiveBack(off, n int64) error {
	if err := unix.Madvise(a.b[off:off+n], a.giveBack); err != nil {
		return fmt.Errorf("give memory back: %w", err)
	}
	return nil
}

// Close gives it up.
func (a *Arena) Close() error {
	if err := unix.Munmap(a.all); err != nil {
		return fmt.Errorf("give memory up: %w", err)
	}
	return nil
}

// UnnamedDirect makes a file without a name in a directory, for this account alone, which is read and written past the
// page cache: offsets, lengths and memory are multiples of its file system's block, 4096 bytes at most. A file system
// that cannot pass over the cache uses it. On btrfs it is written in place: what has room there keeps it.
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
	writeInPlace(f)
	return f, nil
}

// noCopyOnWrite is FS_NOCOW_FL of linux/fs.h.
const noCopyOnWrite = 0x00800000

// writeInPlace has a file system that writes everything to a new place (btrfs) not do so for an empty file. Others
// refuse it, and need it not.
func writeInPlace(f *os.File) {
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil {
		_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags|noCopyOnWrite) // see above
	}
}
