package reset_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// troubles are what a test can leave behind that is not rows and tables. Each starts with
// two fresh leases, and ends with the first being put back.
var troubles = []struct {
	name string
	do   func(r *room)
	ways string
}{
	{"transaction that wrote", func(r *room) { r.dies(r.do("BEGIN\nUPDATE plain SET name = 'open'")) }, "noop"},
	{"transaction that read", func(r *room) { r.dies(r.do("BEGIN\nSELECT * FROM plain")) }, "noop"},
	{"consistent snapshot", func(r *room) { r.dies(r.do("START TRANSACTION WITH CONSISTENT SNAPSHOT")) }, "noop"},
	{"read-only transaction", func(r *room) { r.dies(r.do("START TRANSACTION READ ONLY\nSELECT * FROM keeper")) }, "noop"},
	{"auto-commit off", func(r *room) { r.dies(r.do("SET autocommit = 0\nSELECT * FROM plain")) }, "noop"},
	{"auto-commit off, written", func(r *room) { r.dies(r.do("SET autocommit = 0\nINSERT INTO plain VALUES (100, 'x')")) }, "noop"},
	{"transaction behind a committed change", func(r *room) {
		r.lives(r.do("INSERT INTO visit VALUES ('2020-02-02', 1)"))
		r.dies(r.do("BEGIN\nDELETE FROM visit"))
	}, "rewind"},
	{"statement with an emoji, killed", func(r *room) { r.dies(r.do("BEGIN\nUPDATE plain SET name = '🐘' WHERE SLEEP(0) = 0")) }, "noop"},
	{"XA transaction, open", func(r *room) { r.dies(r.do("XA START 'a'\nDELETE FROM visit")) }, "noop"},
	{"XA transaction, prepared", func(r *room) { r.dies(r.do("XA START 'a'\nDELETE FROM visit\nXA END 'a'\nXA PREPARE 'a'")) }, "noop"},
	{"XA transaction, prepared and left", func(r *room) {
		r.leave(r.do("XA START 'a','b',7\nDELETE FROM visit\nXA END 'a','b',7\nXA PREPARE 'a','b',7"))
	}, "noop"},
	{"XA transaction, committed", func(r *room) {
		r.decided(r.do("XA START 'a'\nDELETE FROM visit\nXA END 'a'\nXA PREPARE 'a'\nXA COMMIT 'a'"))
	}, "rewind"},
	{"XA transaction, committed by another", func(r *room) {
		r.leave(r.do("XA START 'a','b',7\nDELETE FROM visit\nXA END 'a','b',7\nXA PREPARE 'a','b',7"))
		r.super("XA COMMIT 'a','b',7")
	}, "rewind"},
	{"XA transaction, rolled back", func(r *room) {
		r.decided(r.do("XA START 'a'\nDELETE FROM visit\nXA END 'a'\nXA PREPARE 'a'\nXA ROLLBACK 'a'"))
	}, "noop"},
	{"XA transaction in one phase", func(r *room) {
		r.decided(r.do("XA START 'a'\nDELETE FROM visit\nXA END 'a'\nXA COMMIT 'a' ONE PHASE"))
	}, "rewind"},
	{"XA transactions of one name", func(r *room) {
		r.leave(r.do("XA START 'a'\nDELETE FROM visit\nXA END 'a'\nXA PREPARE 'a'"))
		r.back()
		// The journal must not take the next of this name for that one.
		r.decided(r.do("XA START 'a'\nDELETE FROM plain\nXA END 'a'\nXA PREPARE 'a'\nXA COMMIT 'a'"))
	}, "rewind"},
	{"XA transaction, prepared, that read", func(r *room) { r.dies(r.do("XA START 'a'\nSELECT * FROM plain\nXA END 'a'\nXA PREPARE 'a'")) }, "noop"},
	{"locked table, changed", func(r *room) { r.do("LOCK TABLES plain WRITE, visit READ\nDELETE FROM plain") }, "rewind"},
	{"locked table, of another", func(r *room) {
		r.do("DELETE FROM plain")
		r.do("LOCK TABLES plain READ")
	}, "rewind"},
	{"prepared statements", func(r *room) { r.prepared("INSERT INTO visit VALUES ('2020-02-02', ?)") }, "rewind"},
	{"prepared statements, table made again", func(r *room) {
		r.prepared("INSERT INTO visit VALUES ('2020-02-02', ?)")
		r.do("ALTER TABLE visit ADD COLUMN x int")
	}, "refill"},
	{"log rotated under way", func(r *room) {
		r.do("INSERT INTO visit VALUES ('2020-02-02', 1)")
		r.exec("FLUSH BINARY LOGS\nFLUSH BINARY LOGS")
		r.do("DELETE FROM visit WHERE who = 2\nDELETE FROM plain")
		r.exec("FLUSH BINARY LOGS")
	}, "rewind"},
	{"log rotated in a transaction", func(r *room) {
		conn := r.do("BEGIN\nINSERT INTO visit VALUES ('2020-02-02', 1)")
		r.exec("FLUSH BINARY LOGS")
		if _, err := conn.ExecContext(r.t.Context(), "COMMIT"); err != nil {
			r.t.Error(err)
		}
	}, "rewind"},
	{"more than a log file", func(r *room) {
		for i := range 5 {
			r.do(fmt.Sprintf("INSERT INTO alltypes (id, bl) VALUES (%d, REPEAT(x'00ff', 2500000)), (%d, REPEAT('x', 3000000))", 10+i, 20+i))
		}
		r.do("DELETE FROM plain")
	}, "rewind"},
	{"a row that is larger than a statement may be", func(r *room) {
		r.do("INSERT INTO alltypes (id, bl) VALUES (10, REPEAT(x'00ff', 3500000))\nDELETE FROM alltypes WHERE id = 10")
	}, "reclone"},
	{"a row as large, of which undoing needs the key only", func(r *room) {
		r.do("INSERT INTO alltypes (id, bl) VALUES (10, REPEAT(x'00ff', 3500000))\nUPDATE alltypes SET i8 = 7 WHERE id = 10")
	}, "rewind"},
	{"a privileged account changes the lease", func(r *room) {
		r.super("UPDATE DB.plain SET name = 'by root'\nINSERT INTO DB.visit VALUES ('2020-02-02', 1)")
	}, "rewind"},
	{"a privileged account changes both leases", func(r *room) {
		r.super("BEGIN\nUPDATE DB.plain SET name = 'by root'\nDELETE FROM farm_2.visit\nCOMMIT")
		r.touched = true
	}, "rewind"},
	{"a table goes to another database", func(r *room) {
		r.super("CREATE DATABASE elsewhere\nRENAME TABLE DB.plain TO elsewhere.plain\nDROP DATABASE elsewhere")
	}, "refill"},
	{"a table comes from another database", func(r *room) {
		r.super("CREATE DATABASE elsewhere\nCREATE TABLE elsewhere.t (a int)\nRENAME TABLE elsewhere.t TO DB.t\nDROP DATABASE elsewhere")
	}, "refill"},
	{"accounts", func(r *room) {
		r.super("CREATE USER DB@localhost\nGRANT SELECT ON DB.* TO DB@localhost\nDROP USER DB@localhost")
		r.warned = "GRANT"
	}, "noop"},
	{"global settings", func(r *room) { r.super("SET GLOBAL max_connections = 90") }, "noop"},
	{"the log cannot be switched off", func(r *room) {
		conn := r.do("-SET sql_log_bin = 0\n-SET SESSION binlog_format = STATEMENT\n-SET SESSION binlog_row_image = MINIMAL\nDELETE FROM visit")
		var on bool
		if err := conn.QueryRowContext(r.t.Context(), "SELECT @@sql_log_bin").Scan(&on); err != nil || !on {
			r.t.Errorf("it is off: %v", err)
		}
	}, "rewind"},
}

