package dbconn

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
)

// Traffic is what goes on in a server.
type Traffic struct {
	// Connections is how many sessions there are, the asking one included, and Questions counts the
	// statements that were sent since the server started.
	Connections, Questions int64
}

// ReadTraffic asks a server. https://mariadb.com/kb/en/server-status-variables/
func ReadTraffic(ctx context.Context, db *sql.DB) (t Traffic, err error) {
	into := map[string]*int64{"Threads_connected": &t.Connections, "Questions": &t.Questions}
	err = Query(ctx, db, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'Questions')", func(cols []string) error {
		if to := into[cols[0]]; to != nil {
			if *to, err = strconv.ParseInt(cols[1], 10, 64); err != nil {
				return fmt.Errorf("read %s: %w", cols[0], err)
			}
		}
		return nil
	})
	return t, err
}
