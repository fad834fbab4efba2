package xa_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/xa"
)

func onePhase(global string, statements ...string) []string {
	x := name(global)
	return slices.Concat([]string{"XA START " + x}, statements, []string{"XA END " + x, "XA COMMIT " + x + " ONE PHASE"})
}

func ordinary(statements ...string) []string {
	return slices.Concat([]string{"START TRANSACTION"}, statements, []string{"COMMIT"})
}

// onePhaseCase is what commits when the server is killed.
type onePhaseCase struct {
	name string
	// logged wait for the acknowledgement, in one group; unlogged have been prepared in InnoDB, and not logged.
	logged, unlogged [][]string
	// prepared are those that the server has prepared after its recovery.
	prepared []string
	// want are rows of t, and of the table without a key, when that is settled.
	want []string
	// redone says that some are done again from the log; else what is prepared is committed, or was not logged.
	redone bool
}

var onePhaseCases = []onePhaseCase{
	{
		name:   "alone",
		logged: [][]string{onePhase("x", "INSERT INTO t VALUES (3, 'x')", "UPDATE t SET w = 'X' WHERE id = 1", "DELETE FROM t WHERE id = 2")}, prepared: []string{"x"},
		want: []string{"1 X", "3 x", "- one", "- two"},
	}, {
		name: "among ordinary ones",
		logged: [][]string{
			ordinary("INSERT INTO t VALUES (3, 'ordinary')"), onePhase("x", "UPDATE t SET w = 'X' WHERE id = 1"), ordinary("DELETE FROM t WHERE id = 2"),
			onePhase("y", "INSERT INTO t VALUES (4, 'y')"),
		},
		prepared: []string{"x", "y"}, want: []string{"1 X", "3 ordinary", "4 y", "- one", "- two"},
	}, {
		name: "a table without a key", redone: true,
		logged: [][]string{
			ordinary("INSERT INTO n VALUES ('ordinary')"), onePhase("x", "INSERT INTO n VALUES ('x'), ('same'), ('one')"), onePhase("y", "INSERT INTO n VALUES ('y'), (NULL), ('same')"),
			ordinary("INSERT INTO n VALUES ('same'), ('else')"), onePhase("z", "INSERT INTO t VALUES (3, 'z')"),
		},
		prepared: []string{"x", "y", "z"},
		want:     []string{"1 one", "2 two", "3 z", "- NULL", "- else", "- one", "- one", "- ordinary", "- same", "- same", "- same", "- two", "- x", "- y"},
	}, {
		name: "rows of a table without a key are changed", redone: true,
		logged: [][]string{
			onePhase("x", "UPDATE n SET w = 'ONE' WHERE w = 'one'"), ordinary("INSERT INTO t VALUES (3, 'ordinary')"), onePhase("y", "INSERT INTO t VALUES (4, 'y')"),
		},
		prepared: []string{"x", "y"}, want: []string{"1 one", "2 two", "3 ordinary", "4 y", "- ONE", "- two"},
	}, {
		name: "some were not logged", redone: true,
		logged: [][]string{
			onePhase("x", "INSERT INTO t VALUES (3, 'x')", "INSERT INTO n VALUES ('x')"), ordinary("INSERT INTO n VALUES ('ordinary')"), onePhase("y", "INSERT INTO n VALUES ('y')"),
		},
		unlogged: [][]string{onePhase("u", "UPDATE t SET w = 'u' WHERE id = 1", "INSERT INTO n VALUES ('u')"), onePhase("v", "INSERT INTO t VALUES (4, 'v')")},
		prepared: []string{"u", "v", "x", "y"}, want: []string{"1 one", "2 two", "3 x", "- one", "- ordinary", "- two", "- x", "- y"},
	}, {
		name:     "none was logged",
		logged:   [][]string{ordinary("INSERT INTO t VALUES (3, 'ordinary')")},
		unlogged: [][]string{onePhase("u", "UPDATE t SET w = 'u' WHERE id = 1")},
		prepared: []string{"u"}, want: []string{"1 one", "2 two", "3 ordinary", "- one", "- two"},
	},
}

