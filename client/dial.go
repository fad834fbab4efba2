package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"
)

// dial connects to the socket at path, having looked at who owns it. A socket may
// lie in /tmp, where anyone can make one and wait for a client that is misled to it.
func dial(ctx context.Context, path string) (net.Conn, error) {
	if err := checkFile(path); err != nil {
		return nil, noServer(err)
	}
	c, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, noServer(err)
	}
	// Between the look and the connection a link on the way may have been changed; who
	// listens cannot be.
	if err := checkPeer(c); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// noServer makes an error ErrNoServer where its cause is that nothing listens.
func noServer(err error) error {
	var cause string
	switch {
	case errors.Is(err, fs.ErrNotExist):
		cause = "there is no such socket"
	case errors.Is(err, syscall.ECONNREFUSED):
		cause = "nothing listens on the socket now"
	default:
		return err
	}
	return fmt.Errorf("%w: %s\nhint: ramaria ls shows what runs; ramaria up starts it", ErrNoServer, cause)
}
