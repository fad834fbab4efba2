package rewind

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/server"
)

// Session is a connection by which databases are put back, of server.OpenUnlogged. It is
// for one goroutine at a time.
type Session struct {
	Conn   *sql.Conn
	server *server.Server
	// format is the format description that the server knows from this session.
	format *binlog.Format
}

// NewSession makes a Session of a connection.
func NewSession(s *server.Server, conn *sql.Conn) *Session { return &Session{Conn: conn, server: s} }

func (s *Session) exec(ctx context.Context, text string) error {
	_, err := s.Conn.ExecContext(ctx, text)
	return err
}

// describe tells the server how the events are written that come later. It must be a
// statement of its own, and the first.
func (s *Session) describe(ctx context.Context, f *binlog.Format) error {
	if s.format != nil && s.format.Version == f.Version {
		return nil
	}
	if err := s.exec(ctx, "BINLOG '"+string(f.Base64())+"'"); err != nil {
		return fmt.Errorf("describe events: %w", err)
	}
	s.format = f
	return nil
}

// maxStatement bounds the text of a BINLOG statement, in bytes: a server's
// max_allowed_packet is at least 16 MB in our settings.
const maxStatement = 8 << 20

// undo undoes changes of rows, all or none.
func (s *Session) undo(ctx context.Context, changes []binlog.Change, f *binlog.Format, serverID uint32) error {
	if len(changes) == 0 {
		return nil
	}
	inv, err := binlog.Invert(changes, binlog.InvertOptions{Flavour: f.Flavour, ServerID: serverID, MaxBytes: maxStatement})
	if err != nil {
		return err
	}
	if err := s.describe(ctx, f); err != nil {
		return err
	}
	if len(inv.Statements) == 1 { // it is a transaction by itself
		return s.binlog(ctx, inv.Statements[0])
	}
	if err := s.exec(ctx, "BEGIN"); err != nil {
		return err
	}
	for _, text := range inv.Statements {
		if err := s.binlog(ctx, text); err != nil {
			_ = s.exec(context.WithoutCancel(ctx), "ROLLBACK") // the caller makes the database again
			return err
		}
	}
	return s.exec(ctx, "COMMIT")
}

func (s *Session) binlog(ctx context.Context, text []byte) error {
	var b strings.Builder
	b.Grow(len(text) + 10)
	b.WriteString("BINLOG '")
	b.Write(text)
	b.WriteString("'")
	if err := s.exec(ctx, b.String()); err != nil {
		return fmt.Errorf("undo changes of rows: %w", err)
	}
	return nil
}

// counters returns AUTO_INCREMENT of the tables of a database that have it.
func (s *Session) counters(ctx context.Context, name string) (map[string]uint64, error) {
	// #nosec G202 -- the name is quoted; a parameter would cost a round trip
	rows, err := s.Conn.QueryContext(ctx, "SELECT table_name, auto_increment FROM information_schema.tables WHERE table_schema = '"+strings.ReplaceAll(name, "'", "''")+"' AND auto_increment > 1")
	if err != nil {
		return nil, fmt.Errorf("ask for counters: %w", err)
	}
	defer rows.Close()
	list := map[string]uint64{}
	for rows.Next() {
		var table string
		var n uint64
		if err := rows.Scan(&table, &n); err != nil {
			return nil, fmt.Errorf("ask for counters: %w", err)
		}
		list[table] = n
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("ask for counters: %w", err)
	}
	return list, nil
}

// restore puts back the counters of a database that are others than they were.
func (s *Session) restore(ctx context.Context, name string, want, have map[string]uint64) error {
	var b strings.Builder
	set := func(table string, n uint64) {
		fmt.Fprintf(&b, "ALTER TABLE %s.%s AUTO_INCREMENT = %d;", server.QuoteName(name), server.QuoteName(table), n)
	}
	for table, n := range have {
		if was, known := want[table]; !known {
			set(table, 1)
		} else if was != n {
			set(table, was)
		}
	}
	for table, n := range want {
		if _, known := have[table]; !known {
			set(table, n)
		}
	}
	if b.Len() == 0 {
		return nil
	}
	if err := s.exec(ctx, b.String()); err != nil {
		return fmt.Errorf("put counters back: %w", err)
	}
	return nil
}

// gonePoll is how often a session that was killed is looked for.
const gonePoll = 200 * time.Microsecond

// kill ends connections and waits until they are gone: what they were about to commit
// stands in the log then, or never will.
func (s *Session) kill(ctx context.Context, threads []uint64) error {
	// All are told before any is waited for. Who is told again is still there; MySQL cannot
	// list in information_schema.processlist a session whose statement has an emoji.
	for wait := time.Duration(0); len(threads) > 0; wait = gonePoll {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for connections to end: %w", ctx.Err())
		case <-time.After(wait):
		}
		there := threads[:0]
		for _, id := range threads {
			err := s.exec(ctx, "KILL CONNECTION "+strconv.FormatUint(id, 10))
			switch {
			case err == nil:
				there = append(there, id)
			case !server.NoSuchThread(err):
				return fmt.Errorf("end connection %d: %w", id, err)
			}
		}
		threads = there
	}
	return nil
}

// connections returns all connections of a user.
func (s *Session) connections(ctx context.Context, user string) ([]uint64, error) {
	rows, err := s.Conn.QueryContext(ctx, "SHOW PROCESSLIST") // see kill
	if err != nil {
		return nil, fmt.Errorf("ask for connections: %w", err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, fmt.Errorf("ask for connections: %w", err)
	}
	var id uint64
	var name string
	into := make([]any, len(columns))
	into[0], into[1] = &id, &name
	for i := 2; i < len(into); i++ {
		into[i] = new(sql.RawBytes)
	}
	var list []uint64
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, fmt.Errorf("ask for connections: %w", err)
		}
		if name == user {
			list = append(list, id)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("ask for connections: %w", err)
	}
	return list, nil
}
