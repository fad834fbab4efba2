package client

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// checkFile refuses what is not a socket of the caller's or of root's.
func checkFile(path string) error {
	fi, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("look at socket: %w", err)
	}
	if fi.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("look at socket: it is not one\nhint: ramaria env has the right %s", EnvVar)
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("look at socket: its owner is not known")
	}
	return trust(st.Uid, "belongs to")
}

// checkPeer refuses a connection to a process that, when it began to listen, was
// neither the caller's nor root's.
func checkPeer(c net.Conn) error {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("look at who listens: not a Unix socket but %T", c)
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return fmt.Errorf("look at who listens: %w", err)
	}
	var cred *syscall.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err == nil {
		err = credErr
	}
	if err != nil {
		return fmt.Errorf("look at who listens: %w", err)
	}
	return trust(cred.Uid, "is listened on by")
}

// trust refuses another user: their process would learn what is asked, and could
// answer with a database of its own.
func trust(uid uint32, how string) error {
	if me := os.Geteuid(); uid != 0 && int(uid) != me {
		return fmt.Errorf("the socket %s user %d, neither user %d, who asks, nor root\nhint: run this as user %d, if you trust them: sudo -u '#%d' COMMAND", how, uid, me, uid, uid)
	}
	return nil
}
