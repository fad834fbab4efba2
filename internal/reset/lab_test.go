package reset_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/template"
)

// lab is a server with a template, and what puts clones of it back.
type lab struct {
	*reset.Engine
	t       *testing.T
	srv     *servertest.Running
	session *reset.Session
	shape   *template.Shape
	db      *sql.DB
}

// newLab starts a server, over settings, and makes the database that schema fills the template.
func newLab(t *testing.T, want, name, schema string, set ...map[string]string) *lab {
	t.Helper()
	srv := servertest.Start(t, servertest.Find(t, want))
	for _, set := range set {
		srv.RestartAs(t, server.Run, false, set)
	}
	return newLabOn(t, srv, name, schema)
}

// newLabOn is newLab on a server, to which happens what is given once it has the template's database.
func newLabOn(t *testing.T, srv *servertest.Running, name, schema string, then ...func()) *lab {
	t.Helper()
	l := &lab{t: t, srv: srv}
	srv.Load(t, "CREATE DATABASE "+name+"; USE "+name+";\n"+schema)
	for _, f := range then {
		f()
	}
	j, err := reset.OpenJournal(srv.DataDir(), server.BinlogName)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Close)
	if l.db, err = srv.Dialect().OpenUnlogged(srv.Endpoint.Socket, srv.Endpoint.Login); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.db.Close() })
	l.session = l.newSession()
	// A lock that stays is to fail a test, not to have it wait for a day.
	l.exec("SET GLOBAL lock_wait_timeout = 20, innodb_lock_wait_timeout = 10")
	j.Read()
	j.Watch(name)
	if l.shape, err = template.Read(t.Context(), l.session.Conn, name); err != nil {
		t.Fatal(err)
	}
	l.shape.Files = &template.Files{DataDir: srv.DataDir(), UID: srv.Account.UID, GID: srv.Account.GID, Rows: srv.TransportsFrom()}
	l.Engine = &reset.Engine{Server: srv.Server, Journal: j, ServerID: 77, DB: l.db}
	return l
}

func (l *lab) newSession() *reset.Session {
	l.t.Helper()
	conn, err := l.db.Conn(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { conn.Close() })
	return reset.NewSession(l.srv.Server, conn)
}

// lease is a clone with an account and open connections of it.
type lease struct {
	*lab
	reset.Database
	login  dbconn.Login
	pool   *sql.DB
	fresh  string
	before map[string]string
	// query tells the lease's state, asFresh is what it said at first.
	query, asFresh string
}

func (l *lab) lease(name string) *lease {
	l.t.Helper()
	login := dbconn.Login{User: "u_" + name, Password: dbconn.NewPassword()}
	counters, err := l.Clone(l.t.Context(), l.session, l.shape, name)
	if err != nil {
		l.t.Fatal(err)
	}
	if err := l.srv.Dialect().MakeLease(l.t.Context(), l.session.Conn, login, name); err != nil {
		l.t.Fatal(err)
	}
	le := &lease{lab: l, login: login, Database: reset.Database{Name: name, User: login.User, Shape: l.shape, Counters: counters}}
	if le.pool, err = dbconn.Open(l.srv.Endpoint.Socket, login, name); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { le.pool.Close() })
	le.fresh, le.before = le.dump(), le.checksums()
	le.query = le.stateQuery()
	le.asFresh = le.state()
	return le
}

// dump is all of a lease; a dump of one database has neither its character set nor its comment.
func (l *lease) dump() string {
	l.t.Helper()
	var name, create string
	if err := l.session.Conn.QueryRowContext(l.t.Context(), "SHOW CREATE DATABASE "+dbconn.QuoteName(l.Name)).Scan(&name, &create); err != nil {
		l.t.Fatal(err)
	}
	return create + "\n" + l.srv.Dump(l.t, l.Name) + "\n" + strings.Join(l.indexes(), "\n")
}

// indexes are those of all tables, and which of them are disabled, which no definition shows.
func (l *lease) indexes() (list []string) {
	l.t.Helper()
	rows, err := l.session.Conn.QueryContext(l.t.Context(), "SELECT CONCAT_WS(' ', TABLE_NAME, INDEX_NAME, COMMENT) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = '"+l.Name+"'")
	if err != nil {
		l.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			l.t.Fatal(err)
		}
		list = append(list, line)
	}
	if err := rows.Err(); err != nil {
		l.t.Fatal(err)
	}
	slices.Sort(list) // names may differ by case alone
	return list
}

// checksums are those of all tables.
func (l *lease) checksums() map[string]string {
	l.t.Helper()
	list := map[string]string{}
	for _, t := range l.shape.Tables {
		if t.Kind == template.Sequence || computed(t) {
			continue // of computed columns MariaDB's checksum is not always the same; they are in the dump
		}
		var name string
		var sum sql.NullString
		if err := l.session.Conn.QueryRowContext(l.t.Context(), "CHECKSUM TABLE "+dbconn.QuoteName(l.Name)+"."+dbconn.QuoteName(t.Name)).Scan(&name, &sum); err != nil {
			l.t.Fatal(err)
		}
		list[name] = sum.String
	}
	return list
}

// do runs statements, separated by lines, on one connection of the lease that stays open.
// A line that begins with - may fail.
func (l *lease) do(text string) *sql.Conn {
	l.t.Helper()
	conn, err := l.pool.Conn(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		line, may := strings.CutPrefix(line, "-")
		if line == "" {
			continue
		}
		if _, err := conn.ExecContext(l.t.Context(), strings.ReplaceAll(line, "DB", l.Name)); err != nil && !may {
			l.t.Fatalf("%s: %v", line, err)
		}
	}
	return conn
}

// reset puts the lease back and compares it with how it was.
func (l *lease) reset() reset.Result {
	l.t.Helper()
	res, err := l.Reset(l.t.Context(), l.session, &l.Database, reset.RestoreCounters)
	if err != nil {
		l.t.Fatal(err)
	}
	l.check()
	return res
}

// check compares the lease with how it was when it was fresh.
func (l *lease) check() {
	l.t.Helper()
	if diff := cmp.Diff(strings.Split(l.fresh, "\n"), strings.Split(l.dump(), "\n")); diff != "" {
		l.t.Errorf("%s is not as it was:\n%s", l.Name, diff)
	}
	if diff := cmp.Diff(l.before, l.checksums()); diff != "" {
		l.t.Errorf("checksums of %s:\n%s", l.Name, diff)
	}
}

// super runs statements, one a line, as an account that may do everything, logged.
func (l *lease) super(text string) {
	l.t.Helper()
	db, err := dbconn.Open(l.srv.Endpoint.Socket, l.srv.Endpoint.Login, "")
	if err != nil {
		l.t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for line := range strings.Lines(text) {
		if _, err := db.ExecContext(l.t.Context(), strings.ReplaceAll(strings.TrimSpace(line), "DB", l.Name)); err != nil {
			l.t.Fatalf("%s: %v", line, err)
		}
	}
}

func (l *lab) exec(text string) {
	l.t.Helper()
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if _, err := l.session.Conn.ExecContext(context.WithoutCancel(l.t.Context()), line); err != nil {
			l.t.Fatalf("%s: %v", line, err)
		}
	}
}
