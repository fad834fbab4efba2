package xa_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/xa"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patient are the settings of a server whose commits wait without end once enabled is set.
func patient(s *server.Server) (set map[string]string, enabled string) {
	set = map[string]string{"binlog_checksum": "CRC32", "sync_binlog": "0"}
	if s.Flavour == server.MySQL {
		maps.Copy(set, map[string]string{"plugin_load_add": "semisync_source.so", "loose_rpl_semi_sync_source_timeout": "4294967295"})
		return set, "rpl_semi_sync_source_enabled"
	}
	maps.Copy(set, map[string]string{"rpl_semi_sync_master_timeout": "315360000000", "rpl_semi_sync_master_wait_point": "AFTER_SYNC", "rpl_semi_sync_master_wait_no_slave": "ON"})
	return set, "rpl_semi_sync_master_enabled"
}

// killed is a server that was killed while XA transactions were under way, and runs again.
type killed struct {
	*servertest.Running
	db *sql.DB
}

func open(t *testing.T, srv *servertest.Running) *sql.DB {
	t.Helper()
	db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "shop")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// say sends statements over a connection of their own. The last may not be answered before the server is killed.
func say(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = conn.Close() }()
	for i, text := range statements {
		if _, err := conn.ExecContext(context.Background(), text); err != nil && i+1 < len(statements) {
			t.Errorf("%s: %v", text, err)
		}
	}
	_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // what is prepared is nobody's then
}

// alone waits until the server has no other connection.
func alone(t *testing.T, db *sql.DB) {
	t.Helper()
	for end, n := time.Now().Add(time.Minute), 0; n != 1; time.Sleep(10 * time.Millisecond) {
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE user = ?", dbconn.SupervisorUser).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatalf("there are %d connections", n)
		}
	}
}

// name is that of a transaction as the log has it.
func name(global string) string { return binlog.XID{Format: 1, Global: global}.String() }

func prepare(global string, statements ...string) []string {
	x := name(global)
	return slices.Concat([]string{"XA START " + x}, statements, []string{"XA END " + x, "XA PREPARE " + x})
}

func kill(t *testing.T, want string) *killed {
	srv := servertest.Start(t, servertest.Find(t, want))
	srv.Load(t, "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, w VARCHAR(20)) ENGINE=InnoDB; INSERT INTO shop.t VALUES (1, 'one')")
	set, enabled := patient(srv.Server)
	srv.RestartAs(t, server.Run, false, set)
	db := open(t, srv)
	say(t, db, prepare("kept", "INSERT INTO t VALUES (2, 'kept')")...)
	say(t, db, prepare("committed", "INSERT INTO t VALUES (3, 'committed')")...)
	say(t, db, prepare("rolled back", "INSERT INTO t VALUES (4, 'rolled back')")...)
	if srv.Flavour == server.MariaDB {
		say(t, db, append([]string{"SET sql_log_bin = 0"}, prepare("unlogged", "INSERT INTO t VALUES (5, 'unlogged')")...)...)
	}
	alone(t, db)
	for _, c := range []struct {
		name       string
		step       binlog.XAStep
		statements []string
	}{
		{"waits", binlog.XAPrepares, prepare("waits", "INSERT INTO t VALUES (6, 'waits'), (7, REPEAT('w', 20))", "UPDATE t SET w = 'ONE' WHERE id = 1")},
		{"committed", binlog.XACommits, []string{"XA COMMIT " + name("committed")}},
		{"rolled back", binlog.XARollsBack, []string{"XA ROLLBACK " + name("rolled back")}},
	} {
		say(t, db, "SET GLOBAL "+enabled+" = 1", "DO 0")
		var waiting sync.WaitGroup
		waiting.Go(func() { say(t, db, c.statements...) })
		awaitLogged(t, srv, name(c.name), c.step)
		srv.Kill()
		waiting.Wait()
		srv.RestartAs(t, server.Run, false, set)
	}
	return &killed{srv, db}
}

// awaitLogged waits until the log has a step of a transaction.
func awaitLogged(t *testing.T, srv *servertest.Running, name string, step binlog.XAStep) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		l, err := xa.ReadLog(srv.DataDir(), server.BinlogName)
		if err != nil {
			t.Fatal(err)
		}
		if l.Steps[name].Step == step {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the log has %v", l.Steps)
		}
	}
}

