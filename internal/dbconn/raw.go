package dbconn

import (
	"context"
	"errors"
	"net"

	"github.com/go-sql-driver/mysql"
)

// Raw logs in through the socket at path, runs statements and hands out the connection itself, for
// commands that are no SQL. release closes it.
func Raw(ctx context.Context, path string, login Login, statements ...string) (_ net.Conn, release func() error, err error) {
	var raw net.Conn
	db, err := open(path, login, "", ownSettings, func(c *mysql.Config) {
		c.DialFunc = func(ctx context.Context, network, addr string) (_ net.Conn, err error) {
			raw, err = (&net.Dialer{}).DialContext(ctx, network, addr)
			return raw, err
		}
	})
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, text := range statements {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return nil, nil, errors.Join(err, conn.Close())
		}
	}
	return raw, func() error {
		// The driver would say goodbye to a server that does not listen: the socket first. That it is
		// closed is then all that the driver has to tell.
		err := raw.Close()
		_ = conn.Close()
		_ = db.Close()
		return err
	}, nil
}
