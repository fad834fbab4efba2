package dbconn

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
)

// Traffic is what a server says of the work that it does. Totals count from the start of the server.
type Traffic struct {
	// Connections are those that are open, Running those of them that do something, and MaxConnections is the limit. The
	// supervisor's are among them.
	Connections, Running, MaxConnections int64
	// Questions are statements that clients sent, Slow those that took longer than long_query_time, and Commits and
	// Rollbacks the COMMIT and ROLLBACK among them.
	Questions, Slow, Commits, Rollbacks int64
	// AbortedConnects are attempts to connect that failed.
	AbortedConnects int64
	// ReceivedBytes and SentBytes are what clients sent and got.
	ReceivedBytes, SentBytes int64
	// UptimeSeconds is how long the server runs.
	UptimeSeconds int64
}

// TrafficStatements is how many statements ReadTraffic sends, which are among Questions.
const TrafficStatements = 2

// ReadTraffic asks a server.
//
// https://mariadb.com/kb/en/server-status-variables/
// https://dev.mysql.com/doc/refman/en/server-status-variables.html
func ReadTraffic(ctx context.Context, db *sql.DB) (t Traffic, err error) {
	into := map[string]*int64{
		"threads_connected": &t.Connections, "threads_running": &t.Running, "questions": &t.Questions, "slow_queries": &t.Slow,
		"com_commit": &t.Commits, "com_rollback": &t.Rollbacks, "aborted_connects": &t.AbortedConnects,
		"bytes_received": &t.ReceivedBytes, "bytes_sent": &t.SentBytes, "uptime": &t.UptimeSeconds,
	}
	found := 0
	err = Query(ctx, db, trafficQuery, func(cols []string) error {
		to := into[strings.ToLower(cols[0])]
		if to == nil {
			return nil
		}
		found++
		n, err := strconv.ParseInt(cols[1], 10, 64)
		*to = n
		return err
	})
	if err == nil {
		err = db.QueryRowContext(ctx, "SELECT @@GLOBAL.max_connections").Scan(&t.MaxConnections)
	}
	if err == nil && found != len(into) {
		err = fmt.Errorf("the server told %d of %d figures", found, len(into))
	}
	if err != nil {
		return Traffic{}, fmt.Errorf("read traffic: %w", err)
	}
	return t, nil
}

const trafficQuery = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'Threads_running', 'Questions', 'Slow_queries', 'Com_commit', 'Com_rollback', 'Aborted_connects', 'Bytes_received', 'Bytes_sent', 'Uptime')"
