package random

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/go-sql-driver/mysql"

	"github.com/ramaria-db/ramaria/tests/home"
	"github.com/ramaria-db/ramaria/tests/picture"
)

// session is one connection of a lease. It is made again when it has ended.
type session struct {
	in   *instance
	auth *mysql.Config

	db   *sql.DB
	conn *sql.Conn
	id   int64

	mu  sync.Mutex
	net net.Conn // guarded by mu

	busy chan error // of the statement that was begun; nil if none was

	// first are the statements that each of its connections begins with.
	first []string
}

func (in *instance) newSession(user, password, database string) *session {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = user, password, "unix", in.endpoint.Socket, database
	c.Logger = &mysql.NopLogger{}
	s := &session{in: in, auth: c, first: free}
	c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, addr)
		s.mu.Lock()
		s.net = conn
		s.mu.Unlock()
		return conn, err
	}
	return s
}

// calmed is a session that does as the tester means, whatever the settings of the server are.
func (s *session) calmed() *session { s.first = calm; return s }

// open connects, unless it is connected.
func (s *session) open(ctx context.Context) error {
	if s.conn != nil {
		return nil
	}
	connector, err := mysql.NewConnector(s.auth)
	if err != nil {
		return err
	}
	s.db = sql.OpenDB(connector)
	if s.conn, err = s.db.Conn(ctx); err != nil {
		s.drop()
		return fmt.Errorf("connect: %w", err)
	}
	// Statements that wait for each other must not take the test's time.
	for _, text := range append(slices.Clone(s.first), "SET SESSION innodb_lock_wait_timeout=1, lock_wait_timeout=1") {
		if _, err := s.conn.ExecContext(ctx, text); err != nil {
			s.drop()
			return err
		}
	}
	return s.conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&s.id)
}

// drop forgets the connection.
func (s *session) drop() {
	if s.conn != nil {
		s.conn.Close()
	}
	if s.db != nil {
		s.db.Close()
	}
	s.conn, s.db = nil, nil
}

// cut ends the connection under a statement, if there is one, without a word to the server.
func (s *session) cut() {
	s.mu.Lock()
	if s.net != nil {
		s.net.Close()
	}
	s.mu.Unlock()
}

// exec runs a statement, and reads all that it returns.
func (s *session) exec(ctx context.Context, text string) error {
	ctx, cancel := s.in.patiently(ctx)
	defer cancel()
	err := s.open(ctx)
	if err == nil {
		err = home.Exec(ctx, s.conn, text)
	}
	if err != nil && picture.Number(err) == 0 { // not the server's word
		s.drop()
	}
	if err != nil && errors.Is(context.Cause(ctx), errStuck) {
		return fmt.Errorf("%w: %w", errStuck, err)
	}
	return err
}

// begin is exec without waiting for its end.
func (s *session) begin(ctx context.Context, text string) {
	busy := make(chan error, 1)
	s.busy = busy
	if err := s.open(ctx); err != nil {
		busy <- err
		return
	}
	go func() { busy <- s.exec(ctx, text) }()
}

// await waits for the statement that was begun. It reports whether there was one.
func (s *session) await() (was bool, err error) {
	if s.busy == nil {
		return false, nil
	}
	err = <-s.busy
	s.busy = nil
	return true, err
}

func (s *session) close() {
	s.cut()
	_, _ = s.await()
	s.drop()
}
