package load

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// session is a connection, for one goroutine at a time.
type session struct {
	conn     *sql.Conn
	told     int // of loader.sets
	database string
	bulk     bool // unique_checks are off
	epoch    int  // which loader.sets told is of
}

func (s *session) exec(ctx context.Context, text string) error {
	_, err := s.conn.ExecContext(ctx, text)
	return err
}

// alter changes keys. The server would go on with it when ctx ends, and those who make keys
// again meet it; on MySQL it may also meet the CREATE TABLE of a table that refers to this one,
// and be chosen as the victim.
func (s *session) alter(ctx context.Context, text string) error {
	ctx = context.WithoutCancel(ctx)
	// A definition that CREATE TABLE accepted in another sql_mode must not be refused now.
	if err := s.exec(ctx, "SET @ramaria_mode = @@sql_mode, sql_mode = '', @ramaria_wait = @@lock_wait_timeout, lock_wait_timeout = DEFAULT"); err != nil {
		return err
	}
	err := s.exec(ctx, text)
	for try := 1; dbconn.LockTimeout(err) && try < maxTries; try++ {
		err = s.exec(ctx, text)
	}
	if back := s.exec(ctx, "SET sql_mode = @ramaria_mode, lock_wait_timeout = @ramaria_wait"); err == nil {
		err = back
	}
	return err
}

// facts are what the meaning of rows depends on.
type facts struct {
	client, connection, mode string
	foreignKeyChecks         bool
}

// charset returns the character set in which LOAD DATA can take over strings: no backslash is
// part of another character, and nothing is converted on the way; "" if no set qualifies. MySQL
// warns of utf8 each time; of what is in it, all but characters of four bytes is utf8mb4.
func (f facts) charset(rows []byte) string {
	if f.client != f.connection || strings.Contains(f.mode, "NO_BACKSLASH_ESCAPES") || strings.Contains(f.mode, "ANSI_QUOTES") {
		return ""
	}
	switch f.client {
	case "utf8mb4", "latin1", "binary":
		return f.client
	case "utf8mb3", "utf8":
		if !slices.ContainsFunc(rows, func(c byte) bool { return c >= 0xf0 }) {
			return "utf8mb4"
		}
	}
	return ""
}

// plain says that a byte that looks like a backslash is one, and escapes: only then is it sure
// where a string ends.
func (f facts) plain() bool {
	return !slices.Contains([]string{"gbk", "sjis", "cp932", "big5", "gb18030"}, f.client) && !strings.Contains(f.mode, "NO_BACKSLASH_ESCAPES")
}

// strict says that a wrong value is refused, in one row as in many.
func (f facts) strict() bool { return strings.Contains(f.mode, "STRICT_") }
