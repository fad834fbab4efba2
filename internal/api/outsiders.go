package api

import (
	"errors"
	"log/slog"
	"net"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// outsiders is a listener that lets no server in. The mode of the socket keeps out other users, but
// the servers of an ordinary user run as that user, and Landlock lets them connect to any socket that
// has a path (before Linux 7.1): what runs in a server would read the passwords of all instances here.
type outsiders struct {
	net.Listener
	log *slog.Logger
}

// Accept returns the next connection that does not come out of a server; others are closed.
func (o outsiders) Accept() (net.Conn, error) {
	for {
		c, err := o.Listener.Accept()
		if err != nil {
			return nil, err
		}
		inside, err := fromServer(c)
		if !inside {
			return c, nil
		}
		o.log.Warn("a connection to the API was refused: a process of a server has made it, or one that ended at once", "error", err)
		c.Close()
	}
}

// fromServer reports whether a process of a server has connected; over TCP there is a token for that.
func fromServer(c net.Conn) (inside bool, err error) {
	local, ok := c.(*net.UnixConn)
	if !ok {
		return false, nil
	}
	raw, err := local.SyscallConn()
	if err != nil {
		return true, err
	}
	var looked error
	err = raw.Control(func(fd uintptr) { inside, looked = sys.PeerIsServer(int(fd)) })
	return inside || err != nil, errors.Join(err, looked)
}