// room is a lease in trouble.
type room struct {
	*lease
	other *lease
	// dead and alive are connections that must be so afterwards.
	dead, alive []*sql.Conn
	statements  []*sql.Stmt
	// touched says that the other lease was changed on purpose; warned is a part of a
	// warning.
	touched bool
	warned  string
}

func (r *room) dies(conn *sql.Conn)  { r.dead = append(r.dead, conn) }
func (r *room) lives(conn *sql.Conn) { r.alive = append(r.alive, conn) }

// decided is lives for a connection that decided on an XA transaction: MySQL's
// performance_schema calls that active until the next statement, and it is ended.
func (r *room) decided(conn *sql.Conn) {
	if r.srv.Flavour == server.MariaDB {
		r.lives(conn)
	}
}

// leave ends a connection as an application that crashes does, and waits for the server.
func (r *room) leave(conn *sql.Conn) {
	r.t.Helper()
	var id uint64
	if err := conn.QueryRowContext(r.t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		r.t.Fatal(err)
	}
	if err := conn.Raw(func(c any) error { return c.(interface{ Close() error }).Close() }); err != nil {
		r.t.Log(err)
	}
	for n, attached := 1, true; n > 0 || attached; time.Sleep(time.Millisecond) {
		if err := r.session.Conn.QueryRowContext(r.t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?", id).Scan(&n); err != nil {
			r.t.Fatal(err)
		}
		// InnoDB lets go of the transaction later than the server of the connection.
		open, err := r.Server.Dialect().OpenTransactions(r.t.Context(), r.session.Conn, r.User)
		if err != nil {
			r.t.Fatal(err)
		}
		attached = slices.ContainsFunc(open, func(t dbconn.Transaction) bool { return t.Thread == id })
	}
}

func (r *room) prepared(text string) {
	r.t.Helper()
	st, err := r.pool.PrepareContext(r.t.Context(), text)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { st.Close() })
	r.statements = append(r.statements, st)
	r.run()
}

