package reset_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestLocks resets a lease beside locks, in a session for which no lock runs out: the lock's holder is
// ended, or what waits for it.
func TestLocks(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "farm", servertest.Flavoured(servertest.Find(t, want), farm))
		le := l.lease("farm_1")
		l.exec("SET lock_wait_timeout = 3600, innodb_lock_wait_timeout = 3600\n" +
			"CREATE USER other@localhost IDENTIFIED BY 'x_aA1x_aA1'\nGRANT ALL ON *.* TO other@localhost")
		const rows, counter, refill, reclone = "DELETE FROM plain", "INSERT INTO counted (a) VALUES (4711)", "ALTER TABLE plain ADD COLUMN x int", "CREATE TABLE exchange (a int)"
		for _, tc := range []struct {
			name, change string
			// own and others are what connections of the lease and of another account do.
			own, others string
			// locked says that the reset fails, and ended that the other connection is.
			locked, ended bool
			ways          string
		}{
			{"own LOCK TABLES", rows, "LOCK TABLES plain WRITE", "", false, false, "rewind"},
			{"own LOCK TABLES, reclone", reclone, "LOCK TABLES plain READ", "", false, false, "reclone"},
			{"own HANDLER, counter", counter, "HANDLER counted OPEN", "", false, false, "rewind"},
			{"own HANDLER, reclone", reclone, "HANDLER plain OPEN", "", false, false, "reclone"},
			{"another's LOCK TABLES", rows, "", "USE DB\nLOCK TABLES plain WRITE", false, true, "rewind"},
			{"another's HANDLER", refill, "", "USE DB\nHANDLER plain OPEN", false, true, "refill"},
			{"another's reads", reclone, "", "USE DB\nBEGIN\nSELECT * FROM plain", false, true, "reclone"},
			{"another's rows", "UPDATE plain SET name = 'z'", "", "BEGIN\nUPDATE DB.plain SET name = 'y'", false, true, "rewind"},
			{"another's LOCK TABLES from elsewhere", rows, "", "LOCK TABLES DB.plain READ", false, true, "rewind"},
			{"another's reads from elsewhere, reclone", reclone, "", "BEGIN\nSELECT * FROM DB.plain", false, true, "reclone"},
			{"another's LOCK TABLES from elsewhere, reclone", reclone, "", "LOCK TABLES DB.plain WRITE", false, true, "reclone"},
			{"another's HANDLER from elsewhere, reclone", reclone, "", "HANDLER DB.plain OPEN", false, true, "reclone"},
			{"another's FLUSH TABLES from elsewhere", rows, "", "FLUSH TABLES DB.plain WITH READ LOCK", false, true, "rewind"},
			{"another's SELECT FOR UPDATE from elsewhere, reclone", reclone, "", "BEGIN\nSELECT * FROM DB.plain FOR UPDATE", false, true, "reclone"},
			{"another's reads of something else, reclone", reclone, "USE DB\nHANDLER plain OPEN", "BEGIN\nSELECT * FROM farm.plain", false, false, "reclone"},
			{"template locked", reclone, "", "LOCK TABLES farm.plain WRITE", true, false, ""},
			{"all locked", rows, "", "FLUSH TABLES WITH READ LOCK", true, false, ""},
		} {
			t.Run(tc.name, func(t *testing.T) {
				le.t, l.t = t, t
				le.do(tc.change)
				le.do(tc.own)
				app := le.app(tc.others)
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
				defer cancel()
				res, err := le.Reset(ctx, l.session, &le.Database, reset.RestoreCounters)
				switch {
				case tc.locked != errors.Is(err, reset.ErrLocked), tc.locked != (err != nil):
					t.Fatalf("got %v, want a lock: %t", err, tc.locked)
				case tc.locked && !strings.Contains(err.Error(), "\nhint: "):
					t.Errorf("no hint: %v", err)
				case tc.locked && !strings.Contains(err.Error(), "of account other"):
					t.Errorf("it does not say who has the lock: %v", err)
				case !tc.locked && !strings.Contains(tc.ways, string(res.Way)):
					t.Errorf("the way was %s (%s), want %s", res.Way, res.Why, tc.ways)
				case !tc.locked && len(res.Warnings) == 0:
					t.Errorf("no warning says whose connections were ended (%s, %s)", res.Way, res.Why)
				}
				if alive := app.PingContext(t.Context()) == nil && alive(t.Context(), app) == nil; alive == tc.ended {
					t.Errorf("the other connection lives: %t", alive)
				}
				if !tc.locked {
					le.check()
				}
				closeNow(app)
				le.reset()
				le.pool.SetMaxIdleConns(0) // the next begins with connections of its own
				le.pool.SetMaxIdleConns(2)
			})
		}
	})
}

