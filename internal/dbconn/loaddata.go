package dbconn

import (
	"context"
	"database/sql"
	"errors"
	"io"
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