// prepared are those that the server has, by what they were given.
func (k *killed) prepared(t *testing.T) (list []string) {
	t.Helper()
	if err := dbconn.Query(t.Context(), k.db, "XA RECOVER", func(c []string) error {
		list = append(list, c[3])
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

func (k *killed) rows(t *testing.T) (list []string) {
	t.Helper()
	if err := dbconn.Query(t.Context(), k.db, "SELECT id, w FROM t ORDER BY id", func(c []string) error {
		list = append(list, strings.Join(c, " "))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// logged is how much the log holds.
func (k *killed) logged(t *testing.T) (n int64) {
	t.Helper()
	files, err := binlog.Files(k.DataDir(), server.BinlogName)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		fi, err := os.Stat(filepath.Join(k.DataDir(), f))
		if err != nil {
			t.Fatal(err)
		}
		n += fi.Size()
	}
	return n
}

// TestSettle: of a server that was killed between the log and InnoDB, InnoDB has what the log has. MySQL sees to that by
// itself; that MariaDB does not is the control.
func TestSettle(t *testing.T) {
	servertest.EachAlways(t, func(t *testing.T, want string) {
		t.Parallel()
		k := kill(t, want)
		if k.Flavour == server.MariaDB {
			if got := k.prepared(t); !slices.Equal(got, []string{"committed", "kept", "rolled back", "unlogged"}) {
				t.Errorf("nothing to settle: %q are prepared", got)
			}
			l, err := xa.ReadLog(k.DataDir(), server.BinlogName)
			if err != nil {
				t.Fatal(err)
			}
			before := k.logged(t)
			done, err := l.Settle(t.Context(), k.db, xa.Recovered{Known: knows(map[string]bool{})})
			if err != nil {
				t.Fatal(err)
			}
			for _, list := range [][]string{done.All, done.RolledBack} {
				slices.Sort(list)
			}
			if diff := cmp.Diff(xa.Done{
				Prepared: []string{name("waits")}, Committed: []string{name("committed")}, RolledBack: []string{name("rolled back"), name("unlogged")}, All: []string{name("kept"), name("waits")},
			}, done); diff != "" {
				t.Errorf("settled (-want +got):\n%s", diff)
			}
			if after := k.logged(t); after != before {
				t.Errorf("the log had %d bytes, and has %d", before, after)
			}
			k.Kill() // it lasts
			k.Restart(t)
			k.db = open(t, k.Running)
		}
		if got := k.prepared(t); !slices.Equal(got, []string{"kept", "waits"}) {
			t.Errorf("%q are prepared", got)
		}
		say(t, k.db, "XA COMMIT "+name("waits"), "DO 0")
		say(t, k.db, "XA ROLLBACK "+name("kept"), "DO 0")
		if diff := cmp.Diff([]string{"1 ONE", "3 committed", "6 waits", "7 " + strings.Repeat("w", 20)}, k.rows(t)); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
	})
}

// TestSettleKeepsWhatIsKnown: what was prepared before the log begins stays, and so does what may have been.
func TestSettleKeepsWhatIsKnown(t *testing.T) {
	srv := servertest.Start(t, servertest.Find(t, "mariadb:10.11"))
	srv.Load(t, "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY) ENGINE=InnoDB")
	k := &killed{srv, open(t, srv)}
	say(t, k.db, prepare("known", "INSERT INTO t VALUES (1)")...)
	say(t, k.db, prepare("unknown", "INSERT INTO t VALUES (2)")...)
	alone(t, k.db)
	for _, c := range []struct {
		known map[string]bool
		want  []string
	}{{nil, []string{"known", "unknown"}}, {map[string]bool{name("known"): true}, []string{"known"}}} {
		if _, err := (xa.Log{}).Settle(t.Context(), k.db, xa.Recovered{Known: knows(c.known)}); err != nil {
			t.Fatal(err)
		}
		if got := k.prepared(t); !slices.Equal(got, c.want) {
			t.Errorf("%q are prepared, want %q", got, c.want)
		}
	}
}

func knows(known map[string]bool) func() (map[string]bool, error) {
	return func() (map[string]bool, error) { return known, nil }
}
