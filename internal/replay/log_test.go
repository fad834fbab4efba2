package replay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
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

// copies are the logs, in a directory of their own, where a test can change them.
func copies(t *testing.T, logs []Log) []Log {
	t.Helper()
	dir := t.TempDir()
	for i, l := range logs {
		b, err := os.ReadFile(l.Path)
		if err != nil {
			t.Fatal(err)
		}
		l.Path = filepath.Join(dir, filepath.Base(l.Path))
		if err := os.WriteFile(l.Path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		logs[i] = l
	}
	return logs
}

// ends are where the groups of a file end.
func ends(t *testing.T, path string) (list []int64) {
	t.Helper()
	if _, err := binlog.Scan(path, 4, func(g binlog.Group) error {
		list = append(list, g.End)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestReplayOfCutLog cuts a log off anywhere: what is whole of it is there, and nothing else. It also replays
// parts of it, one after the other.
func TestReplayOfCutLog(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		w.counting(t, 300)
		exec(t, w.Running, "FLUSH BINARY LOGS")
		exec(t, w.Running, insert301)
		w.Kill()
		logs := copies(t, w.logs(t))
		list := ends(t, logs[0].Path)
		if len(list) != 300 || len(logs) != 2 {
			t.Fatalf("%d groups, %d files", len(list), len(logs))
		}
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		rnd := rand.New(rand.NewPCG(seed, 0))
		for range 2 {
			cut := list[0] + rnd.Int64N(list[len(list)-1]-list[0]+1) // behind the first, so that there is something to cut again
			if err := os.Truncate(logs[0].Path, cut); err != nil {
				t.Fatal(err)
			}
			whole, _ := slices.BinarySearch(list, cut+1)
			got, r := w.replay(t, logs[:1])
			if r.Groups != int64(whole) || counted(t, got) != upTo(r.Groups) {
				t.Errorf("cut at %d: %s, %+v; want %d", cut, counted(t, got), r, whole)
			}
			got.Kill()
			list = list[:whole]
		}
		// From one end of a group to another, and from there on.
		logs = copies(t, w.logs(t))
		list = ends(t, logs[0].Path)
		first := w.job(t, []Log{{Path: logs[0].Path, To: list[99]}})
		if _, err := first.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		second := &Job{Server: w.Server, Account: w.Account, Dir: first.Dir, DataDir: first.DataDir, Volume: "disk", Logs: []Log{{Path: logs[0].Path, From: list[99]}, logs[1]}}
		var done, total int64
		second.Progress = func(d, n int64) {
			if d < done || d > n {
				t.Errorf("progress from %d to %d of %d", done, d, n)
			}
			done, total = d, n
		}
		r, err := second.Run(t.Context())
		if err != nil || r.Groups != 201 || total != r.Bytes || done != total {
			t.Errorf("%+v, %v; %d of %d bytes", r, err, done, total)
		}
		got := servertest.StartOn(t, w.Server, second.DataDir, logging)
		if counted(t, got) != upTo(301) {
			t.Errorf("in two parts: %s", counted(t, got))
		}
		for _, l := range []Log{{Path: logs[0].Path, From: list[99] + 1}, {Path: logs[0].Path, To: list[99] - 1}, {Path: logs[0].Path, To: 1 << 40}} {
			if r, err := w.job(t, []Log{l}).Run(t.Context()); err == nil {
				t.Errorf("from %d to %d: %+v", l.From, l.To, r)
			}
		}
	})
}

// tree is what a directory holds: hashes of files by path.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = fmt.Sprintf("%x", sha256.Sum256(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestTrapDamageIsNoEnd: servers take a damaged event for the end of the log, and lose what is behind it without
// a word. A Job refuses such a log before it touches the data directory; only in the last transaction of a file it
// is taken for a file that was cut off.
func TestTrapDamageIsNoEnd(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		w.counting(t, 50)
		w.Kill()
		logs := copies(t, w.logs(t))
		list := ends(t, logs[0].Path)
		b, err := os.ReadFile(logs[0].Path)
		if err != nil {
			t.Fatal(err)
		}
		b = b[:list[len(list)-1]]
		for _, tc := range []struct {
			name    string
			at      int64
			refused bool
		}{{"in the middle", list[24] - 40, true}, {"in the last transaction but one", list[48] - 1, true}, {"in the last event", list[49] - 1, false}} {
			bad := bytes.Clone(b)
			bad[tc.at] ^= 4
			if err := os.WriteFile(logs[0].Path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			j := w.job(t, logs[:1])
			before := tree(t, j.DataDir)
			r, err := j.Run(t.Context())
			var corrupt *binlog.CorruptError
			switch {
			case tc.refused && !errors.As(err, &corrupt):
				t.Errorf("%s: %+v, %v", tc.name, r, err)
			case tc.refused && !cmp.Equal(before, tree(t, j.DataDir)):
				t.Errorf("%s: the data directory was touched", tc.name)
			case !tc.refused && (err != nil || r.Groups != 49):
				t.Errorf("%s: %+v, %v", tc.name, r, err)
			}
		}
	})
}

// TestMissingTransactionIsSeen is the control of the comparisons: a log without one of its transactions makes
// another server.
func TestMissingTransactionIsSeen(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		w.counting(t, 20)
		exec(t, w.Running, "UPDATE shop.counted SET s = 'changed' WHERE id = 7")
		before := state(t, w.Running)
		w.Kill()
		logs := copies(t, w.logs(t))
		list := ends(t, logs[0].Path)
		// An insert, and the last update.
		for _, i := range []int{19, 20} {
			j := w.job(t, []Log{{Path: logs[0].Path, To: list[i-1]}})
			if _, err := j.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if i < 20 {
				j.Logs = []Log{{Path: logs[0].Path, From: list[i]}}
				if _, err := j.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			got := servertest.StartOn(t, w.Server, j.DataDir, logging)
			if cmp.Equal(before, state(t, got)) {
				t.Errorf("without transaction %d: all is the same", i)
			}
			got.Kill()
		}
	})
}

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

