package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

const (
	// MaxPath is the length, in bytes, of the longest path of a socket, from unix(7)
	// less the final zero.
	MaxPath = 107

	socketMode = 0o600
)

// ErrListening says that another process listens on the socket.
var ErrListening = errors.New("another process listens on it")

// Listen makes the socket at path, which only the caller's user can connect to, and
// listens. It replaces one that was left behind, and refuses one that is listened on
// (ErrListening) or anything else of that name (fs.ErrExist). Two processes may not
// call it for one path at the same time: the lock of the instance sees to that.
// Closing the listener removes the socket.
func Listen(path string) (net.Listener, error) {
	failed := func(err error) error { return fmt.Errorf("listen on %s: %w", path, err) }
	if len(path) > MaxPath {
		return nil, failed(fmt.Errorf("a socket's path has at most %d bytes, and this has %d\nhint: use a shorter --home", MaxPath, len(path)))
	}
	l, err := listen(path)
	if errors.Is(err, syscall.EADDRINUSE) {
		if err := removeStale(path); err != nil {
			return nil, failed(err)
		}
		l, err = listen(path)
	}
	if err != nil {
		return nil, failed(err)
	}
	return l, nil
}

// listen binds and listens. A chmod afterwards would leave a moment in which others
// could connect, and the umask is the whole process's. But Linux gives the socket's file
// the mode of the open socket, less the umask (unix_bind_bsd in net/unix/af_unix.c),
// and that can be set before there is a file.
func listen(path string) (_ net.Listener, err error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var chmod error
		err := raw.Control(func(fd uintptr) { chmod = syscall.Fchmod(int(fd), socketMode) })
		return errors.Join(err, chmod)
	}}
	l, err := config.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	// A kernel that does it otherwise must be found out: better no API than an open one.
	fi, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if rest := fi.Mode().Perm() &^ socketMode; rest != 0 {
		return nil, fmt.Errorf("this kernel made the socket with mode %04o: others could connect", fi.Mode().Perm())
	}
	return l, nil
}

// removeStale removes a socket that no process listens on.
func removeStale(path string) error {
	fi, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if fi.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%w, and is not a socket\nhint: rm -r %s", fs.ErrExist, path)
	}
	c, err := new(net.Dialer).DialContext(context.Background(), "unix", path)
	if err == nil {
		c.Close()
		return ErrListening
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w, or so it seems: %w", ErrListening, err) // as with a full queue
	}
	return os.Remove(path)
}
