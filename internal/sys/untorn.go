package sys

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Untorn is what the kernel says of writes with RWF_ATOMIC to a file, which a power cut leaves whole or undone. It
// says nothing of other writes: statx(2), STATX_WRITE_ATOMIC, and pwritev2(2). Sizes are in bytes.
type Untorn struct {
	// Min and Max bound the size of such a write; Max is 0 where there are none.
	Min, Max int64
	// Fast is the largest that the device itself does. XFS does larger ones in software, by copy on write (Linux 6.16).
	Fast int64
	// Wrote says that a write of the size asked for was taken, and Refused why not.
	Wrote   bool
	Refused error
}

// ProbeUntorn asks for a nameless file in a directory, opened past the page cache, and writes one block of size bytes.
func ProbeUntorn(dir string, size int) (u Untorn, err error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return u, fmt.Errorf("open a file past the page cache in %s: %w", dir, err)
	}
	f := os.NewFile(uintptr(fd), dir)
	defer f.Close()
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_WRITE_ATOMIC, &st); err != nil {
		return u, fmt.Errorf("statx a file in %s: %w", dir, err)
	}
	if st.Mask&unix.STATX_WRITE_ATOMIC != 0 {
		u.Min, u.Max, u.Fast = int64(st.Atomic_write_unit_min), int64(st.Atomic_write_unit_max), int64(st.Atomic_write_unit_max_opt)
		if u.Fast == 0 { // "a value of zero indicates that stx_atomic_write_unit_max is the optimised limit"
			u.Fast = u.Max
		}
	}
	block, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE) // begins at a page
	if err != nil {
		return u, fmt.Errorf("probe writes in %s: %w", dir, err)
	}
	defer unix.Munmap(block) //nolint:errcheck // it goes with the process
	if _, err := unix.Pwrite(fd, block, 0); err != nil {
		return u, fmt.Errorf("write past the page cache in %s: %w", dir, err)
	}
	n, err := unix.Pwritev2(fd, [][]byte{block}, 0, unix.RWF_ATOMIC)
	u.Wrote, u.Refused = err == nil && n == size, err
	return u, nil
}