// TestReplayOfKilledServer: writers who are in each other's way, files of the log that end meanwhile, and a server that
// is killed. The log has what the server itself recovers.
func TestReplayOfKilledServer(t *testing.T) {
	t.Parallel()
	servertest.EachAlways(t, func(t *testing.T, want string) {
		t.Parallel()
		w, logs := killed(t, want, 3)
		before := state(t, w.Running)
		got, r := w.replay(t, logs)
		t.Logf("%d groups in %d files, %.1f s", r.Groups, len(logs), r.Seconds)
		if r.Groups < 500 || len(logs) < 6 {
			t.Errorf("%+v of %d files", r, len(logs))
		}
		equal(t, before, state(t, got))
	})
}

// killed is a server that was killed twice, and has recovered, and its logs before it had. About one in 170 MariaDBs
// 10.11.19 does not recover from this: a record of its redo log does not fit the page that the records before it
// lead to, from a clean checkpoint on, whatever pages the kill has left. Then another takes its place.
func killed(t *testing.T, want string, tries uint64) (w *twin, logs []Log) {
	t.Helper()
	w = newTwin(t, want, "contended.sql")
	for epoch := range uint64(2) {
		w.contend(t, time.Second, 2*tries+epoch)
		w.Kill()
		logs = copies(t, w.logs(t))
		err := w.TryRestartAs(t, server.Run, false, logging) // the last group of the first log may be torn
		if err == nil {
			continue
		}
		if tries == 1 || !strings.Contains(err.Error(), "DELETE_ROW_FORMAT_DYNAMIC due to corruption") {
			t.Fatal(err)
		}
		t.Logf("MariaDB's own recovery fails: %v", err)
		return killed(t, want, tries-1)
	}
	return w, logs
}

// contend has writers at work for a while.
func (w *twin) contend(t *testing.T, d time.Duration, seed uint64) {
	t.Helper()
	db, err := dbconn.Open(w.Endpoint.Socket, w.Endpoint.Login, "shop")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var writers sync.WaitGroup
	for n := range 8 {
		writers.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, uint64(n)))
			for ctx.Err() == nil {
				tx, err := db.BeginTx(ctx, nil)
				if err != nil {
					return
				}
				for range 1 + rnd.IntN(3) {
					// Deadlocks and values that are there are part of it.
					if _, err = tx.ExecContext(ctx, contention(rnd)); err != nil {
						break
					}
				}
				if err != nil || rnd.IntN(20) == 0 {
					_ = tx.Rollback()
				} else {
					_ = tx.Commit()
				}
			}
		})
	}
	for i := range 3 {
		time.Sleep(d / 4)
		exec(t, w.Running, "FLUSH BINARY LOGS", fmt.Sprintf("CREATE TABLE shop.made_%d_%d LIKE shop.hot", seed, i))
	}
	writers.Wait()
}

// contention is a statement about few rows.
func contention(rnd *rand.Rand) string {
	id := 1 + rnd.IntN(20)
	switch rnd.IntN(8) {
	case 0, 1:
		return fmt.Sprintf("UPDATE hot SET n = n + 1 WHERE id = %d", id)
	case 2:
		return fmt.Sprintf("UPDATE hot SET u = %d WHERE id = %d", rnd.IntN(1000), id)
	case 3:
		return fmt.Sprintf("INSERT INTO parent VALUES (%d, '%d')", id, rnd.Uint32())
	case 4:
		return fmt.Sprintf("INSERT INTO child VALUES (%d, %d)", rnd.IntN(10000), id)
	case 5:
		return fmt.Sprintf("DELETE FROM parent WHERE id = %d", id)
	case 6:
		return fmt.Sprintf("INSERT INTO keyless VALUES (%d, %d)", id, rnd.IntN(3))
	default:
		return fmt.Sprintf("UPDATE keyless SET b = b + 1 WHERE a = %d LIMIT 1", id)
	}
}

