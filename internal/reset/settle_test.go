package reset_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestCountersAskedOnce puts one row back among many tables: each is asked for its counter once at
// most, and once more if a foreign key ties it to one that was altered.
func TestCountersAskedOnce(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		const tables = 40
		var schema strings.Builder
		for n := range tables {
			key := ""
			if n%10 > 0 { // four chains, of which the second link of the first is used
				key = fmt.Sprintf(", FOREIGN KEY (up) REFERENCES t%d (id)", n-1)
			}
			fmt.Fprintf(&schema, "CREATE TABLE t%d (id int AUTO_INCREMENT PRIMARY KEY, up int, u int, UNIQUE KEY (u), KEY (up)%s) ENGINE=InnoDB;\nINSERT INTO t%d (up, u) VALUES (NULL, 1), (NULL, 2);\n", n, key, n)
		}
		l := newLab(t, want, "many", schema.String())
		le := l.lease("many_1")
		done := func(command string) (n int) {
			t.Helper()
			var name string
			if err := l.session.Conn.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Com_"+command+"'").Scan(&name, &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		asked := func() int { t.Helper(); return done("show_create_table") }
		flushed := done("flush")
		const tied = 2
		n := tables + tied + 1
		for range 5 { // on a busy machine an idle session may look as if it were at work, and all is asked again
			le.do("INSERT INTO t1 (u) VALUES (3)").Close()
			before := asked()
			if res, err := le.Reset(t.Context(), l.session, &le.Database, reset.RestoreCounters); err != nil || res.Way != reset.Undo {
				t.Fatal(res, err)
			}
			if n = asked() - before; n <= tables+tied {
				break
			}
		}
		if n > tables+tied {
			t.Errorf("tables were asked %d times, want %d at most", n, tables+tied)
		}
		if l.srv.HidesCounters() && done("flush") == flushed {
			t.Error("tables that a key ties to the altered one were not reopened")
		}
		le.check()
		// Numbers that a neighbour's failed insert used show only now.
		le.do("-INSERT INTO t2 (id, u) VALUES (3, 1)\nINSERT INTO t1 (u) VALUES (3)").Close()
		le.reset()
		for _, name := range []string{"t0", "t1", "t2"} {
			var id int64
			res, err := le.pool.ExecContext(t.Context(), "INSERT INTO "+name+" (u) VALUES (9)")
			if err == nil {
				id, err = res.LastInsertId()
			}
			if err != nil || id != 3 {
				t.Errorf("the next id of %s was %d (%v), want the template's, 3", name, id, err)
			}
		}
	})
}
