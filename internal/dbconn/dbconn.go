// Package dbconn speaks SQL to a running server: connections over its socket, accounts, questions
// about sessions, locks, transactions and InnoDB, and what the numbers of errors mean. What differs
// between servers it takes from a Dialect; it starts nothing, and knows no file of a server's.
package dbconn

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Open returns a handle for connections of login over the socket at path, whose settings are those that
// statements of Ramaria depend on (see Variable). No connection is made yet.
func Open(path string, login Login, database string) (*sql.DB, error) {
	return open(path, login, database, ownSettings, func(*mysql.Config) {})
}

// ownSettings are those of sessions that do no more than ask the server, or tell it something.
var ownSettings = setup(repeatableRead, basis, language)

// OpenUnlogged returns a handle for sessions of login that put things back: what they do is
// not in the binary log, is bound by no foreign key, and takes values as they are. A text
// may hold several statements.
func (d Dialect) OpenUnlogged(path string, login Login) (*sql.DB, error) {
	// Reading from a template takes no locks. All in one text, since it may hold several statements.
	settings := strings.Join(setup(readCommitted, basis, language, d.Unlogged), "; ")
	return open(path, login, "", []string{settings}, func(c *mysql.Config) { c.MultiStatements = true })
}

func open(path string, login Login, database string, setup []string, set func(*mysql.Config)) (*sql.DB, error) {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = login.User, login.Password, "unix", path, database
	// The server prepares no statement, of which the application may have taken as many as max_prepared_stmt_count allows.
	c.InterpolateParams = true
	set(c)
	// The driver's own log would write to stderr what callers report anyway.
	c.Logger = log{}
	conn, err := mysql.NewConnector(c)
	if err != nil {
		return nil, fmt.Errorf("open connection to %s: %w", path, err)
	}
	return sql.OpenDB(connector{conn, setup}), nil
}

type log struct{}

func (log) Print(...any) {}

// Querier is a database, or one connection to it.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

var _, _ Querier = (*sql.DB)(nil), (*sql.Conn)(nil)

// Query runs a statement that returns rows and calls row with each, as text.
func Query(ctx context.Context, db Querier, query string, row func(cols []string) error) error {
	rows, err := db.QueryContext(ctx, query)
	if IsView(err) {
		err = fmt.Errorf("there is a view in the place of a table of the server's own: %w", err)
	}
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

// Question is a question, and what is done with each row of the answer. The text has no
// parameters, since these would be a round trip of their own.
type Question struct {
	Text string
	Row  func(*sql.Rows) error
}

// Packet is how many bytes of statements go to a server at once, at most, where they are many: less than the least
// max_allowed_packet that servers of ours have (server.LeastPacket).
const Packet = 48 << 10

// Lots divides statements, or parts of one, into lots that are less than Packet each, with what stands between them; one
// that is larger has a lot of its own.
func Lots(texts []string) (lots [][]string) {
	const between = len("; ")
	for len(texts) > 0 {
		n, size := 1, len(texts[0])
		for n < len(texts) && size+between+len(texts[n]) < Packet {
			size += between + len(texts[n])
			n++
		}
		lots = append(lots, texts[:n])
		texts = texts[n:]
	}
	return lots
}

// Ask asks everything in order, in one round trip where that is less than Packet. The connection must be one on which
// several statements may be sent at once, such as those of OpenUnlogged.
func Ask(ctx context.Context, conn *sql.Conn, questions ...Question) error {
	texts := make([]string, len(questions))
	for i, q := range questions {
		texts[i] = q.Text
	}
	for _, lot := range Lots(texts) {
		if err := ask(ctx, conn, questions[:len(lot)], lot); err != nil {
			return err
		}
		questions = questions[len(lot):]
	}
	return nil
}

func ask(ctx context.Context, conn *sql.Conn, questions []Question, texts []string) error {
	rows, err := conn.QueryContext(ctx, strings.Join(texts, "; "))
	if err != nil {
		return err
	}
	defer rows.Close()
	for i, q := range questions {
		if i > 0 && !rows.NextResultSet() {
			break // with an error
		}
		for rows.Next() {
			if err := q.Row(rows); err != nil {
				return err
			}
		}
	}
	return rows.Err()
}
