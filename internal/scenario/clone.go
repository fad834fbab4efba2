package scenario

import (
	"context"
	"database/sql"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/server"
)

// clone is the database of a worker, which another takes the place of in each cycle.
type clone struct{ client.Database }

// renew drops it, if there is one, and makes another.
func (c *clone) renew(ctx context.Context, api *client.Client, template string) (err error) {
	if c.Name != "" {
		if err := api.DropDatabase(ctx, c.Name); err != nil {
			return err
		}
		c.Name = ""
	}
	c.Database, err = api.NewDatabase(ctx, client.DatabaseRequest{Template: template})
	return err
}

// connected runs work over a connection to it, which is new as the database is.
func (c *clone) connected(ctx context.Context, work func(conn *sql.Conn) error) error {
	return connected(ctx, server.Endpoint{Socket: c.Socket, Login: server.Login{User: c.User, Password: c.Password}, Database: c.Name}, work)
}

func (c *clone) change(ctx context.Context, list []change) error {
	return c.connected(ctx, func(conn *sql.Conn) error { return makeChanges(ctx, conn, list) })
}

// changes are changesIn its tables.
func (c *clone) changes(ctx context.Context) (list []change, err error) {
	err = c.connected(ctx, func(conn *sql.Conn) (err error) {
		list, err = changesIn(ctx, conn, c.Name)
		return err
	})
	return list, err
}
