package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// exec runs statements, each on a connection of the pool.
func exec(t *testing.T, r *servertest.Running, statements ...string) {
	t.Helper()
	db, err := dbconn.Open(r.Endpoint.Socket, r.Endpoint.Login, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(context.Background(), s); err != nil {
			t.Fatalf("%.200s: %v", s, err)
		}
	}
}

// counting makes a table, and has transactions that each insert the next number into it.
func (w *twin) counting(t *testing.T, n int) {
	t.Helper()
	db, err := dbconn.Open(w.Endpoint.Socket, w.Endpoint.Login, "shop")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i := range n {
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO counted VALUES (%d, REPEAT('x', %d))", i+1, i%200)); err != nil {
			t.Fatal(err)
		}
	}
}

const insert301 = "INSERT INTO shop.counted VALUES (301, '')"

// counted are how many numbers there are, and the largest.
func counted(t *testing.T, r *servertest.Running) string {
	t.Helper()
	return query(t, r, "SELECT COUNT(*), COALESCE(MAX(id), 0) FROM shop.counted")[0]
}

func upTo(n int64) string { return fmt.Sprintf("%d | %d", n, n) }

// TestReplayOfOwnServerID: a server passes over events that it takes for its own; here the log has the number
// of the server that applies. It has no checksums either.
func TestReplayOfOwnServerID(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		exec(t, w.Running, "SET GLOBAL server_id = "+strconv.Itoa(serverID), "SET GLOBAL binlog_checksum = NONE", "FLUSH BINARY LOGS")
		w.counting(t, 10)
		w.Kill()
		got, r := w.replay(t, w.logs(t))
		if r.Groups != 10 || counted(t, got) != upTo(10) {
			t.Errorf("%+v, %s", r, counted(t, got))
		}
	})
}

// TestApplyError: a log that does not fit the data directory ends in an error that says where.
func TestApplyError(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		w.counting(t, 10)
		exec(t, w.Running, "CREATE TABLE shop.other (id INT)", "UPDATE shop.counted SET s = 'z' WHERE id = 5")
		w.Kill()
		logs := w.logs(t)
		list := ends(t, logs[0].Path)
		_, err := w.job(t, []Log{{Path: logs[0].Path, From: list[10]}}).Run(t.Context())
		var apply *ApplyError
		if !errors.As(err, &apply) || apply.Path != logs[0].Path || apply.Offset != list[10] || apply.Errno == 0 {
			t.Errorf("%+v, %v; want offset %d", apply, err, list[10])
		}
		t.Log(err)
	})
}

// TestSerialTellsWhere: where many transactions are good and one cannot be applied, a replay that applies one after the other
// says where that begins; one that makes one of several, or applies several at once, may name one before it, and says that.
func TestSerialTellsWhere(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		w.counting(t, 300)
		db, err := dbconn.Open(w.Endpoint.Socket, w.Endpoint.Login, "shop")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, text := range []string{"SET sql_log_bin = 0", "CREATE TABLE unlogged (id INT PRIMARY KEY)", "SET sql_log_bin = 1", "INSERT INTO unlogged VALUES (1)", "INSERT INTO unlogged VALUES (2)"} {
			if _, err := conn.ExecContext(t.Context(), text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		w.Kill()
		logs := w.logs(t)
		list := ends(t, logs[0].Path)
		begins := list[len(list)-3]
		for _, serial := range []bool{false, true} {
			j := w.job(t, logs)
			j.Serial = serial
			_, err := j.Run(t.Context())
			var apply *ApplyError
			if !errors.As(err, &apply) || apply.Path != logs[0].Path {
				t.Fatal(err)
			}
			t.Logf("serial %t: at %d of %d", serial, apply.Offset, begins)
			if apply.Early == serial || apply.Offset > begins || serial && apply.Offset < begins {
				t.Errorf("serial %t: %+v; it begins at %d", serial, apply, begins)
			}
		}
	})
}

// TestReplayIsInterrupted: nothing is left running.
func TestReplayIsInterrupted(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		w.counting(t, 2000)
		w.Kill()
		j := w.job(t, w.logs(t))
		ctx, cancel := context.WithCancel(t.Context())
		j.Progress = func(int64, int64) { cancel() }
		if r, err := j.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%+v, %v", r, err)
		}
		if left, err := os.ReadDir(j.Dir); err != nil || len(left) != 2 { // data, replay.log
			t.Errorf("left: %v, %v", left, err)
		}
	})
}

