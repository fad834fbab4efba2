package sys

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// HungUp reports whether the other side of a connection has closed it, whatever is left to read.
func HungUp(conn net.Conn) bool {
	c, is := conn.(syscall.Conn)
	if !is {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	var gone bool
	err = raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(p, 0)
		gone = err == nil && n > 0 // POLLHUP and POLLERR are always asked for
	})
	return gone || err != nil
}
