package reset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestCounters moves counters of databases whose tables are asked one by one, and of others
// that have too many for that. What the server samples for statistics is as it was afterwards.
func TestCounters(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		for _, tables := range []int{1, reset.Few - 1, reset.Few + 1} { // and one more
			t.Run(fmt.Sprint(tables), func(t *testing.T) {
				l := newLab(t, want, "many", countedTables(tables))
				const usual = 5
				l.sampling(usual)
				le := l.lease("many_1")
				if statements := l.Setting(t.Context(), l.session, "many_1", map[string]uint64{"t1": 3}); l.srv.Sampling() != "" && (len(statements) != 3 || !strings.HasSuffix(statements[0], "= 1") || !strings.HasSuffix(statements[2], "= 5")) {
					t.Errorf("a counter is put back by %q", statements)
				}
				for _, tc := range []struct {
					name, do string
					way      reset.Way
				}{
					{"by rows", "INSERT INTO t1 (u) VALUES (10), (11)", reset.Undo},
					{"by a rolled back insert", "BEGIN\nINSERT INTO last (u) VALUES (12)\nROLLBACK", reset.Noop},
					{"of a column that is not seen", "INSERT INTO unseen (u) VALUES (2)", reset.Undo},
					{"by a failed insert, and rows", "-INSERT INTO t1 (u) VALUES (1)\nINSERT INTO last (u) VALUES (13)\nDELETE FROM t1", reset.Undo},
					{"and a table is gone", "INSERT INTO t1 (u) VALUES (10)\nDROP TABLE last", reset.Refill},
					{"and a table is a view", "INSERT INTO t1 (u) VALUES (10)\nDROP TABLE last\nCREATE VIEW last AS SELECT 1 AS one", reset.Refill},
				} {
					t.Run(tc.name, func(t *testing.T) {
						le.t, l.t = t, t
						le.do(tc.do)
						if res := le.reset(); res.Way != tc.way {
							t.Errorf("the way was %s (%s), want %s", res.Way, res.Why, tc.way)
						}
						le.check()
						if n := l.sampled(); n != usual {
							t.Errorf("the server samples %d pages, and %d before", n, usual)
						}
					})
				}
				le.t, l.t = t, t
				locked := le.do("INSERT INTO t1 (u) VALUES (20)\nLOCK TABLES t1 READ")
				defer locked.Close()
				if res := le.reset(); res.Way != reset.Undo { // whose it is, is ended
					t.Errorf("with a lock in the way: %s (%s), want %s", res.Way, res.Why, reset.Undo)
				}
				le.check()
				if n := l.sampled(); n != usual {
					t.Errorf("after a reset that met a lock the server samples %d pages, and %d before", n, usual)
				}
			})
		}
	})
}

// TestHiddenCounters: what MySQL hides of a counter does not show later, where tables are altered or
// others get the database. The first lease of a server has no tables that were opened in other ways.
func TestHiddenCounters(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		l := newLab(t, want, "tied", "CREATE TABLE parent (id int AUTO_INCREMENT PRIMARY KEY, u int, UNIQUE KEY (u)) ENGINE=InnoDB AUTO_INCREMENT=40; INSERT INTO parent VALUES (1, 1), (2, 2);"+
			"CREATE TABLE child (id int AUTO_INCREMENT PRIMARY KEY, parent int, FOREIGN KEY (parent) REFERENCES parent (id)) ENGINE=InnoDB; INSERT INTO child VALUES (1, 1);")
		for name, tc := range map[string]struct {
			do     string
			asleep bool
		}{
			"of a parent, a child is altered":   {do: "BEGIN\nINSERT INTO child (parent) VALUES (1)\nROLLBACK"},
			"nothing is altered, others get it": {asleep: true},
		} {
			t.Run(name, func(t *testing.T) {
				l.t = t
				le := l.lease("tied_" + fmt.Sprint(len(name)))
				keep := l.newSession() // of which both tables stay open
				for range 2 {
					conn := le.do("-INSERT INTO parent VALUES (40, 1)\n" + tc.do)
					le.Asleep = tc.asleep
					if _, err := l.Reset(t.Context(), keep, &le.Database, reset.RestoreCounters); err != nil {
						t.Fatal(err)
					}
					le.Asleep = false
					le.check() // the dump opens tables again
					conn.Close()
				}
			})
		}
	})
}

// countedTables is a schema of so many tables with an AUTO_INCREMENT, one more without, and
// texts that look like one.
func countedTables(n int) string {
	var b strings.Builder
	for i := range n {
		name := fmt.Sprintf("t%d", i+1)
		if i > 0 && i == n-1 {
			name = "last"
		}
		fmt.Fprintf(&b, "CREATE TABLE %s (id int NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'x\n) AUTO_INCREMENT=3', u int, UNIQUE KEY (u)) ENGINE=InnoDB COMMENT='it is\n) AUTO_INCREMENT=7';\n", name)
		fmt.Fprintf(&b, "INSERT INTO %s (u) VALUES (1), (2);\n", name)
	}
	b.WriteString("CREATE TABLE unseen (id int NOT NULL AUTO_INCREMENT PRIMARY KEY INVISIBLE, u int) ENGINE=InnoDB; INSERT INTO unseen (u) VALUES (1);\n")
	if n == 1 {
		b.WriteString("CREATE TABLE last (id int NOT NULL PRIMARY KEY DEFAULT 1, u int) ENGINE=InnoDB COMMENT=' AUTO_INCREMENT=7';\n")
	}
	return b.String()
}

// sampling sets how many pages the server samples, if it does.
func (l *lab) sampling(n int) {
	if variable := l.srv.Sampling(); variable != "" {
		l.exec(fmt.Sprintf("SET GLOBAL %s = %d", variable, n))
	}
}

// sampled is what sampling has set.
func (l *lab) sampled() (n int) {
	l.t.Helper()
	variable := l.srv.Sampling()
	if variable == "" {
		return 5
	}
	if err := l.session.Conn.QueryRowContext(context.Background(), "SELECT @@GLOBAL."+variable).Scan(&n); err != nil {
		l.t.Fatal(err)
	}
	return n
}