// TestUntoldLocks is TestLocks on a server that does not tell who holds a lock: those who are in the
// database are ended, and what waits for a lock from elsewhere in the end.
func TestUntoldLocks(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "farm", servertest.Flavoured(servertest.Find(t, want), farm), map[string]string{"performance_schema": "OFF"})
		le := l.lease("farm_1")
		l.exec("SET lock_wait_timeout = 3600, innodb_lock_wait_timeout = 3600\n" +
			"CREATE USER other@localhost IDENTIFIED BY 'x_aA1x_aA1'\nGRANT ALL ON *.* TO other@localhost")
		for _, tc := range []struct {
			name, others  string
			locked, ended bool
		}{
			{"in the database", "USE DB\nLOCK TABLES plain WRITE", false, true},
			{"from elsewhere", "LOCK TABLES DB.plain READ", true, false},
			{"on the template", "LOCK TABLES farm.plain WRITE", true, false},
			{"on everything", "FLUSH TABLES WITH READ LOCK", true, false},
		} {
			t.Run(tc.name, func(t *testing.T) {
				le.t, l.t = t, t
				le.do("CREATE TABLE exchange (a int)").Close()
				app := le.app(tc.others)
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
				defer cancel()
				if _, err := le.Reset(ctx, l.session, &le.Database, reset.RestoreCounters); tc.locked != errors.Is(err, reset.ErrLocked) || tc.locked != (err != nil) {
					t.Errorf("got %v, want a lock: %t", err, tc.locked)
				}
				if alive := app.PingContext(t.Context()) == nil && alive(t.Context(), app) == nil; alive == tc.ended {
					t.Errorf("the other connection lives: %t", alive)
				}
				closeNow(app)
				le.reset()
			})
		}
	})
}

// TestLockThatEnds waits for a lock that is never held for long, longer than for other locks: on
// the database where the server does not tell who has it, on the template where it is a lease.
func TestLockThatEnds(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		for _, tc := range []struct {
			name, change, lock string
			leased             bool
			set                map[string]string
		}{
			{"on the database", "DELETE FROM plain", "LOCK TABLES DB.plain READ", false, map[string]string{"performance_schema": "OFF"}},
			{"on the template, by a lease", "CREATE TABLE exchange (a int)", "LOCK TABLES farm.plain WRITE", true, nil},
		} {
			t.Run(tc.name, func(t *testing.T) {
				l := newLab(t, want, "farm", servertest.Flavoured(servertest.Find(t, want), farm), tc.set)
				le := l.lease("farm_1")
				l.exec("CREATE USER other@localhost IDENTIFIED BY 'x_aA1x_aA1'\nGRANT ALL ON *.* TO other@localhost\nSET lock_wait_timeout = 3600")
				l.Leased = func(user string) bool { return tc.leased && user == "other" }
				le.do(tc.change)
				conn := le.app(tc.lock)
				timer := time.AfterFunc(300*time.Millisecond, func() { closeNow(conn) })
				defer timer.Stop()
				le.reset()
			})
		}
	})
}

// TestLockThatRunsOut does not look for the lock's holder: a statement whose wait timed out says
// so, as one whose connection was ended does.
func TestLockThatRunsOut(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "farm", servertest.Flavoured(servertest.Find(t, want), farm))
		le := l.lease("farm_1")
		l.exec("CREATE USER other@localhost IDENTIFIED BY 'x_aA1x_aA1'\nGRANT ALL ON *.* TO other@localhost\nSET lock_wait_timeout = 1")
		db, err := l.srv.Dialect().OpenUnlogged(l.srv.Endpoint.Socket, l.srv.Endpoint.Login)
		if err != nil {
			t.Fatal(err)
		}
		db.Close()
		l.DB = db
		le.do("CREATE TABLE exchange (a int)")
		conn := le.app("BEGIN\nSELECT * FROM DB.plain")
		_, err = le.Reset(t.Context(), l.session, &le.Database, reset.RestoreCounters)
		if !errors.Is(err, reset.ErrLocked) || !strings.Contains(err.Error(), "\nhint: ") {
			t.Errorf("got %v", err)
		}
		closeNow(conn)
		le.reset()
		le.check()
	})
}

// app runs statements, one a line, on a connection of an account that is not the lease's.
func (l *lease) app(text string) *sql.Conn {
	l.t.Helper()
	db, err := dbconn.Open(l.srv.Endpoint.Socket, dbconn.Login{User: "other", Password: "x_aA1x_aA1"}, "")
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if _, err := conn.ExecContext(l.t.Context(), strings.ReplaceAll(strings.TrimSpace(line), "DB", l.Name)); err != nil {
			l.t.Fatalf("%s: %v", line, err)
		}
	}
	return conn
}

func closeNow(conn *sql.Conn) {
	_ = conn.Raw(func(c any) error { return c.(interface{ Close() error }).Close() })
	conn.Close()
}
