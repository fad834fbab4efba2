package sys

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// StopPoll is a sensible pause between two calls of Stopped: threads that are not in
// the middle of a system call stop within microseconds.
const StopPoll = 50 * time.Microsecond

// Stopped reports whether the child pid has stopped, all threads of it, since it was
// last asked. The kernel tells the parent when the last thread has (waitid(2)).
func Stopped(pid int) (bool, error) { return changed(pid, unix.WSTOPPED) }

// Continued reports whether the stopped child pid was let go on since it was last
// asked.
func Continued(pid int) (bool, error) { return changed(pid, unix.WCONTINUED) }

func changed(pid, what int) (bool, error) {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, what|unix.WNOHANG, nil)
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask after process %d: %w", pid, err)
	}
	return info.Signo != 0, nil
}
