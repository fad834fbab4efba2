package client

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
)

// quiet says that an idle connection can be used: its other end has neither closed it
// nor sent anything. It costs one system call, and is exact at the moment of it: with
// a Unix socket nothing is on its way. Of another machine the end may be on its way.
func quiet(c net.Conn) bool {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	u, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return false
	}
	var peeked error
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, peeked = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	return err == nil && errors.Is(peeked, syscall.EAGAIN)
}
