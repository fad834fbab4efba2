package scenario

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/server"
)

// lease is a clone of a template as a test has it: a connection to it that stays open,
// and one to the API.
type lease struct {
	client.Database
	api  *client.Client
	db   *sql.DB
	conn *sql.Conn
}

// login is the account that the lease came with.
func (l *lease) login() server.Login {
	return server.Login{User: l.User, Password: l.Password}
}

func (l *lease) endpoint() server.Endpoint {
	return server.Endpoint{Host: l.Host, Port: l.Port, Socket: l.Socket, Login: l.login(), Database: l.Name}
}

func (l *lease) connect(ctx context.Context) (err error) {
	if l.db, err = server.Open(l.Socket, l.login(), l.Name); err != nil {
		return err
	}
	l.conn, err = l.db.Conn(ctx)
	return err
}

// reset puts the database back, which must be done in the way that is measured.
func (l *lease) reset(ctx context.Context, way string) error {
	r, err := l.api.ResetDatabase(ctx, l.Name, client.RestoreCounters)
	if err != nil {
		return err
	}
	if way != "" && r.Way != way {
		return fmt.Errorf("reset %s: it was done by %s (%s), not by %s", l.Name, r.Way, r.Why, way)
	}
	return nil
}

// cycle makes changes, puts the database back, and tells how long each took.
func (l *lease) cycle(ctx context.Context, changes []change, way string) (made, undone time.Duration, err error) {
	began := time.Now()
	if err := makeChanges(ctx, l.conn, changes); err != nil {
		return 0, 0, err
	}
	made = time.Since(began)
	began = time.Now()
	err = l.reset(ctx, way)
	return made, time.Since(began), err
}

// close closes the connections. The database goes with its instance. It may be called
// more than once, and on nil.
func (l *lease) close() {
	if l == nil {
		return
	}
	if l.conn != nil {
		l.conn.Close()
	}
	if l.db != nil {
		l.db.Close()
	}
	l.api.Close()
}

// connected runs work over a connection to a database that is open no longer than that.
func connected(ctx context.Context, e server.Endpoint, work func(conn *sql.Conn) error) error {
	db, err := server.Open(e.Socket, e.Login, e.Database)
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return work(conn)
}

// change is a statement and the number of rows that it changes.
type change struct {
	statement string
	rows      int64
}

// executor is a *sql.Conn or a *sql.DB.
type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

var _ executor = (*sql.Conn)(nil)

// makeChanges runs statements. One that changes other rows than it should is an error.
func makeChanges(ctx context.Context, conn executor, changes []change) error {
	for _, c := range changes {
		r, err := conn.ExecContext(ctx, c.statement)
		if err != nil {
			return fmt.Errorf("%s: %w", c.statement, err)
		}
		n, err := r.RowsAffected()
		if err != nil {
			return err
		}
		if n != c.rows {
			return fmt.Errorf("%s: it changed %d rows, not %d", c.statement, n, c.rows)
		}
	}
	return nil
}
