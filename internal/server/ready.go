package server

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

const (
	// StartTimeout is how long a server may take until it answers a query. It
	// includes crash recovery of a large instance.
	StartTimeout = 10 * time.Minute
	// readyPoll is the pause between two looks for the server's socket.
	readyPoll = 500 * time.Microsecond
)

// Ready waits until the server has answered a query on db, whose socket is at
// path. It returns early when the process ends; the error then says how, and what
// the log at logPath says.
func (p *Process) Ready(ctx context.Context, db *sql.DB, path, logPath string) error {
	ctx, cancel := context.WithTimeout(ctx, StartTimeout)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		err := firstAnswer(ctx, db, path)
		if err == nil {
			return nil
		}
		if dbconn.AccessRefused(err) {
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

// firstAnswer tries one query. The socket appears while the server still starts, and a
// connection made then is accepted once it is ready, so that a single try waits
// just as long as is needed.
func firstAnswer(ctx context.Context, db *sql.DB, path string) error {
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
			return "\nhint: correct --set, or leave it out (up --fresh repeats the flags that it is not given: ramaria down --rm first); the server's manual lists the options of its version"
		}
	}
	return ""
}
