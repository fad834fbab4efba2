package sys

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mlockOnFault is MLOCK_ONFAULT of mlock2(2).
const mlockOnFault = 1

func lockOnFault(b []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_MLOCK2, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), mlockOnFault)
	if errno != 0 {
		return errno
	}
	return nil
}

// LockMemory keeps all memory of this process, once it has been used, out of swap (mlockall(2)). It needs CAP_IPC_LOCK.
func LockMemory() error {
	if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT); err != nil {
		return fmt.Errorf("lock memory: %w", err)
	}
	return nil
}

// StartFlusher starts a process that the kernel writes dirty pages to: when it needs memory, the kernel does not wait
// for pages to be written, which may be waiting for this process, and it is not slowed down for the pages that it
// writes itself (PR_SET_IO_FLUSHER, Linux 5.6). Without CAP_SYS_RESOURCE the process starts as an ordinary one.
func StartFlusher(cmd *exec.Cmd) error {
	// What is set for a thread goes to the processes that it starts.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := unix.Prctl(unix.PR_SET_IO_FLUSHER, 1, 0, 0, 0)
	if err == nil {
		defer unix.Prctl(unix.PR_SET_IO_FLUSHER, 0, 0, 0, 0) //nolint:errcheck // it was allowed a moment ago
	} else if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return cmd.Start()
}

// MayFlush reports whether StartFlusher has the right to it.
func MayFlush() bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.Prctl(unix.PR_SET_IO_FLUSHER, 1, 0, 0, 0) != nil {
		return false
	}
	_ = unix.Prctl(unix.PR_SET_IO_FLUSHER, 0, 0, 0, 0) // it was allowed a moment ago
	return true
}

// IsFlusher reports whether this process was started by StartFlusher, with the right to it.
func IsFlusher() bool {
	is, err := unix.PrctlRetInt(unix.PR_GET_IO_FLUSHER, 0, 0, 0, 0)
	return err == nil && is == 1
}
