package reset_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestStatementsAtWork: a statement that has no transaction open, since it has written nothing yet
// or knows none, does not write to the database after it was put back. A short one may end.
func TestStatementsAtWork(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "farm", servertest.Flavoured(servertest.Find(t, want), farm))
		le := l.lease("farm_1")
		for _, tc := range []struct{ name, statement string }{
			{"nothing is written yet", "INSERT INTO plain VALUES (60 + SLEEP(%s), 'late')"},
			{"MyISAM", "UPDATE old SET b = 'late' WHERE SLEEP(%s) = 0"},
			{"MyISAM, a new row", "INSERT INTO old SELECT a + 10 + SLEEP(%s), 'late' FROM old"},
			{"a counter", "INSERT INTO counted (a) VALUES (SLEEP(%s))"},
			{"DDL", "CREATE TABLE late AS SELECT SLEEP(%s) AS s"},
		} {
			for _, seconds := range []string{"0.03", "40"} {
				t.Run(tc.name+" "+seconds, func(t *testing.T) {
					le.t, l.t = t, t
					conn := le.do("")
					defer conn.Close()
					var id uint64
					if err := conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
						t.Fatal(err)
					}
					ended := make(chan error, 1)
					ctx := context.WithoutCancel(t.Context())
					statement := fmt.Sprintf(tc.statement, seconds)
					for try := 0; ; try++ {
						go func() {
							_, err := conn.ExecContext(ctx, statement)
							ended <- err
						}()
						if l.arrives(id, statement, ended) {
							break
						}
						// It was over before this machine looked.
						if try == 20 {
							t.Fatal("the statement is never seen")
						}
						if _, err := le.Reset(ctx, l.session, &le.Database, reset.RestoreCounters); err != nil {
							t.Fatal(err)
						}
					}
					res, err := le.Reset(ctx, l.session, &le.Database, reset.RestoreCounters)
					if err != nil {
						t.Fatal(err)
					}
					if err := <-ended; err == nil && seconds == "40" {
						t.Errorf("the statement went on, and succeeded; %+v", res)
					}
					le.check()
					if diff := differences(le.asFresh, le.state()); diff != "" {
						t.Errorf("%+v: it is not as it was:\n%s", res, diff)
					}
					if _, err := le.Reset(ctx, l.session, &le.Database, reset.RestoreCounters); err != nil {
						t.Fatal(err)
					}
				})
			}
		}
	})
}

// TestDDLBehindTransaction: DDL that waits for a transaction goes on when a reset ends that, and neither outlives the reset. Behind
// one that has written, or locked rows, it has none of its own while it waits; behind one that reads, it has copied the table by then.
func TestDDLBehindTransaction(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		const ten = "(SELECT 0 AS n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)"
		large := "\nCREATE TABLE large (a INT PRIMARY KEY, b VARCHAR(60));\n" +
			"INSERT INTO large SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n, REPEAT('x', 50) FROM " + ten + " a, " + ten + " b, " + ten + " c, " + ten + " d;\n"
		l := newLab(t, want, "farm", servertest.Flavoured(servertest.Find(t, want), farm)+large)
		le := l.lease("farm_1")
		const statement = "ALTER TABLE large ADD KEY late (b), ALGORITHM=COPY"
		for n := range 6 {
			before := []string{"SELECT a FROM large WHERE a = 1 FOR UPDATE", "SELECT COUNT(*) FROM large"}[n%2]
			conn, other := le.do("START TRANSACTION\n"+before), le.do("")
			var id uint64
			if err := other.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() {
				_, err := other.ExecContext(context.WithoutCancel(t.Context()), statement)
				ended <- err
			}()
			l.waitsForTable(id, ended)
			res, err := le.Reset(t.Context(), l.session, &le.Database, reset.RestoreCounters)
			if err != nil {
				t.Fatal(err)
			}
			err = <-ended
			le.check()
			if diff := differences(le.asFresh, le.state()); diff != "" {
				t.Errorf("behind %s: %+v, and the statement: %v: it is not as it was:\n%s", before, res, err, diff)
			}
			conn.Close()
			other.Close()
			if _, err := le.Reset(t.Context(), l.session, &le.Database, reset.RestoreCounters); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// arrives waits until the server is at work on what a connection was sent; false says that it
// has ended before it was seen.
func (l *lab) arrives(id uint64, statement string, ended <-chan error) bool {
	l.t.Helper()
	for {
		sessions, err := dbconn.Sessions(l.t.Context(), l.session.Conn)
		if err != nil {
			l.t.Fatal(err)
		}
		if slices.ContainsFunc(sessions, func(s dbconn.Session) bool { return s.ID == id && s.Statement == statement }) {
			return true
		}
		select {
		case err := <-ended:
			if err != nil {
				l.t.Fatal(err)
			}
			return false
		case <-time.After(time.Millisecond):
		}
	}
}

// waitsForTable waits until the statement of a connection waits for others that have its table.
func (l *lab) waitsForTable(id uint64, ended <-chan error) {
	l.t.Helper()
	for waits := false; !waits; {
		err := dbconn.Query(l.t.Context(), l.session.Conn, "SHOW PROCESSLIST", func(cols []string) error {
			waits = waits || cols[0] == strconv.FormatUint(id, 10) && cols[6] == "Waiting for table metadata lock"
			return nil
		})
		if err != nil {
			l.t.Fatal(err)
		}
		select {
		case err := <-ended:
			l.t.Fatalf("the statement did not wait: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
}

// TestOpenConnections: who puts a database back hears which connections stay, since their sessions do; those that it ends
// are none.
func TestOpenConnections(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "farm", servertest.Flavoured(servertest.Find(t, want), farm))
		le := l.lease("farm_1")
		var stay, ended []uint64
		for _, text := range []string{"SET @x = 1", "CREATE TEMPORARY TABLE mine (a INT)", "START TRANSACTION\nINSERT INTO plain VALUES (60, 'open')"} {
			conn := le.do(text)
			t.Cleanup(func() { conn.Close() })
			var id uint64
			if err := conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(text, "START") {
				ended = append(ended, id)
			} else {
				stay = append(stay, id)
			}
		}
		for range 2 {
			got := le.reset().Connections // what looks at the lease may have one, too
			for _, id := range stay {
				if !slices.Contains(got, id) {
					t.Errorf("the connections %v stay, not %d", got, id)
				}
			}
			if slices.Contains(got, ended[0]) {
				t.Errorf("the connections %v stay, and %d, which had a transaction open", got, ended[0])
			}
		}
	})
}

// TestLateKillQuery: a session to which KILL QUERY came when it was idle is not at work, whatever the server calls it, and keeps
// its connection.
func TestLateKillQuery(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "farm", servertest.Flavoured(servertest.Find(t, want), farm))
		le := l.lease("farm_1")
		conn := le.do("INSERT INTO plain VALUES (60, 'x')")
		defer conn.Close()
		var id uint64
		if err := conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := l.session.Conn.ExecContext(t.Context(), fmt.Sprintf("KILL QUERY %d", id)); err != nil {
				t.Fatal(err)
			}
			if got := le.reset().Connections; !slices.Contains(got, id) {
				t.Fatalf("the connections %v stay, not %d", got, id)
			}
		}
		if _, err := conn.ExecContext(t.Context(), "INSERT INTO plain VALUES (61, 'y')"); err != nil && !dbconn.Interrupted(err) {
			t.Error(err)
		}
	})
}