// groups is how many ordinary transactions are in the log.
func (k *killed) groups(t *testing.T) (n int) {
	t.Helper()
	files, err := binlog.Files(k.DataDir(), server.BinlogName)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, err := binlog.Scan(filepath.Join(k.DataDir(), f), 0, func(g binlog.Group) error {
			if g.Kind == binlog.Transaction {
				n++
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// inPrepared is how many transactions InnoDB has prepared, ordinary ones too.
func (k *killed) inPrepared(t *testing.T) int {
	t.Helper()
	var kind, of, status string
	if err := k.db.QueryRowContext(t.Context(), "SHOW ENGINE INNODB STATUS").Scan(&kind, &of, &status); err != nil {
		t.Fatal(err)
	}
	return strings.Count(status, "(PREPARED)")
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not come: %s", what)
		}
	}
}

// cutOff kills a server while transactions commit, and starts it again.
func cutOff(t *testing.T, want string, c onePhaseCase) *killed {
	srv := servertest.Start(t, servertest.Find(t, want))
	srv.Load(t, `CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, w VARCHAR(20)) ENGINE=InnoDB; CREATE TABLE shop.n (w VARCHAR(20)) ENGINE=InnoDB; CREATE TABLE shop.altered (w VARCHAR(20)) ENGINE=InnoDB`)
	set, enabled := patient(srv.Server)
	group := "SET GLOBAL binlog_commit_wait_usec = 100000000, GLOBAL binlog_commit_wait_count = " + strconv.Itoa(len(c.logged))
	if srv.Flavour == server.MySQL {
		group = "SET GLOBAL binlog_group_commit_sync_delay = 1000000, GLOBAL binlog_group_commit_sync_no_delay_count = " + strconv.Itoa(len(c.logged))
	}
	srv.RestartAs(t, server.Run, false, set)
	k := &killed{srv, open(t, srv)}
	say(t, k.db, "INSERT INTO t VALUES (1, 'one'), (2, 'two')", "INSERT INTO n VALUES ('one'), ('two')", "DO 0")
	// Rows of the log that their table does not take any more.
	say(t, k.db, "SET sql_mode = ''", "INSERT INTO altered VALUES ('long')", "ALTER TABLE altered MODIFY w VARCHAR(2)", "DO 0")
	before := k.groups(t)
	say(t, k.db, "SET GLOBAL "+enabled+" = 1", group, "DO 0")
	var waiting sync.WaitGroup
	for _, statements := range c.logged {
		waiting.Go(func() { say(t, k.db, statements...) })
	}
	eventually(t, "transactions are logged", func() bool { return k.groups(t) == before+len(c.logged) })
	if srv.Flavour == server.MariaDB {
		if c.unlogged != nil {
			say(t, k.db, "SET GLOBAL binlog_commit_wait_count = 100", "DO 0")
		}
		for _, statements := range c.unlogged {
			waiting.Go(func() { say(t, k.db, statements...) })
		}
		eventually(t, "all are prepared", func() bool { return k.inPrepared(t) == len(c.logged)+len(c.unlogged) })
	}
	if n := k.groups(t); n != before+len(c.logged) {
		t.Errorf("%d transactions are in the log, and were %d", n, before)
	}
	srv.Kill()
	waiting.Wait()
	srv.RestartAs(t, server.Run, false, set)
	return k
}

func (k *killed) all(t *testing.T) []string {
	t.Helper()
	list := k.rows(t)
	if err := dbconn.Query(t.Context(), k.db, "SELECT CONCAT('- ', IFNULL(w, 'NULL')) AS r FROM n ORDER BY CAST(r AS BINARY)", func(c []string) error {
		list = append(list, c[0])
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

func (k *killed) state(t *testing.T) (text string) {
	t.Helper()
	if err := k.db.QueryRowContext(context.Background(), "SELECT CONCAT(@@gtid_binlog_state, ' ', @@gtid_slave_pos)").Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// TestOnePhase: of a server that was killed while transactions committed in one phase, the data has what the log has. MySQL
// sees to that by itself; that MariaDB does not is the control.
func TestOnePhase(t *testing.T) {
	servertest.EachAlways(t, func(t *testing.T, want string) {
		for _, c := range onePhaseCases {
			t.Run(c.name, func(t *testing.T) {
				k := cutOff(t, want, c)
				if k.Flavour == server.MariaDB {
					k.settleOnePhase(t, c)
					k.Stop(t)
					k.Restart(t)
					k.db = open(t, k.Running)
				}
				if got := k.prepared(t); len(got) > 0 {
					t.Errorf("%q are prepared", got)
				}
				if diff := cmp.Diff(c.want, k.all(t)); diff != "" {
					t.Errorf("rows (-want +got):\n%s", diff)
				}
			})
		}
	})
}

func (k *killed) settleOnePhase(t *testing.T, c onePhaseCase) {
	t.Helper()
	if got := k.prepared(t); !slices.Equal(got, c.prepared) {
		t.Errorf("nothing to mend: %q are prepared", got)
	}
	log, err := os.Open(filepath.Join(filepath.Dir(k.DataDir()), "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	r := xa.Recovered{Known: knows(map[string]bool{})}
	if r.Committed, err = xa.Committed(log); err != nil {
		t.Fatal(err)
	}
	if r.Committed.Offset == 0 {
		t.Error("the server's log does not say up to where it has committed")
	}
	l, err := xa.ReadLog(k.DataDir(), server.BinlogName)
	if err != nil {
		t.Fatal(err)
	}
	size, state := k.logged(t), k.state(t)
	done, err := l.Settle(t.Context(), k.db, r)
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Redone) > 0 != c.redone || len(done.Committed)+len(done.RolledBack) != len(c.prepared) || len(done.All) > 0 {
		t.Errorf("settled %+v", done)
	}
	if n := k.logged(t); n != size || k.state(t) != state {
		t.Errorf("the log had %d bytes, and has %d; its state was %s, and is %s", size, n, state, k.state(t))
	}
}
