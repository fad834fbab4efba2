package dbconn

import (
	"context"
	"database/sql"
	"fmt"
)

// killed is the Command of a session that somebody has ended, or its statement.
const killed = "Killed"

// Session is one that a server has, as SHOW PROCESSLIST tells.
type Session struct {
	ID   uint64 // the connection's
	User string
	// Database is the session's own, "" for none.
	Database string
	Command  string // "Sleep", "Query", "Daemon", ...
	// State says what it is at, such as "Waiting for table metadata lock".
	State string
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
	var list []Session
	for rows.Next() {
		if err := appendSession(&list, rows); err != nil {
			return nil, err
		}
	}
	return list, rows.Err()
}

// AskSessions is Sessions as a question that goes along with others; statements are cut short.
func AskSessions(into *[]Session) Question {
	return Question{"SHOW PROCESSLIST", func(rows *sql.Rows) error { return appendSession(into, rows) }}
}

func appendSession(list *[]Session, rows *sql.Rows) error {
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	// MariaDB has one more, for the progress.
	const (
		id, user, database, command, state, statement = 0, 1, 3, 4, 6, 7
	)
	into := make([]any, len(columns))
	for i := range into {
		into[i] = new(sql.RawBytes)
	}
	var s Session
	var text, db, at sql.NullString
	into[id], into[user], into[database], into[command], into[state], into[statement] = &s.ID, &s.User, &db, &s.Command, &at, &text
	if err := rows.Scan(into...); err != nil {
		return err
	}
	s.Database, s.State, s.Statement = db.String, at.String, text.String
	// MariaDB calls a session killed to which KILL QUERY came too late, until its next statement. One that waits for that has
	// an empty state, and any other one none, or one that says something.
	if s.Command == killed && at.Valid && s.State == "" && s.Statement == "" {
		s.Command = "Sleep"
	}
	*list = append(*list, s)
	return nil
}
