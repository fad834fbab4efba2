package ramariatest

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
)

// settleWait is for how long a reset waits for a call that is under way on a connection,
// such as the rollback that database/sql makes by itself when a context ends, before it
// ends the connection.
const settleWait = 100 * time.Millisecond

// driverConn is what connections of the driver can do.
type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.NamedValueChecker
	driver.SessionResetter
	driver.Validator
}

// conn is a connection on which two may work: database/sql for the test, one call at a
// time, and settle.
type conn struct {
	driverConn
	pool *pool
	wire net.Conn
	// made is how many resets there had been then: what its session holds is not for what comes after the next one.
	made int64
	// ended is why the connection was cut.
	ended atomic.Pointer[error]

	turn chan struct{} // holds one element while a goroutine is at it; it guards the rest
	// since is how many resets there had been when the connection was last known to be alive.
	since int64
	// dirty says that there may be a transaction: only the server knows.
	dirty bool
	// reading says that a result is open, so that nothing can be sent.
	reading bool
	// began says that there is a sql.Tx, rolledBack that settle has ended it.
	began, rolledBack bool
}

var _ driverConn = (*conn)(nil)

// call makes a call to the driver, unless the connection or its transaction is over.
func (c *conn) call(f func() error) error {
	return c.alone(func() error {
		if c.rolledBack {
			return errRolledBack
		}
		c.dirty = true
		return f()
	})
}

// alone runs f while no other works on the connection.
func (c *conn) alone(f func() error) error {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if why := c.ended.Load(); why != nil {
		return *why
	}
	return c.explain(f())
}

// explain says what a lost connection is due to. It hides driver.ErrBadConn, which
// database/sql would pass on without an explanation.
func (c *conn) explain(err error) error {
	resets := c.pool.resets.Load()
	switch why := c.ended.Load(); {
	case err == nil:
		c.since = resets
		return nil
	case !lost(err):
		return err
	case why != nil:
		return *why
	case c.since == resets:
		return err
	}
	return fmt.Errorf("%w: %v", errEnded, err) //nolint:errorlint // see above
}

// lostCodes are errors of servers that end a connection: ER_SERVER_SHUTDOWN,
// CR_SERVER_LOST, ER_CONNECTION_KILLED (MariaDB) and ER_CLIENT_INTERACTION_TIMEOUT
// (MySQL).
var lostCodes = []uint16{1053, 2013, 1927, 4031}

func lost(err error) bool {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return slices.Contains(lostCodes, e.Number)
	}
	for _, target := range []error{driver.ErrBadConn, mysql.ErrInvalidConn, net.ErrClosed, syscall.EPIPE, syscall.ECONNRESET} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// settle rolls back what is open on the connection, or ends it.
func (c *conn) settle(ctx context.Context) {
	late := time.NewTimer(settleWait)
	defer late.Stop()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-late.C:
		c.cut(errEnded)
		return
	}
	switch {
	case c.reading:
		c.cut(errEnded)
	case c.dirty:
		if _, err := c.driverConn.ExecContext(ctx, "ROLLBACK", nil); err != nil {
			c.cut(errEnded)
		}
		c.dirty, c.rolledBack = false, c.began
	}
}

// cut ends the connection, whatever is going on there. It is the network's connection that
// is closed, since the driver's may be in use.
func (c *conn) cut(why error) {
	if c.ended.CompareAndSwap(nil, &why) {
		_ = c.wire.Close() // which cannot fail in a way that matters
	}
}

// discard ends a connection that is not to be used again, and what the driver has of it.
func (c *conn) discard() {
	c.cut(errTestOver)
	late := time.NewTimer(settleWait)
	defer late.Stop()
	select {
	case c.turn <- struct{}{}: // soon, since a call under way has lost its connection
		defer func() { <-c.turn }()
		_ = c.driverConn.Close() // which can say only that the connection is closed
	case <-late.C:
	}
}

// The methods below implement interfaces of database/sql/driver.

func (c *conn) Close() error {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	c.pool.forget(c)
	if err := c.driverConn.Close(); c.ended.Load() == nil {
		return err
	}
	return nil
}

func (c *conn) IsValid() bool { return c.ended.Load() == nil && c.driverConn.IsValid() }

// ResetSession is called before a connection of the pool is used again.
func (c *conn) ResetSession(ctx context.Context) error {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if c.ended.Load() != nil || c.made != c.pool.resets.Load() {
		return driver.ErrBadConn // the pool has others, or makes one
	}
	c.since = c.made
	return c.driverConn.ResetSession(ctx)
}

func (c *conn) Ping(ctx context.Context) error {
	return c.call(func() error { return c.driverConn.Ping(ctx) })
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (r driver.Result, err error) {
	err = c.call(func() error { r, err = c.driverConn.ExecContext(ctx, query, args); return err })
	return r, err
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.query(func() (driver.Rows, error) { return c.driverConn.QueryContext(ctx, query, args) })
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	var s driver.Stmt
	err := c.call(func() (err error) { s, err = c.driverConn.PrepareContext(ctx, query); return err })
	if err != nil {
		return nil, err
	}
	full, ok := s.(driverStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("prepare: the driver's %T lacks what is needed", s), s.Close())
	}
	return &stmt{full, c}, nil
}

func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	var t driver.Tx
	err := c.call(func() (err error) { t, err = c.driverConn.BeginTx(ctx, opts); c.began = err == nil; return err })
	if err != nil {
		return nil, err
	}
	return &tx{t, c}, nil
}

func (c *conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}
