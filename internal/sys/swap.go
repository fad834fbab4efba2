package sys

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Head of a swap area: see union swap_header in include/linux/swap.h.
const (
	swapVersionAt = 1024
	swapMagic     = "SWAPSPACE2"
)

// NewSwap makes a file of size bytes that the kernel can swap to, without holes, for this account alone.
func NewSwap(path string, size int64) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := unix.Fallocate(int(f.Fd()), 0, 0, size); err != nil {
		return fmt.Errorf("make swap file %s: %w", path, err)
	}
	page := int64(os.Getpagesize())
	head := make([]byte, page)
	binary.NativeEndian.PutUint32(head[swapVersionAt:], 1)
	binary.NativeEndian.PutUint32(head[swapVersionAt+4:], uint32(size/page-1)) // #nosec G115 -- the last page of a file
	copy(head[page-int64(len(swapMagic)):], swapMagic)
	if _, err := f.WriteAt(head, 0); err != nil {
		return err
	}
	return f.Sync()
}

// SwapOn has the kernel swap to a file, after all others that it has.
func SwapOn(path string) error { return swap(unix.SYS_SWAPON, path) }

// SwapOff ends that: what lies there comes back to memory. A file that is no swap is no error.
func SwapOff(path string) error {
	err := swap(unix.SYS_SWAPOFF, path)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		return nil
	}
	// Who may not ask is told so of every file.
	if list, lerr := os.ReadFile("/proc/swaps"); errors.Is(err, unix.EPERM) && lerr == nil && !strings.Contains("\n"+string(list), "\n"+escapedPath(path)+" ") {
		return nil
	}
	return err
}

func swap(call uintptr, path string) error {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(call, uintptr(unsafe.Pointer(name)), 0, 0); errno != 0 {
		return fmt.Errorf("swap to %s: %w", path, errno)
	}
	return nil
}
