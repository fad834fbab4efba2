package ramariatest

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"

	"github.com/ramaria-db/ramaria/client"
)

// ErrReset is matched by errors of connections and transactions that a reset of their database
// ended.
var ErrReset = errors.New("roll back or commit before the reset")

var (
	errRolledBack = fmt.Errorf("ramariatest: Ramaria rolled this transaction back at a reset of its database; %w", ErrReset)
	errEnded      = fmt.Errorf("ramariatest: Ramaria ended this connection at a reset, since it had a transaction or a result open; %w", ErrReset)
	errTestOver   = errors.New("ramariatest: the test that this database belonged to is over")
)

// pool is what a test is given: a sql.DB that knows its connections, so that what they left
// open can be rolled back. database/sql shows neither those that are in use nor those
// that are not.
type pool struct {
	db        *sql.DB
	dsn       string
	connector driver.Connector
	// resets counts what settle was called for: an error of a connection that was used
	// before may come from that.
	resets atomic.Int64

	mu    sync.Mutex
	conns map[*conn]bool
	over  bool // no more of them
}

func newPool(d client.Database, params string) (*pool, error) {
	c, err := mysql.ParseDSN("/?" + params)
	if err != nil {
		return nil, fmt.Errorf("read parameters %q: %w", params, err)
	}
	c.User, c.Passwd, c.DBName = d.User, d.Password, d.Name
	c.Net, c.Addr = "tcp", net.JoinHostPort(d.Host, strconv.Itoa(d.Port))
	if _, err := os.Stat(d.Socket); err == nil { // twice as fast; but not seen from everywhere
		c.Net, c.Addr = "unix", d.Socket
	}
	p := &pool{dsn: c.FormatDSN(), conns: map[*conn]bool{}}
	c.DialFunc = dial
	// It would tell of each connection that is ended on purpose.
	c.Logger = &mysql.NopLogger{}
	if p.connector, err = mysql.NewConnector(c); err != nil {
		return nil, fmt.Errorf("read parameters %q: %w", params, err)
	}
	p.db = sql.OpenDB(p)
	return p, nil
}

// wireKey is where dial leaves the network connection for Connect.
type wireKey struct{}

func dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if wire, ok := ctx.Value(wireKey{}).(*net.Conn); ok {
		*wire = c
	}
	return c, err
}

// Connect makes a connection, for database/sql.
func (p *pool) Connect(ctx context.Context) (driver.Conn, error) {
	c := &conn{pool: p, made: p.resets.Load(), turn: make(chan struct{}, 1)}
	inner, err := p.connector.Connect(context.WithValue(ctx, wireKey{}, &c.wire))
	if err != nil {
		return nil, err
	}
	full, ok := inner.(driverConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("connect: the driver's %T lacks what is needed", inner), inner.Close())
	}
	c.driverConn, c.since = full, c.made
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return nil, cmp.Or(inner.Close(), errTestOver)
	}
	p.conns[c] = true
	return c, nil
}

// Driver returns the driver's own, for database/sql.
func (p *pool) Driver() driver.Driver { return p.connector.Driver() }

func (p *pool) list() []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]*conn, 0, len(p.conns))
	for c := range p.conns {
		list = append(list, c)
	}
	return list
}

func (p *pool) forget(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// settle rolls back what is open on any connection. Those on which that cannot be done are
// ended.
func (p *pool) settle(ctx context.Context) {
	p.resets.Add(1)
	for _, c := range p.list() {
		c.settle(ctx)
	}
}

// close rolls back what is open, and closes all connections.
func (p *pool) close(ctx context.Context) {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.settle(ctx)
	_ = p.db.Close() // of connections that are of no use any more
	for _, c := range p.list() {
		c.discard()
	}
}
