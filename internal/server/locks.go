package server

import (
	"context"
	"database/sql"
	"fmt"
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
// the transaction of a connection waits for. The server's dictionary is another database: whoever
// makes or drops a table has some of its rows locked.
func (s *Server) RowLockHolders(ctx context.Context, conn *sql.Conn, waits uint64, database string) ([]uint64, error) {
	var list []uint64
	err := Ask(ctx, conn, Question{Text: fmt.Sprintf(s.family().rowLocks, waits, Quote(database)), Row: func(rows *sql.Rows) error {
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
