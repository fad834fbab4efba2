package lab

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// Lease is a clone of a template as a test has it: a connection to it that stays open,
// and one to the API.
type Lease struct {
	client.Database
	API  *client.Client
	DB   *sql.DB
	Conn *sql.Conn

	warned []string // by the last reset
}

// login is the account that the lease came with.
func (l *Lease) login() dbconn.Login {
	return dbconn.Login{User: l.User, Password: l.Password}
}

// Endpoint is where the lease's account connects to its database.
func (l *Lease) Endpoint() dbconn.Endpoint {
	return dbconn.Endpoint{Host: l.Host, Port: l.Port, Socket: l.Socket, Login: l.login(), Database: l.Name}
}

func (l *Lease) connect(ctx context.Context) (err error) {
	if l.DB, err = dbconn.Open(l.Socket, l.login(), l.Name); err != nil {
		return err
	}
	l.Conn, err = l.DB.Conn(ctx)
	return err
}

// Reset puts the database back, which must be done in the way that is measured; "" is any.
func (l *Lease) Reset(ctx context.Context, way string) error {
	r, err := l.API.ResetDatabase(ctx, l.Name, client.RestoreCounters)
	l.warned = r.Warnings
	if err == nil && way != "" && r.Way != way {
		err = fmt.Errorf("reset %s: it was done by %s (%s), not by %s", l.Name, r.Way, r.Why, way)
	}
	return err
}

// Way makes changes, puts the database back, and tells in which way that was done.
func (l *Lease) Way(ctx context.Context, changes []Change) (string, error) {
	if err := MakeChanges(ctx, l.Conn, changes); err != nil {
		return "", err
	}
	r, err := l.API.ResetDatabase(ctx, l.Name, client.RestoreCounters)
	l.warned = r.Warnings
	return r.Way, err
}

// Cycle makes changes, puts the database back, and tells how long each took.
func (l *Lease) Cycle(ctx context.Context, changes []Change, way string) (made, undone time.Duration, err error) {
	began := time.Now()
	if err := MakeChanges(ctx, l.Conn, changes); err != nil {
		if len(l.warned) > 0 { // as that it ended connections
			err = fmt.Errorf("%w (the reset before said: %s)", err, strings.Join(l.warned, "; "))
		}
		return 0, 0, err
	}
	made = time.Since(began)
	began = time.Now()
	err = l.Reset(ctx, way)
	return made, time.Since(began), err
}

// Close closes the connections. The database goes with its instance. It may be called
// more than once, and on nil.
func (l *Lease) Close() {
	if l == nil {
		return
	}
	if l.Conn != nil {
		l.Conn.Close()
	}
	if l.DB != nil {
		l.DB.Close()
	}
	l.API.Close()
}
