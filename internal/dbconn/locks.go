package dbconn

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
)

// Lock is a kind of lock that a session waits for.
type Lock int

// Kinds of locks that a server's list of sessions tells. Those on rows it does not.
const (
	NoLock Lock = iota
	// TableLock is one on a table, a database or the like.
	TableLock
	// GlobalLock is one on all that there is, such as FLUSH TABLES WITH READ LOCK takes.
	GlobalLock
)

// Lock returns the kind of lock that the session waits for.
// https://mariadb.com/kb/en/general-thread-states/
func (s Session) Lock() Lock {
	what, waits := strings.CutPrefix(s.State, "Waiting for ")
	switch {
	case !waits:
		return NoLock
	case what == "global read lock", what == "commit lock", what == "backup lock", what == "instance backup lock":
		return GlobalLock
	case strings.HasSuffix(what, " lock"), what == "table flush":
		return TableLock
	}
	return NoLock
}

// RowLockHolders returns the connections whose transactions hold locks on rows of a database that
// the transaction of a connection waits for. The server's dictionary is another database: a session that
// makes or drops a table has some of its rows locked.
func (d Dialect) RowLockHolders(ctx context.Context, conn *sql.Conn, waits uint64, database string) ([]uint64, error) {
	var list []uint64
	err := Ask(ctx, conn, Question{Text: fmt.Sprintf(d.RowLocks, waits, Quote(database)), Row: func(rows *sql.Rows) error {
		var id uint64
		err := rows.Scan(&id)
		list = append(list, id)
		return err
	}})
	if err != nil {
		return nil, fmt.Errorf("ask for locks on rows: %w", err)
	}
	return list, nil
}

// MetadataLock is what a connection waits for that waits for a lock on a table, a database or all.
type MetadataLock struct {
	// Schema is the database that it is on or in, "" for none.
	Schema string
	// Holders are the connections that have it, those that only share it and threads of the server's
	// own included.
	Holders []uint64
}

// MetadataLock returns what a connection waits for, nil if that is nothing, or something else, or the
// server does not tell. It takes the instrument wait/lock/metadata/sql/mdl of performance_schema.
// https://dev.mysql.com/doc/refman/8.4/en/performance-schema-metadata-locks-table.html
func (d Dialect) MetadataLock(ctx context.Context, conn *sql.Conn, waits uint64) (*MetadataLock, error) {
	var lock *MetadataLock
	err := Ask(ctx, conn, Question{Text: "SELECT p.object_schema, t.processlist_id FROM performance_schema.threads w " +
		"JOIN performance_schema.metadata_locks p ON p.owner_thread_id = w.thread_id AND p.lock_status = 'PENDING' " +
		"LEFT JOIN (performance_schema.metadata_locks h JOIN performance_schema.threads t ON t.thread_id = h.owner_thread_id) " +
		"ON h.object_type = p.object_type AND h.object_schema <=> p.object_schema AND h.object_name <=> p.object_name " +
		"AND h.lock_status = 'GRANTED' AND h.owner_thread_id <> p.owner_thread_id " +
		"WHERE w.processlist_id = " + strconv.FormatUint(waits, 10), Row: func(rows *sql.Rows) error {
		var schema sql.NullString
		var holder sql.Null[uint64]
		if err := rows.Scan(&schema, &holder); err != nil {
			return err
		}
		if lock == nil {
			lock = &MetadataLock{Schema: schema.String}
		}
		if holder.Valid {
			lock.Holders = append(lock.Holders, holder.V)
		}
		return nil
	}})
	if err != nil {
		return nil, fmt.Errorf("ask for metadata locks: %w", err)
	}
	return lock, nil
}
