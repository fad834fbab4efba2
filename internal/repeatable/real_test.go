package repeatable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// live is a running server with one session on it.
type live struct {
	*servertest.Running
	t     testing.TB
	conn  *sql.Conn
	mysql bool
	tail  *binlog.Tail
}

func startReal(t testing.TB, want string) *live {
	t.Helper()
	r := &live{Running: servertest.Start(t, servertest.Find(t, want)), t: t}
	r.mysql = r.Flavour == server.MySQL
	db, err := dbconn.Open(r.Endpoint.Socket, r.Endpoint.Login, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if r.conn, err = db.Conn(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.conn.Close() })
	for _, s := range []string{"CREATE DATABASE shop", "USE shop"} {
		if err := r.exec(s); err != nil {
			t.Fatal(err)
		}
	}
	status := "SHOW MASTER STATUS"
	if r.mysql {
		status = "SHOW BINARY LOG STATUS"
	}
	var base string
	if err := r.conn.QueryRowContext(context.Background(), "SELECT @@log_bin_basename").Scan(&base); err != nil {
		t.Fatal(err)
	}
	pos := r.end(status)
	if r.tail, err = binlog.OpenTail(filepath.Dir(base), pos); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.tail.Close)
	return r
}

// end asks the server where its log ends.
func (r *live) end(query string) (pos binlog.Position) {
	r.t.Helper()
	rows, err := r.conn.QueryContext(context.Background(), query)
	if err != nil {
		r.t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		r.t.Fatal(err)
	}
	to := []any{&pos.File, &pos.Offset}
	for range names[2:] {
		to = append(to, new(sql.RawBytes))
	}
	rows.Next()
	if err := errors.Join(rows.Scan(to...), rows.Err()); err != nil {
		r.t.Fatal(err)
	}
	return pos
}

func (r *live) exec(s string) error {
	_, err := r.conn.ExecContext(context.Background(), s)
	return err
}

// logged is an event that has come into the log.
type logged struct {
	kind    binlog.EventType
	query   *binlog.Query
	verdict Verdict
}

func (l logged) String() string {
	if l.query == nil {
		return l.kind.String()
	}
	return fmt.Sprintf("%q flags2=%x mode=%x alter=%d error=%d fraction=%v -> %+v", l.query.SQL, l.query.Flags2, l.query.SQLMode, l.query.Alter, l.query.ErrorCode, l.query.Fraction, l.verdict)
}

// read judges what has come into the log.
func (r *live) read(j *Judge) (all []logged) {
	r.t.Helper()
	for {
		var e binlog.Event
		ok, err := r.tail.Next(&e)
		if err != nil {
			r.t.Fatal(err)
		}
		if !ok {
			return all
		}
		l := logged{kind: e.Type, verdict: j.Event(e.Type, e.Flags)}
		if e.Type == binlog.QueryEvent {
			q, err := binlog.ParseQuery(&e)
			if err != nil {
				r.t.Fatal(err)
			}
			q.SQL = append([]byte{}, q.SQL...)
			l.query, l.verdict = &q, j.Query(&q)
		}
		all = append(all, l)
	}
}
