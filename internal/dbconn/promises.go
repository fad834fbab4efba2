package dbconn

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// SemisyncReplicas counts the semi-synchronous replicas: whether there is that of an account, and those that belong to others.
// Where there are replicas of others that are not semi-synchronous it may count one too many for as long as
// the account's own changes its connection.
func SemisyncReplicas(ctx context.Context, db *sql.DB, user string) (ours, foreign int, err error) {
	sessions, err := Sessions(ctx, db)
	if err != nil {
		return 0, 0, err
	}
	others := 0
	for _, s := range sessions {
		switch {
		case !strings.HasPrefix(s.Command, "Binlog Dump"):
		case s.User == user:
			ours++
		default:
			others++
		}
	}
	semisync, err := acknowledging(ctx, db)
	return min(ours, semisync), max(0, min(others, semisync-ours)), err
}

// acknowledging counts the semi-synchronous replicas that are connected.
func acknowledging(ctx context.Context, db *sql.DB) (n int, err error) {
	err = Query(ctx, db, "SHOW GLOBAL STATUS LIKE 'Rpl\\_semi\\_sync\\_%\\_clients'", func(cols []string) error {
		_, err := fmt.Sscan(cols[1], &n)
		return err
	})
	return n, err
}

// Unacknowledged counts the commits of a MariaDB whose wait for an acknowledgement ended without one, as by
// KILL QUERY, since the server started. MySQL goes on waiting, and its count is 0.
func Unacknowledged(ctx context.Context, db *sql.DB) (n int64, err error) {
	err = Query(ctx, db, "SHOW GLOBAL STATUS LIKE 'Rpl\\_semi\\_sync\\_master\\_no\\_tx'", func(cols []string) error {
		_, err := fmt.Sscan(cols[1], &n)
		return err
	})
	return n, err
}
