package sys

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// The mark of a server's process is that it may hold no file locks of the kind that Linux 2.4 has
// counted last: RLIMIT_LOCKS does nothing since, so that nobody lowers it. Whatever the process starts
// inherits the limit, and none of them can raise it again without CAP_SYS_RESOURCE (setrlimit(2)).
// Landlock's domain, which would say it better, cannot be seen from outside.
const serverMark = unix.RLIMIT_LOCKS

// MarkServer marks a process, and all that it starts from then on, so that PeerIsServer knows them. It
// fails for a process of another account, where the caller lacks CAP_SYS_RESOURCE.
func MarkServer(pid int) error {
	if err := unix.Prlimit(pid, serverMark, &unix.Rlimit{}, nil); err != nil {
		return fmt.Errorf("mark process %d: %w", pid, err)
	}
	return nil
}

// PeerIsServer reports whether the process that has connected to a Unix socket descends from one that
// MarkServer has marked, or has ended, so that nobody can tell any more. A process of another account
// that we may not look at, and one that no process number here stands for, as in a container beside
// ours, is none of our servers.
func PeerIsServer(socket int) (bool, error) {
	failed := func(err error) (bool, error) { return true, fmt.Errorf("look who has connected: %w", err) }
	peer, err := unix.GetsockoptUcred(socket, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return failed(err)
	}
	if peer.Pid == 0 {
		return false, nil
	}
	// Its number may be another process's by now; the handle is its own. Linux has it since 6.5.
	handle, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	switch {
	case err == nil:
		defer unix.Close(handle)
	case !errors.Is(err, unix.ENOPROTOOPT):
		return true, nil // it has ended
	}
	var limit unix.Rlimit
	switch err := unix.Prlimit(int(peer.Pid), serverMark, nil, &limit); {
	case errors.Is(err, unix.EPERM):
		limit.Max = unix.RLIM_INFINITY
	case errors.Is(err, unix.ESRCH):
		return true, nil
	case err != nil:
		return failed(err)
	}
	if handle > 0 && errors.Is(unix.PidfdSendSignal(handle, 0, nil, 0), unix.ESRCH) {
		return true, nil
	}
	return limit.Max == 0, nil
}
