package sys

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// shutDownCall is FS_IOC_SHUTDOWN, which ext4 and XFS know.
const shutDownCall = 2<<30 | uint(4)<<16 | 'X'<<8 | 125

// ShutDown has every use of the file system at path fail with EIO from now on, and nothing of it is written any more, if it
// is the one on the device of that number (DeviceNumber). It needs CAP_SYS_ADMIN.
func ShutDown(path string, number uint64) error {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("shut down file system: %w", err)
	}
	defer dir.Close()
	var is unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &is); err != nil {
		return fmt.Errorf("shut down file system at %s: %w", path, err)
	}
	if is.Dev != number {
		return fmt.Errorf("shut down file system at %s: it is another", path)
	}
	flags := uint32(unix.FS_SHUTDOWN_FLAGS_NOLOGFLUSH)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, dir.Fd(), uintptr(shutDownCall), uintptr(unsafe.Pointer(&flags)))
	runtime.KeepAlive(&flags)
	if errno != 0 {
		return fmt.Errorf("shut down file system at %s: %w", path, errno)
	}
	return nil
}

// DeviceNumber is that of the device that a file lies on.
func DeviceNumber(path string) (uint64, error) {
	var is unix.Stat_t
	if err := unix.Stat(path, &is); err != nil {
		return 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return is.Dev, nil
}
