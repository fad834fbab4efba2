package sys

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Inherited are descriptors above 2 that this process got from its parent.
type Inherited []int

// HoldInherited finds the descriptors above 2 that this process was started with
// and keeps them from processes that it starts: a server that lives on must not
// hold its caller's locks and pipes open. Call it before anything is opened.
func HoldInherited() Inherited {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	var in Inherited
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= 2 {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue // our own
		}
		unix.CloseOnExec(fd)
		in = append(in, fd)
	}
	return in
}

// Release lets processes that are started from now on inherit them again: the
// command of a `ramaria run` is its caller's.
func (in Inherited) Release() {
	for _, fd := range in {
		// The only error is that it was closed meanwhile.
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0)
	}
}