// TestReplayOfPreparedTransaction: one that was prepared and neither committed nor rolled back waits for that after.
func TestReplayOfPreparedTransaction(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		w.Load(t, "USE shop; XA START 'x'; INSERT INTO counted VALUES (1, ''); XA END 'x'; XA PREPARE 'x'")
		w.Load(t, "USE shop; INSERT INTO counted VALUES (2, '')")
		w.Kill()
		got, _ := w.replay(t, w.logs(t))
		if list := query(t, got, "XA RECOVER"); len(list) != 1 {
			t.Errorf("prepared: %q", list)
		}
		exec(t, got, "XA COMMIT 'x'")
		if counted(t, got) != upTo(2) {
			t.Error(counted(t, got))
		}
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

// TestTrapEventsComeOutDisabled: an applier disables the events that it makes.
func TestTrapEventsComeOutDisabled(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		exec(t, w.Running, "CREATE EVENT shop.e ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.counted")
		w.Kill()
		const status = "SELECT status FROM information_schema.events"
		j := w.job(t, w.logs(t))
		s := &session{Job: j, admin: dbconn.Login{User: adminUser(), Password: dbconn.NewPassword()}}
		err := s.prepare()
		for _, step := range []func(context.Context) error{s.layRelayLog, s.start, s.takeRelayLog, s.applyAll, s.forget, s.removeAdmin, s.stop} {
			if err == nil {
				err = step(t.Context())
			}
		}
		if err = errors.Join(err, s.clear()); err != nil {
			t.Fatal(err)
		}
		if got := query(t, servertest.StartOn(t, w.Server, j.DataDir, logging), status)[0]; got == "ENABLED" {
			t.Error("it is enabled without being put back")
		}
		got, _ := w.replay(t, w.logs(t))
		if got := query(t, got, status)[0]; got != "ENABLED" {
			t.Errorf("replayed: %s", got)
		}
	})
}

// TestEventsKeepCollation: what an event has of its database is from when it was made, whatever that was given since; and that
// stays as it is.
func TestEventsKeepCollation(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		exec(t, w.Running,
			"ALTER DATABASE shop COLLATE utf8mb4_unicode_ci", "CREATE EVENT shop.before_it ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.counted", "CREATE EVENT shop.off ON SCHEDULE EVERY 1 DAY DISABLE DO DO 1",
			"ALTER DATABASE shop CHARACTER SET latin1 COLLATE latin1_german2_ci", "CREATE EVENT shop.after_it ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.counted",
		)
		if w.Flavour == server.MariaDB {
			exec(t, w.Running, "ALTER DATABASE shop COMMENT 'a shop'")
		}
		of := func(r *servertest.Running) []string {
			return append(query(t, r, "SELECT event_name, status, database_collation, collation_connection, definer FROM information_schema.events ORDER BY 1"), query(t, r, "SHOW CREATE DATABASE shop")...)
		}
		before := of(w.Running)
		w.Kill()
		got, _ := w.replay(t, w.logs(t))
		if diff := cmp.Diff(before, of(got)); diff != "" {
			t.Errorf("events and database (-before +replayed):\n%s", diff)
		}
	})
}

// TestEventsOfOtherCharacterSets: events whose names a client wrote in another character set are as they were.
func TestEventsOfOtherCharacterSets(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		w.Load(t, "SET NAMES latin1; CREATE EVENT shop.`\xfcber` ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.counted WHERE s = '\xe4';"+
			"CREATE EVENT shop.`\xf6ffnet` ON SCHEDULE EVERY 1 DAY DO DO 1; ALTER EVENT shop.`\xf6ffnet` RENAME TO shop.`\xf6ffnete` DISABLE; CREATE EVENT shop.`\xe4` ON SCHEDULE EVERY 1 DAY DO DO 1; DROP EVENT shop.`\xe4`;"+
			"SET NAMES utf8mb4; CREATE EVENT shop.`ürig` ON SCHEDULE EVERY 1 DAY DO DO 1")
		of := func(r *servertest.Running) []string {
			return query(t, r, "SELECT event_name, status, event_definition, character_set_client, collation_connection, definer FROM information_schema.events ORDER BY 1")
		}
		before := of(w.Running)
		w.Kill()
		got, _ := w.replay(t, w.logs(t))
		if diff := cmp.Diff(before, of(got)); diff != "" || len(before) != 3 {
			t.Errorf("events (-before +replayed):\n%s", diff)
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
