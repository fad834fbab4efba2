package server

import (
	"context"
	"database/sql"
	"fmt"
)

// Session is one that a server has, as SHOW PROCESSLIST tells.
type Session struct {
	ID      uint64 // the connection's
	User    string
	Command string // "Sleep", "Query", "Daemon", ...
	// Statement is what it does, "" for nothing.
	Statement string
}

// Sessions lists a server's sessions. It asks by SHOW, since information_schema.processlist is
// a temporary table in a file, which a full volume has no room for, and leaves out on MySQL what
// it cannot show, such as an emoji.
func Sessions(ctx context.Context, conn interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
},
) ([]Session, error) {
	list, err := sessions(conn.QueryContext(ctx, "SHOW FULL PROCESSLIST"))
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return list, nil
}

func sessions(rows *sql.Rows, err error) ([]Session, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	// MariaDB has one more, for the progress.
	const (
		id, user, command, statement = 0, 1, 4, 7
	)
	into := make([]any, len(columns))
	for i := range into {
		into[i] = new(sql.RawBytes)
	}
	var list []Session
	for rows.Next() {
		var s Session
		var text sql.NullString
		into[id], into[user], into[command], into[statement] = &s.ID, &s.User, &s.Command, &text
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		s.Statement = text.String
		list = append(list, s)
	}
	return list, rows.Err()
}
