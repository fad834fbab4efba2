package reset

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// Session is a connection for putting databases back, opened by server.OpenUnlogged. One
// goroutine at a time may use it.
type Session struct {
	Conn   *sql.Conn
	server *server.Server
	// format is the format description that the server knows from this session.
	format *binlog.Format
	// connection is its number, 0 until it is asked for, and account the name of ours. A list of sessions has another
	// name while the server does something with the rights of a definer.
	connection uint64
	account    string
	// packet is its max_allowed_packet, in bytes, 0 until it is asked for.
	packet int
}

// NewSession returns a Session over a connection.
func NewSession(s *server.Server, conn *sql.Conn) *Session { return &Session{Conn: conn, server: s} }

// id is the number of its connection.
func (s *Session) id(ctx context.Context) (uint64, error) {
	if s.connection == 0 {
		if err := s.Conn.QueryRowContext(ctx, "SELECT SUBSTRING_INDEX(USER(), '@', 1), CONNECTION_ID()").Scan(&s.account, &s.connection); err != nil {
			return 0, fmt.Errorf("ask for the connection's number: %w", err)
		}
	}
	return s.connection, nil
}

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

// maxStatement bounds the text of a BINLOG statement, in bytes, and so does the server's max_allowed_packet, less
// aroundStatement for what stands around the events.
const maxStatement, aroundStatement = 8 << 20, 4 << 10

// statementBytes is how long a statement of this session may be, in bytes.
func (s *Session) statementBytes(ctx context.Context) (int, error) {
	if s.packet == 0 {
		if err := s.Conn.QueryRowContext(ctx, "SELECT @@max_allowed_packet").Scan(&s.packet); err != nil {
			return 0, fmt.Errorf("ask for max_allowed_packet: %w", err)
		}
	}
	return min(maxStatement, s.packet-aroundStatement), nil
}

// maxBlock bounds the text of a BINLOG statement that goes to the server in one with others, in
// bytes: the server keeps a block as a whole.
const maxBlock = 1 << 20

// undo undoes changes of rows, all or none, and then restores counters.
func (s *Session) undo(ctx context.Context, changes []binlog.Change, f *binlog.Format, o binlog.InvertOptions, restore []string) error {
	inv, err := binlog.Invert(changes, o)
	if err != nil {
		return err
	}
	if len(inv.Statements) == 0 {
		return s.restore(ctx, restore)
	}
	if err := s.describe(ctx, f); err != nil {
		return err
	}
	if len(inv.Statements) > 1 {
		if err := s.transaction(ctx, inv.Statements); err != nil {
			return err
		}
		return s.restore(ctx, restore)
	}
	text := binlogStatement(inv.Statements[0]) // it is a transaction by itself
	if most := min(maxBlock, o.MaxBytes); len(restore) > 0 && len(text) <= most {
		if block := s.server.Block(append([]string{text}, restore...)...); block != "" && len(block) <= most {
			if err := s.exec(ctx, block); err != nil {
				return fmt.Errorf("undo changes of rows, and put counters back: %w", err)
			}
			return nil
		}
	}
	if err := s.binlog(ctx, text); err != nil {
		return err
	}
	return s.restore(ctx, restore)
}

// transaction applies several lots of events, all or none.
func (s *Session) transaction(ctx context.Context, lots [][]byte) error {
	if err := s.exec(ctx, "BEGIN"); err != nil {
		return err
	}
	for _, events := range lots {
		if err := s.binlog(ctx, binlogStatement(events)); err != nil {
			_ = s.exec(context.WithoutCancel(ctx), "ROLLBACK") // the caller makes the database again
			return err
		}
	}
	return s.exec(ctx, "COMMIT")
}

func binlogStatement(events []byte) string {
	var b strings.Builder
	b.Grow(len("BINLOG ''") + len(events))
	b.WriteString("BINLOG '")
	b.Write(events)
	b.WriteString("'")
	return b.String()
}

// binlog applies events. Its answer does not say that those of further statements
// follow, so that it must be sent alone, or in a block.
func (s *Session) binlog(ctx context.Context, text string) error {
	if err := s.exec(ctx, text); err != nil {
		return fmt.Errorf("undo changes of rows: %w", err)
	}
	return nil
}

// errNoUser says that it is not known whose connections are meant.
var errNoUser = errors.New("the account whose connections are to be ended has no name")

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
			case !dbconn.NoSuchThread(err):
				return fmt.Errorf("end connection %d: %w", id, err)
			}
		}
		threads = there
	}
	return nil
}

// connections returns all connections of a user. Those without a name are anybody's.
func (s *Session) connections(ctx context.Context, user string) ([]uint64, error) {
	if user == "" {
		return nil, errNoUser
	}
	sessions, err := dbconn.Sessions(ctx, s.Conn)
	if err != nil {
		return nil, err
	}
	var list []uint64
	for _, other := range sessions {
		if other.User == user {
			list = append(list, other.ID)
		}
	}
	return list, nil
}
