package dbconn

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"regexp"
	"strconv"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"
)

// OpenLoading returns a handle for sessions that load dumps: a text may hold several
// statements and be as large as the server takes; a larger one is TooLarge, and not sent.
func OpenLoading(path string, login Login, database string) (*sql.DB, error) {
	return open(path, login, database, setup(repeatableRead, basis), func(c *mysql.Config) {
		c.MultiStatements, c.MaxAllowedPacket = true, 0 // the driver asks
	})
}

// TooLarge reports whether a statement was not sent, since max_allowed_packet of the server is smaller.
func TooLarge(err error) bool { return errors.Is(err, mysql.ErrPktTooLarge) }

// readers numbers what LoadData reads.
var readers atomic.Uint64

// Loaded is what LoadData did.
type Loaded struct {
	Rows int64
	// Warnings is how many values the server changed, and rows it left out.
	Warnings int
}

// LoadData begins a transaction, runs LOAD DATA LOCAL INFILE, whose file is r and whose further
// text is as given, and asks what came of it, in one round trip. The server takes what it can of a
// value, and leaves out what it cannot have twice: to COMMIT or not is the caller's. The connection
// must be one of OpenLoading.
func LoadData(ctx context.Context, conn *sql.Conn, further string, r io.Reader) (Loaded, error) {
	name := "ramaria-" + strconv.FormatUint(readers.Add(1), 10)
	mysql.RegisterReaderHandler(name, func() io.Reader { return r })
	defer mysql.DeregisterReaderHandler(name)
	var done Loaded
	row := conn.QueryRowContext(ctx, "START TRANSACTION; LOAD DATA LOCAL INFILE 'Reader::"+name+"' "+further+"; SELECT ROW_COUNT(), @@warning_count")
	if err := row.Scan(&done.Rows, &done.Warnings); err != nil {
		return Loaded{}, err
	}
	return done, nil
}

// LoadWarning is what a server says of a row that LOAD DATA has loaded, or left out.
type LoadWarning struct {
	Level   string
	Code    uint16
	Message string
}

// Harmless says that the rows are as they stand in the file: a note, as INSERT gives it too, or that a
// word of the statement is an old one.
func (w LoadWarning) Harmless() bool {
	// https://dev.mysql.com/doc/mysql-errors/9.1/en/server-error-reference.html: a deprecated name of
	// a character set, of a collation, a statement's deprecated syntax.
	return w.Level == "Note" || w.Code == 3719 || w.Code == 3778 || w.Code == 1287
}

var atRow = regexp.MustCompile(`(?i)\brow (\d+)`)

// Row is the number of the row, from 1; 0 if the server does not say.
func (w LoadWarning) Row() int {
	m := atRow.FindStringSubmatch(w.Message)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// mostWarnings is how many warnings of one statement a server keeps, at most.
const mostWarnings = 65535

// LoadDataWarned is LoadData, and returns what the server warns of. all says that these are all
// warnings: a server keeps some only, where the account may not have it keep more.
func LoadDataWarned(ctx context.Context, conn *sql.Conn, further string, r io.Reader) (list []LoadWarning, all bool, err error) {
	if _, err := conn.ExecContext(ctx, "SET max_error_count = "+strconv.Itoa(mostWarnings)); err != nil {
		if _, said := RefusalOf(err); !said {
			return nil, false, err
		}
	}
	most := 0
	if err := conn.QueryRowContext(ctx, "SELECT @@max_error_count").Scan(&most); err != nil {
		return nil, false, err
	}
	name := "ramaria-" + strconv.FormatUint(readers.Add(1), 10)
	mysql.RegisterReaderHandler(name, func() io.Reader { return r })
	defer mysql.DeregisterReaderHandler(name)
	rows, err := conn.QueryContext(ctx, "START TRANSACTION; LOAD DATA LOCAL INFILE 'Reader::"+name+"' "+further+"; SHOW WARNINGS")
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	for rows.Next() {
		var w LoadWarning
		if err := rows.Scan(&w.Level, &w.Code, &w.Message); err != nil {
			return nil, false, err
		}
		list = append(list, w)
	}
	return list, len(list) < most, rows.Err()
}
