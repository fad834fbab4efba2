package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	// StartTimeout is how long a server may take until it answers a query. It
	// includes crash recovery of a large instance.
	StartTimeout = 10 * time.Minute
	// readyPoll is the pause between two looks for the server's socket.
	readyPoll = 500 * time.Microsecond
)

// Open returns a handle for connections of login over the socket at path. No
// connection is made yet.
func Open(path string, login Login, database string) (*sql.DB, error) {
	return open(path, login, database, func(*mysql.Config) {})
}

// OpenUnlogged returns a handle for sessions of login that put things back: what they do is
// not in the binary log, is bound by no foreign key, and takes values as they are. A text
// may hold several statements.
func (s *Server) OpenUnlogged(path string, login Login) (*sql.DB, error) {
	return open(path, login, "", func(c *mysql.Config) {
		c.MultiStatements, c.Params = true, s.family().unlogged
	})
}

func open(path string, login Login, database string, set func(*mysql.Config)) (*sql.DB, error) {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = login.User, login.Password, "unix", path, database
	set(c)
	// The driver's own log would write to stderr what callers report anyway.
	c.Logger = log{}
	conn, err := mysql.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("open connection to %s: %w", path, err)
	}
	return sql.OpenDB(conn), nil
}

type log struct{}

func (log) Print(...any) {}

// Ready waits until the server has answered a query on db, whose socket is at
// path. It returns early when the process ends; the error then says how, and what
// the log at logPath says.
func (p *Process) Ready(ctx context.Context, db *sql.DB, path, logPath string) error {
	ctx, cancel := context.WithTimeout(ctx, StartTimeout)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		err := answer(ctx, db, path)
		if err == nil {
			return nil
		}
		if refused(err) {
			return fmt.Errorf("start server: its first statements failed: %w\n%s", err, LogTail(logPath))
		}
		select {
		case <-p.done:
			return fmt.Errorf("start server: %s\n%s%s", Cause(p.err), LogTail(logPath), settingHint(logPath))
		case <-ctx.Done():
			return fmt.Errorf("wait for the server's first answer: %w (last: %w)\n%s", ctx.Err(), err, LogTail(logPath))
		case <-tick.C:
		}
	}
}

// refused reports whether the server answers, and refuses the account: 1045, 1698
// (access denied).
func refused(err error) bool {
	return numbered(err, 1045, 1698)
}

// answer tries one query. The socket appears while the server still starts, and a
// connection made then is accepted once it is ready, so that a single try waits
// just as long as is needed.
func answer(ctx context.Context, db *sql.DB, path string) error {
	if _, err := os.Stat(path); err != nil {
		return err
	}
	var one int
	return db.QueryRowContext(ctx, "SELECT 1").Scan(&one)
}

// PortTaken reports whether the server's log at path says that its TCP port was
// in use.
func PortTaken(path string) bool {
	return strings.Contains(LogTail(path), "Can't start server: Bind on TCP/IP port")
}

// settingHint returns a line that hints at --set when the server's log at path says
// that it refused a setting, else "".
func settingHint(path string) string {
	tail := LogTail(path)
	for _, refusal := range []string{"unknown variable", "unknown option", "Error while setting value", "ambiguous option", "Unknown suffix"} {
		if strings.Contains(tail, refusal) {
			return "\nhint: mend what --set gives, or leave it out (up --fresh repeats what it is not given anew: ramaria down --rm first); the server's manual lists the options of its version"
		}
	}
	return ""
}

// Query runs a statement that returns rows and calls row with each, as text.
func Query(ctx context.Context, db *sql.DB, query string, row func(cols []string) error) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("query %q: %w", query, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return fmt.Errorf("query %q: %w", query, err)
	}
	vals := make([]sql.NullString, len(names))
	ptrs := make([]any, len(names))
	for i := range vals {
		ptrs[i] = &vals[i]
	}
	cols := make([]string, len(names))
	for rows.Next() {
		if err := rows.Scan(ptrs...); err != nil {
			return fmt.Errorf("query %q: %w", query, err)
		}
		for i, v := range vals {
			cols[i] = v.String
		}
		if err := row(cols); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("query %q: %w", query, err)
	}
	return nil
}
