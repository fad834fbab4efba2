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

// AwaitsAcks counts the sessions whose commits wait for the acknowledgement of a semi-synchronous replica, and the commits
// that got theirs since the server started.
func AwaitsAcks(ctx context.Context, db *sql.DB) (waiting, answered int64, err error) {
	err = Query(ctx, db, `SHOW GLOBAL STATUS WHERE Variable_name RLIKE '^Rpl_semi_sync_(master|source)_(wait_sessions|yes_tx)$'`, func(cols []string) error {
		into := &answered
		if strings.HasSuffix(cols[0], "_wait_sessions") {
			into = &waiting
		}
		_, err := fmt.Sscan(cols[1], into)
		return err
	})
	return waiting, answered, err
}

// PrimaryKeys tells of every table of InnoDB whose primary key is one column, by the names of its directory and its file.
// It reads InnoDB's dictionary alone: information_schema.statistics opens every table, and waits for who has it locked.
func PrimaryKeys(ctx context.Context, db *sql.DB, mysql bool, each func(dir, file, column string)) error {
	prefix := dictionary(mysql)
	query := "SELECT t.name, MIN(f.name) FROM information_schema." + prefix + "TABLES t JOIN information_schema." + prefix + "INDEXES i ON i.table_id = t.table_id AND i.name = 'PRIMARY'" +
		" JOIN information_schema." + prefix + "FIELDS f ON f.index_id = i.index_id GROUP BY t.table_id, t.name HAVING COUNT(*) = 1"
	return Query(ctx, db, query, func(cols []string) error {
		if dir, file, ok := strings.Cut(cols[0], "/"); ok {
			each(dir, file, cols[1])
		}
		return nil
	})
}

// TablesWithoutKey tells of every table of InnoDB, or partition of one, that has no unique key, as PrimaryKeys does.
func TablesWithoutKey(ctx context.Context, db *sql.DB, mysql bool, each func(dir, file string)) error {
	const unique = "2" // a bit of the type, https://mariadb.com/kb/en/information-schema-innodb_sys_indexes-table/
	prefix := dictionary(mysql)
	query := "SELECT t.name FROM information_schema." + prefix + "TABLES t JOIN information_schema." + prefix + "INDEXES i ON i.table_id = t.table_id GROUP BY t.table_id, t.name HAVING MAX(i.type & " + unique + ") = 0"
	return Query(ctx, db, query, func(cols []string) error {
		if dir, file, ok := strings.Cut(cols[0], "/"); ok {
			each(dir, file)
		}
		return nil
	})
}

// dictionary begins the names of the tables of InnoDB's dictionary.
func dictionary(mysql bool) string {
	if mysql {
		return "INNODB_"
	}
	return "INNODB_SYS_"
}