// TestReplayLeavesNoTrace: the files of the data directory are those of before, and the twin's new tables.
func TestReplayLeavesNoTrace(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		w.counting(t, 10)
		w.Kill()
		j := w.job(t, w.logs(t))
		before := tree(t, j.DataDir)
		if _, err := j.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		after := tree(t, j.DataDir)
		for name := range after {
			if before[name] == "" {
				t.Errorf("new: %s", name)
			}
		}
	})
}

// TestReplayOfLargeTransaction has one that is larger than any buffer, and a row.
func TestReplayOfLargeTransaction(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		double, long := 7, 20
		if !servertest.Quick() {
			double, long = 11, 60
		}
		statements := []string{"SET GLOBAL max_allowed_packet = 1 << 30", "CREATE TABLE shop.large (id INT PRIMARY KEY AUTO_INCREMENT, s LONGBLOB) ENGINE=InnoDB"}
		exec(t, w.Running, statements...)
		text := "SET GLOBAL innodb_buffer_pool_size = 256 << 20; BEGIN; INSERT INTO shop.large (s) VALUES (REPEAT('abcdefgh', 4096));"
		for range double {
			text += "INSERT INTO shop.large (s) SELECT s FROM shop.large;"
		}
		text += "UPDATE shop.large SET s = CONCAT(s, id) WHERE id % 2 = 0; COMMIT;"
		text += fmt.Sprintf("INSERT INTO shop.large (s) VALUES (REPEAT('0123456789abcdef', %d * 65536));", long)
		w.Load(t, text)
		before := state(t, w.Running)
		w.Kill()
		got, r := w.replay(t, w.logs(t))
		if r.Bytes < int64(long)<<20 {
			t.Errorf("only %d bytes", r.Bytes)
		}
		equal(t, before, state(t, got))
	})
}

// TestTrapServerReplaysNoLog: a server that is started on an old directory beside the live log is silently old.
func TestTrapServerReplaysNoLog(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		w.counting(t, 10)
		w.Kill()
		old := filepath.Join(openDir(t), "data")
		if err := sys.CopyTree(t.Context(), w.base, old, nil); err != nil {
			t.Fatal(err)
		}
		logs, err := filepath.Glob(filepath.Join(w.DataDir(), server.BinlogName+".*"))
		if err != nil || len(logs) < 2 {
			t.Fatal(logs, err)
		}
		for _, path := range logs {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(old, filepath.Base(path))
			if err := os.WriteFile(name, b, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := w.Account.Own(name, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := counted(t, servertest.StartOn(t, w.Server, old, logging)); got != upTo(0) {
			t.Errorf("beside the log: %s", got)
		}
		got, _ := w.replay(t, w.logs(t))
		if counted(t, got) != upTo(10) {
			t.Errorf("replayed: %s", counted(t, got))
		}
	})
}

// TestTrapGTIDsGoOn: MariaDB's state of GTIDs is in the log only. The next log begins with it, and a replica sees them
// go on; without that they begin again.
func TestTrapGTIDsGoOn(t *testing.T) {
	t.Parallel()
	servertest.EachFrom(t, "mariadb:10.6", func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		exec(t, w.Running, "FLUSH BINARY LOGS")
		w.counting(t, 5)
		w.Load(t, "SET gtid_domain_id = 7, server_id = 9; INSERT INTO shop.counted VALUES (6, '')")
		exec(t, w.Running, insert301)
		was, pos := query(t, w.Running, "SELECT @@gtid_binlog_state")[0], query(t, w.Running, "SELECT @@gtid_binlog_pos")[0]
		w.Kill()
		got, r := w.replay(t, w.logs(t))
		if r.GTIDState != was {
			t.Errorf("state %q, want %q", r.GTIDState, was)
		}
		seed := w.Dialect().SeedGTIDs(r.GTIDState)
		next := func(r *servertest.Running, id int) string {
			exec(t, r, fmt.Sprintf("INSERT INTO shop.counted VALUES (%d, '')", id))
			return query(t, r, "SELECT @@gtid_binlog_pos")[0]
		}
		if next(got, 400) != "0-1-1" {
			t.Error("they go on without being seeded")
		}
		got, _ = w.replay(t, w.logs(t))
		exec(t, got, seed)
		if now := query(t, got, "SELECT @@gtid_binlog_pos")[0]; now != pos {
			t.Errorf("position %s, want %s", now, pos)
		}
		last, err := strconv.Atoi(pos[len("0-1-") : len(pos)-len(",7-9-1")])
		if err != nil {
			t.Fatal(err)
		}
		if want, now := fmt.Sprintf("0-1-%d,7-9-1", last+1), next(got, 400); now != want {
			t.Errorf("position %s, want %s", now, want)
		}
	})
}