func (r *room) run() {
	r.t.Helper()
	for _, st := range r.statements {
		if _, err := st.ExecContext(r.t.Context(), 77); err != nil {
			r.t.Errorf("prepared statement: %v", err)
		}
	}
}

// back is a reset under way.
func (r *room) back() reset.Result {
	r.t.Helper()
	res, err := r.Reset(r.t.Context(), r.session, &r.Database, reset.RestoreCounters)
	if err != nil {
		r.t.Fatal(err)
	}
	if diff := differences(r.asFresh, r.state()); diff != "" {
		r.t.Errorf("after %s (%s) it is not as it was:\n%s", res.Way, res.Why, diff)
	}
	return res
}

func alive(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT 1")
	return err
}

// TestTroubles leaves each of the troubles and puts the lease back, beside another lease
// with an open transaction.
func TestTroubles(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "farm", servertest.Flavoured(servertest.Find(t, want), farm))
		le, other := l.lease("farm_1"), l.lease("farm_2")
		for _, tc := range troubles {
			t.Run(tc.name, func(t *testing.T) {
				le.t, other.t, l.t = t, t, t
				r := &room{lease: le, other: other}
				open := other.do("BEGIN\nINSERT INTO counted (a) VALUES (4711)\nSELECT * FROM keeper")
				defer open.Close()
				bystander := le.do("SELECT * FROM plain\nSET @mine = 5")
				before := other.state() // with the counter that the transaction moved
				tc.do(r)
				res := r.back()
				if !strings.Contains(" "+tc.ways+" ", " "+string(res.Way)+" ") {
					t.Errorf("the way was %s (%s), want %s", res.Way, res.Why, tc.ways)
				}
				if text := strings.Join(res.Warnings, "\n"); r.warned != "" && !strings.Contains(text, r.warned) {
					t.Errorf("warnings %q do not say %s", text, r.warned)
				}
				for _, conn := range r.dead {
					if alive(t.Context(), conn) == nil {
						t.Error("a connection with an open transaction lives")
					}
				}
				for _, conn := range r.alive {
					if err := alive(t.Context(), conn); err != nil {
						t.Errorf("a connection without a transaction died: %v", err)
					}
				}
				if err := alive(t.Context(), bystander); err != nil && !strings.Contains(tc.name, "locked") {
					t.Errorf("a connection that did nothing died: %v", err)
				}
				if err := alive(t.Context(), open); err != nil {
					t.Errorf("the other lease's transaction died: %v", err)
				}
				r.run() // what was prepared still works
				if res := r.back(); len(r.statements) > 0 != (res.Way == reset.Undo) {
					t.Errorf("a second reset was a %s (%s)", res.Way, res.Why)
				}
				if r.touched == (differences(before, other.state()) == "") {
					t.Error("the other lease is not as it should be")
				}
				if _, err := other.Reset(t.Context(), l.session, &other.Database, reset.RestoreCounters); err != nil {
					t.Error(err)
				}
				if diff := differences(other.asFresh, other.state()); diff != "" {
					t.Errorf("the other lease is not as it was:\n%s", diff)
				}
				le.pool.SetMaxIdleConns(0) // the next begins with connections of its own
				le.pool.SetMaxIdleConns(2)
			})
		}
	})
}

// TestLostLog: when the log was lost the lease is made again, or nothing is said to be
// right: the template may have been changed unseen as well.
func TestLostLog(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "farm", servertest.Flavoured(servertest.Find(t, want), farm))
		le := l.lease("farm_1")
		for name, text := range map[string]string{
			"purged": "FLUSH BINARY LOGS\nFLUSH BINARY LOGS\nPURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY",
			"reset":  l.resetLogs(),
		} {
			for _, more := range []string{"", "INSERT INTO plain VALUES (101, 'seen')"} {
				t.Run(name+" "+more, func(t *testing.T) {
					le.t, l.t = t, t
					le.do("DELETE FROM visit\nINSERT INTO plain VALUES (100, 'unseen')")
					l.exec(text)
					le.do(more)
					if _, err := le.Reset(t.Context(), l.session, &le.Database, reset.RestoreCounters); err != nil {
						if !errors.Is(err, reset.ErrTemplateChanged) {
							t.Fatal(err)
						}
						l.Journal.Watch("farm") // as after a comparison that found it right
						_, err = le.Reset(t.Context(), l.session, &le.Database, reset.RestoreCounters)
						if err != nil {
							t.Fatal(err)
						}
					}
					le.check()
					le.do("DELETE FROM visit")
					if res := le.reset(); res.Way != reset.Undo {
						t.Errorf("afterwards: %s (%s)", res.Way, res.Why)
					}
				})
			}
		}
	})
}

// resetLogs is the statement that removes all logs.
func (l *lab) resetLogs() string {
	if l.srv.Flavour == server.MySQL {
		return "RESET BINARY LOGS AND GTIDS"
	}
	return "RESET MASTER"
}
