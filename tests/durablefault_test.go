package tests

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// stuckFor is how long a commit is watched that must wait, and soon how long one may take that must not.
const (
	stuckFor = 300 * time.Millisecond
	soon     = 10 * time.Second
)

// answer is a statement that was sent.
type answer chan error

// send sends statements on a connection of their own, one after the other.
func (d *durable) send(texts ...string) answer { return send(d.db, texts...) }

func send(db *sql.DB, texts ...string) answer {
	a := make(answer, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		conn, err := db.Conn(ctx)
		if err != nil {
			a <- err
			return
		}
		defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }() // with its settings
		for _, text := range texts {
			if _, err := conn.ExecContext(ctx, text); err != nil {
				a <- fmt.Errorf("%s: %w", text, err)
				return
			}
		}
		a <- nil
	}()
	return a
}

// waits fails the test if the statement is answered.
func (a answer) waits(t *testing.T, what string) bool {
	t.Helper()
	select {
	case err := <-a:
		t.Errorf("%s was answered, and is not on disk: %v", what, err)
		return false
	case <-time.After(stuckFor):
		return true
	}
}

// comes fails the test if it is not answered soon.
func (a answer) comes(t *testing.T, what string) {
	t.Helper()
	select {
	case err := <-a:
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(soon):
		t.Errorf("%s waits on", what)
	}
}

// warns waits for a warning of `status`.
func (d *durable) warns(t *testing.T, want string) {
	t.Helper()
	var s struct {
		Warnings []string `json:"warnings"`
	}
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err := json.Unmarshal([]byte(d.ramaria("status", durableName, "--json")), &s); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.Join(s.Warnings, "\n"), want) {
			return
		}
	}
	t.Errorf("the warnings are %q, want %q", s.Warnings, want)
}

// quiet waits until no warning of `status` says something.
func (d *durable) quiet(t *testing.T, of string) {
	t.Helper()
	out := ""
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if out = d.ramaria("status", durableName, "--json"); !strings.Contains(out, of) {
			return
		}
	}
	t.Errorf("status goes on to say %q: %s", of, out)
}

// waiting is the id of the session whose DELETE waits.
func waiting(t *testing.T, db *sql.DB) string {
	t.Helper()
	ids, err := column(t.Context(), db, "SELECT id FROM information_schema.processlist WHERE info LIKE 'DELETE%'")
	if err != nil || len(ids) != 1 {
		t.Fatalf("sessions that delete: %q, %v", ids, err)
	}
	return ids[0]
}

// reads wants what is durable to be read at once.
func (d *durable) reads(t *testing.T, query, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	got, err := column(ctx, d.db, query)
	if err != nil || strings.Join(got, ",") != want {
		t.Errorf("%s: %q, %v; want %q", query, got, err, want)
	}
}

// lose kills the supervisor, and takes the RAM away.
func (d *durable) lose(t *testing.T) {
	t.Helper()
	if err := d.end(t, ending{lost: true}, func(bool) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// TestDurableEverythingWaits: whatever is written into the log is answered when the archive has it, and no
// sooner; and the whole of it comes back.
func TestDurableEverythingWaits(t *testing.T) {
	d := newDurable(t, "shm")
	d.begin(t)
	aside := d.archive + ".aside"
	for _, text := range []string{"CREATE TABLE i (a INT PRIMARY KEY) ENGINE=InnoDB", "CREATE TABLE m (a INT) ENGINE=MyISAM", "CREATE TABLE gone (a INT)", "INSERT INTO i VALUES (1)"} {
		d.send(text).comes(t, text)
	}
	cases := [][]string{
		{"INSERT INTO i VALUES (2)"},
		{"BEGIN", "INSERT INTO i VALUES (3)", "UPDATE i SET a = 4 WHERE a = 3", "COMMIT"},
		{"SET autocommit = 0", "INSERT INTO i VALUES (5)", "COMMIT"},
		{"INSERT INTO i VALUES (6), (7)"},
		{"DELETE FROM i WHERE a = 7"},
		{"BEGIN", "INSERT INTO i VALUES (8)", "CREATE TABLE implicit (a INT)"},
		{"CREATE TABLE made (a INT)"},
		{"CREATE TABLE filled (a INT PRIMARY KEY) SELECT a FROM i"},
		{"ALTER TABLE i ADD b INT DEFAULT 7"},
		{"DROP TABLE gone"},
		{"TRUNCATE TABLE made"},
		{"INSERT INTO m VALUES (1)"},
		{"CREATE USER u IDENTIFIED BY 'Secret-1'"},
		{"GRANT SELECT ON i TO u"},
		{"CREATE PROCEDURE p() INSERT INTO i VALUES (9, 9)"},
		{"CALL p()"},
		{"CREATE EVENT e ON SCHEDULE EVERY 1 YEAR DO SELECT 1"},
		{"CREATE VIEW v AS SELECT * FROM i"},
		{"ANALYZE TABLE i"},
		{"OPTIMIZE TABLE i"},
		{"XA START 'x'", "INSERT INTO i VALUES (10, 10)", "XA END 'x'", "XA PREPARE 'x'", "XA COMMIT 'x'"},
		{"XA START 'y'", "INSERT INTO i VALUES (11, 11)", "XA END 'y'", "XA COMMIT 'y' ONE PHASE"},
		{"FLUSH TABLES"},
	}
	for _, texts := range cases {
		what := strings.Join(texts, "; ")
		if err := os.Rename(d.archive, aside); err != nil {
			t.Fatal(err)
		}
		a := d.send(texts...)
		waited := a.waits(t, what)
		if err := os.Rename(aside, d.archive); err != nil {
			t.Fatal(err)
		}
		if waited {
			a.comes(t, what)
		}
	}
	const query = "SELECT CONCAT(a, ':', b) FROM i ORDER BY a"
	const rows = "1:7,2:7,4:7,5:7,6:7,8:7,9:9,10:10,11:11"
	d.reads(t, query, rows)
	d.lose(t)
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, query, rows)
	d.reads(t, "SELECT a FROM filled ORDER BY a", "1,2,4,5,6,8")
	d.reads(t, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ('made', 'gone', 'implicit', 'v')", "3")
	d.reads(t, "SELECT CONCAT(event_name, ' ', status) FROM information_schema.events WHERE event_schema = DATABASE()", "e ENABLED")
	d.reads(t, "SELECT COUNT(*) FROM information_schema.user_privileges WHERE grantee LIKE '''u''@%'", "1")
}

// TestDurableArchiveTaken: an archive that is moved, removed, or is another one, is noticed while the
// instance runs, and refused when it is to come back; what is in RAM stays.
func TestDurableArchiveTaken(t *testing.T) {
	d := newDurable(t, "shm")
	d.begin(t)
	aside := d.archive + ".aside"
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(want string) {
		t.Helper()
		_, talk, err := d.try("up", durableName)
		if err == nil || !strings.Contains(talk, want) || !strings.Contains(talk, "hint:") {
			t.Errorf("up: %v: %s; want %q", err, talk, want)
		}
	}
	d.send("CREATE TABLE t (a INT PRIMARY KEY)", "INSERT INTO t VALUES (1)").comes(t, "a first commit")

	rename(d.archive, aside)
	a := d.send("INSERT INTO t VALUES (2)")
	a.waits(t, "a commit, with the archive moved away,")
	d.warns(t, "it was moved, or removed")
	d.reads(t, "SELECT a FROM t", "1")
	rename(aside, d.archive)
	a.comes(t, "a commit, with the archive back,")

	// Another instance's in its place gets nothing of this one, and does not come back under its name.
	other := d.archive + ".other"
	d.ramaria("up", "other", "--volume", "shm", "--durable", "--archive", other)
	d.ramaria("down", "other")
	before := tree(t, other)
	rename(d.archive, aside)
	rename(other, d.archive)
	a = d.send("INSERT INTO t VALUES (3)")
	a.waits(t, "a commit, with another archive in the place of its own,")
	d.warns(t, "it was moved, or removed")
	if err := d.end(t, ending{}, func(bool) error { return nil }); err != nil {
		t.Fatal(err)
	}
	refused("another instance")
	if after := tree(t, d.archive); after != before {
		t.Errorf("another instance's archive was changed: %s, was %s", after, before)
	}
	rename(d.archive, other)
	refused("there is no archive")
	rename(aside, d.archive)
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, "SELECT a FROM t WHERE a < 3", "1,2")

	// The same without its RAM, and with an earlier state of its own.
	old := d.archive + ".old"
	// A segment that is just being made may get its name meanwhile: that one is not missed.
	if out, err := exec.Command("cp", "-a", d.archive, old).CombinedOutput(); err != nil && !strings.Contains(string(out), ".segment.new") {
		t.Fatalf("cp: %v: %s", err, out)
	}
	d.lose(t)
	d.open(t, d.ramaria("up", durableName)) // begins an epoch, of which the copy knows nothing
	d.send("INSERT INTO t VALUES (4)").comes(t, "a commit after recovery")
	d.lose(t)
	rename(d.archive, aside)
	refused("there is no archive")
	d.ramaria("up", durableName, "--archive", aside) // where it is now, and back
	d.ramaria("down", durableName)
	rename(aside, d.archive)
	d.ramaria("up", durableName, "--archive", d.archive)
	d.lose(t)
	rename(d.archive, aside)
	rename(other, d.archive)
	refused("another archive")
	rename(d.archive, other)
	rename(old, d.archive)
	refused("as it was earlier")
	rename(d.archive, old)
	rename(aside, d.archive)
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, "SELECT a FROM t WHERE a <> 3", "1,2,4")

	// Removed while it runs: nothing is acknowledged that no name leads to.
	rename(d.archive, aside) // what removal leaves: open files
	if err := os.RemoveAll(aside); err != nil {
		t.Fatal(err)
	}
	d.send("INSERT INTO t VALUES (5)").waits(t, "a commit, with the archive removed,")
	d.warns(t, "it was moved, or removed")
	d.reads(t, "SELECT a FROM t WHERE a <> 3", "1,2,4")
	d.ramaria("down", durableName)
	refused("there is no archive")
}

// tree lists the files of a directory, with their sizes and times.
func tree(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("find", dir, "-type", "f", "-printf", "%P %s %T@\n").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestDurableDamage: a bit that flips in the middle of the archived log is found: recovery says where, and
// leaves what there is.
func TestDurableDamage(t *testing.T) {
	d := newDurable(t, "shm")
	d.begin(t)
	for n := range 20 {
		d.send(fmt.Sprintf("INSERT INTO ack (writer, n) VALUES (1, %d)", n)).comes(t, "a commit")
	}
	flipIn := func(name string, at int64) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(d.archive, name), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1)
		_, rerr := f.ReadAt(b, at)
		b[0] ^= 8
		_, werr := f.WriteAt(b, at)
		if err := errors.Join(rerr, werr, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	flip := func() { t.Helper(); flipIn("log/000001/000000000001.segment", 6*4096+100) }
	flip()
	if _, talk, err := d.try("backup", "verify", durableName); err == nil || !strings.Contains(talk, "damaged") {
		t.Errorf("verify of a damaged archive: %v: %s", err, talk)
	}
	d.warns(t, "the last verification of the archive failed: ")
	d.lose(t)
	for range 2 { // also the second time: it is not another instance then
		_, talk, err := d.try("up", durableName)
		if err == nil || !strings.Contains(talk, "damaged") || !strings.Contains(talk, "000000000001.segment") || !strings.Contains(talk, "hint:") {
			t.Errorf("up with a damaged archive: %v: %s", err, talk)
		}
	}
	flip()
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, "SELECT COUNT(*) FROM ack", "20")

	// A base whose pages are damaged: the one that is made when that was found takes none of them.
	flipIn("base/000001.pack", 100_000)
	if _, talk, err := d.try("backup", "verify", durableName); err == nil || !strings.Contains(talk, "damaged") {
		t.Errorf("verify of a damaged base backup: %v: %s", err, talk)
	}
	d.ramaria("backup", durableName)
	d.lose(t)
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, "SELECT COUNT(*) FROM ack", "20")
}

// TestDurableConnections: commits go on when the connection is killed that acknowledges them, when there is
// no room for another one, and through many files of the log.
func TestDurableConnections(t *testing.T) {
	d := newDurable(t, "shm")
	d.archive = filepath.Join(d.home, "archive")
	d.open(t, d.ramaria("up", durableName, "--volume", d.kind, "--durable", "--archive", d.archive, "--set", "max_connections=20"))
	d.lives = 1
	d.tables(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	// Killed, under load.
	ended := d.load(t, ending{})
	for range 10 {
		ids, err := column(ctx, d.root, "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'")
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			_, _ = d.root.ExecContext(ctx, "KILL "+id) // it may have ended
		}
		d.send("INSERT INTO ack (writer, n) VALUES (99, 0)", "DELETE FROM ack WHERE writer = 99").comes(t, "a commit after the connection was killed")
	}
	if err := ended(true); err != nil {
		t.Error(err)
	}

	// No room.
	writer, err := d.root.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	var taken []*sql.Conn
	for range 40 {
		conn, err := d.db.Conn(ctx)
		if err != nil {
			break
		}
		taken = append(taken, conn)
	}
	if len(taken) == 40 {
		t.Error("there is room for 40 connections")
	}
	for n := range 5 {
		done := make(answer, 1)
		go func() {
			_, err := writer.ExecContext(ctx, "FLUSH BINARY LOGS")
			if err == nil {
				_, err = writer.ExecContext(ctx, fmt.Sprintf("INSERT INTO ack (writer, n) VALUES (98, %d)", n))
			}
			done <- err
		}()
		done.comes(t, "a commit in another file of the log, with all connections taken,")
	}
	for _, conn := range taken {
		conn.Close()
	}

	// Many files.
	for range fewer(200, 60) {
		if _, err := writer.ExecContext(ctx, "FLUSH BINARY LOGS"); err != nil {
			t.Fatal(err)
		}
	}
	d.send("DELETE FROM ack WHERE writer = 98").comes(t, "a commit after many files of the log")
	d.lose(t)
	d.open(t, d.ramaria("up", durableName))
	if err := d.check(ctx); err != nil {
		t.Error(err)
	}
}

// TestDurableShutdown: SHUTDOWN by SQL under load ends the server, and loses nothing.
func TestDurableShutdown(t *testing.T) {
	d := newDurable(t, "shm")
	d.begin(t)
	for range 2 {
		ended := d.load(t, ending{})
		var p pids
		if err := json.Unmarshal([]byte(d.ramaria("status", durableName, "--json")), &p); err != nil {
			t.Fatal(err)
		}
		handles, err := openProcesses(p.Supervisor, p.Server)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.db.Exec("SHUTDOWN"); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(ended(false), gone(handles), d.loseRAM()); err != nil {
			t.Fatal(err)
		}
		d.open(t, d.ramaria("up", durableName))
		if err := d.check(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestDurableResetMaster: a log that is begun again is not taken for the archived one. What was acknowledged
// before comes back, and what is from then on.
func TestDurableResetMaster(t *testing.T) {
	d := newDurable(t, "shm")
	d.begin(t)
	reset := "RESET MASTER"
	if d.srv.Flavour == server.MySQL {
		reset = "RESET BINARY LOGS AND GTIDS"
	}
	var want []string
	for n, before := range [][]string{nil, {"FLUSH BINARY LOGS", "FLUSH BINARY LOGS"}} {
		send(d.root, append(before, fmt.Sprintf("INSERT INTO ack (writer, n) VALUES (1, %d)", n))...).comes(t, "a commit")
		send(d.root, reset).comes(t, reset)
		between := d.send(fmt.Sprintf("INSERT INTO ack (writer, n) VALUES (2, %d)", n))
		told := false
		select {
		case err := <-between:
			told = err == nil
		case <-time.After(patience):
			t.Errorf("a commit after %s is never answered, and the connection stays", reset)
		}
		var after error
		for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
			if after = <-d.send(fmt.Sprintf("INSERT INTO ack (writer, n) VALUES (3, %d)", n)); after == nil || time.Now().After(end) {
				break
			}
			var refused *mysql.MySQLError
			if errors.As(after, &refused) && refused.Number == 1062 { // it was done, and not answered
				after = nil
				break
			}
		}
		if after != nil {
			t.Errorf("no commit after %s: %v", reset, after)
		}
		var made instance.Made
		if err := instance.ReadJSON(filepath.Join(d.instanceDir(d.kind, durableName), "instance.json"), &made); err != nil {
			t.Error(err)
		} else if made.Durable.Epoch == d.made.Durable.Epoch || made.Durable.Boot != d.made.Durable.Boot {
			t.Errorf("after %s it belongs to %+v, and before to %+v", reset, made.Durable, d.made.Durable)
		}
		d.lose(t)
		d.open(t, d.ramaria("up", durableName))
		want = append(want, fmt.Sprintf("1:%d", n), fmt.Sprintf("3:%d", n))
		if told {
			want = append(want, fmt.Sprintf("2:%d", n))
		} else if _, err := d.db.Exec("DELETE FROM ack WHERE writer = 2 AND n = ?", n); err != nil { // there or not
			t.Fatal(err)
		}
		slices.Sort(want)
		d.reads(t, "SELECT CONCAT(writer, ':', n) FROM ack ORDER BY writer, n", strings.Join(want, ","))
	}
}

// TestDurableAtOnce: two commands that bring an instance back make one of it.
func TestDurableAtOnce(t *testing.T) {
	d := newDurable(t, "shm")
	d.begin(t)
	d.send("INSERT INTO ack (writer, n) VALUES (1, 1)").comes(t, "a commit")
	d.lose(t)
	var out [3]string
	var group sync.WaitGroup
	for n := range out {
		group.Go(func() {
			var err error
			var talk string
			if out[n], talk, err = d.try("up", durableName); err != nil {
				t.Errorf("up: %v: %s", err, talk)
			}
		})
	}
	group.Wait()
	if out[0] != out[1] || out[1] != out[2] {
		t.Errorf("three instances: %q", out)
	}
	d.open(t, out[0])
	d.reads(t, "SELECT n FROM ack", "1")
}

// TestTrapDataBehindLog: data in RAM that falls behind its log at a kill, and a log without checksums, cannot be
// had by settings.
func TestTrapDataBehindLog(t *testing.T) {
	d := newDurable(t, "shm")
	for _, set := range []string{"innodb_flush_log_at_trx_commit=0", "binlog_checksum=NONE", "sync_binlog=1"} {
		name, _, _ := strings.Cut(set, "=")
		if _, talk, err := d.try("up", durableName, "--volume", d.kind, "--durable", "--set", set); err == nil || !strings.Contains(talk, "use --set "+name) {
			t.Errorf("--set %s: %v: %s", set, err, talk)
		}
	}
	d.begin(t)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	for name, allowed := range map[string]string{"innodb_flush_log_at_trx_commit": "1 2", "binlog_checksum": "CRC32", "sync_binlog": "0"} {
		got, err := column(ctx, d.root, "SELECT @@GLOBAL."+name)
		if err != nil || len(got) != 1 || !slices.Contains(strings.Fields(allowed), got[0]) {
			t.Errorf("%s is %q, %v; want one of %s", name, got, err, allowed)
		}
	}
	d.ramaria("rm", durableName, "--with-archive")
}

// TestDurableUnlogged: what is in no log, and the log behind it needs, is in a base soon; routines of the application
// have no more rights than it has.
func TestDurableUnlogged(t *testing.T) {
	d := newDurable(t, "shm")
	d.begin(t)
	define := "CREATE DEFINER=root@localhost PROCEDURE unlogged() SQL SECURITY DEFINER SET SESSION sql_log_bin = 0"
	if err := <-d.send(define); err == nil || !strings.Contains(err.Error(), "Access denied") {
		t.Errorf("%s: %v", define, err)
	}
	if d.srv.Flavour == server.MySQL {
		d.send("INSTALL PLUGIN mysql_no_login SONAME 'mysql_no_login.so'").comes(t, "INSTALL PLUGIN")
		var s struct {
			Durable struct {
				Backups int      `json:"backups"`
				Outside []string `json:"outside"`
			} `json:"durable"`
		}
		for end := time.Now().Add(2 * soon); s.Durable.Backups < 2; time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("no base backup was made: %+v", s)
			}
			if err := json.Unmarshal([]byte(d.ramaria("status", durableName, "--json")), &s); err != nil {
				t.Fatal(err)
			}
		}
		if !strings.Contains(strings.Join(s.Durable.Outside, "\n"), "plugins or components were installed") {
			t.Errorf("outside of the promise: %q", s.Durable.Outside)
		}
		d.send("CREATE USER nobody@localhost IDENTIFIED WITH mysql_no_login").comes(t, "CREATE USER")
		// The server that replays the log has the plugin of acknowledgements, which it does not need.
		d.send("CREATE PROCEDURE named() SET GLOBAL rpl_semi_sync_source_trace_level = 32").comes(t, "CREATE PROCEDURE")
	}
	d.send("INSERT INTO slot VALUES (50, 1, 0, '')").comes(t, "a commit")
	d.lose(t)
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, "SELECT COUNT(*) FROM slot WHERE writer = 50", "1")
	d.ramaria("rm", durableName, "--with-archive")
}

// TestTrapDataExchanged: what exchanges the data is refused, or is in the archive before anything is acknowledged.
func TestTrapDataExchanged(t *testing.T) {
	d := newDurable(t, "shm")
	d.begin(t)
	d.ramaria("mark", durableName, "before")
	d.send("INSERT INTO slot VALUES (50, 1, 0, '')").comes(t, "a commit")
	if _, talk, err := d.try("rewind", durableName, "before"); err == nil || !strings.Contains(talk, "hint: ramaria restore "+durableName) {
		t.Errorf("rewind: %v: %s", err, talk)
	}
	d.reads(t, "SELECT COUNT(*) FROM slot WHERE writer = 50", "1")
	position := lastPosition(t, d)

	d.open(t, d.ramaria("up", durableName, "--fresh"))
	d.tables(t)
	d.send("INSERT INTO slot VALUES (50, 2, 0, ''), (50, 3, 0, '')").comes(t, "a commit, of other data,")
	d.lose(t)
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, "SELECT COUNT(*) FROM slot WHERE writer = 50", "2")
	then := openDSN(t, d.ramaria("restore", durableName, "--at-position", position, "--as", "then", "--volume", d.kind))
	if got, err := column(t.Context(), then, "SELECT COUNT(*) FROM slot WHERE writer = 50"); err != nil || strings.Join(got, ",") != "1" {
		t.Errorf("what there was before --fresh: %q, %v", got, err)
	}
	then.Close()
	d.ramaria("rm", "then", durableName, "--with-archive")
}

// lastPosition is up to where the log is archived.
func lastPosition(t *testing.T, d *durable) string {
	t.Helper()
	var s struct {
		Durable struct {
			Position string `json:"position"`
		} `json:"durable"`
	}
	if err := json.Unmarshal([]byte(d.ramaria("status", durableName, "--json")), &s); err != nil {
		t.Fatal(err)
	}
	return s.Durable.Position
}

// TestDurableDisk: a disk that is full, or does not answer, holds commits up, and nothing else; then all
// goes on by itself.
func TestDurableDisk(t *testing.T) {
	if os.Geteuid() != 0 || !canMount() {
		t.Skip("SKIPPED, UNTESTED: only root may mount a small disk")
	}
	d := newDurable(t, "shm")
	image, disk := filepath.Join(d.home, "disk.img"), filepath.Join(d.home, "disk")
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v: %s", name, args, err, out)
		}
	}
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, 160<<20), os.Mkdir(disk, 0o755)); err != nil {
		t.Fatal(err)
	}
	run("mkfs.ext4", "-q", "-m", "0", image)
	run("mount", "-o", "loop", image, disk)
	t.Cleanup(func() { run("umount", "-l", disk) }) // before the home goes
	d.archive = filepath.Join(disk, "archive")
	d.open(t, d.ramaria("up", durableName, "--volume", d.kind, "--durable", "--archive", d.archive))
	d.lives = 1
	d.tables(t)
	t.Cleanup(func() { _, _, _ = d.try("down", "--all", "--rm") })

	// Full: the segment that is there takes some more.
	filler := filepath.Join(disk, "filler")
	n := 0
	fill := func() answer {
		t.Helper()
		_ = exec.Command("dd", "if=/dev/zero", "of="+filler, "bs=1M").Run() // it fails when the disk is full
		for most := n + 30; n < most; n++ {
			a := d.send(fmt.Sprintf("INSERT INTO slot VALUES (50, %d, 0, REPEAT('x', 4000000))", n))
			select {
			case err := <-a:
				if err != nil {
					t.Fatal(err)
				}
			case <-time.After(2 * time.Second):
				n++
				return a
			}
		}
		t.Fatal("commits go on although the disk is full")
		return nil
	}
	stuck := fill()
	d.warns(t, "no space left on device")
	d.reads(t, "SELECT COUNT(*) FROM slot", fmt.Sprint(n-1))
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	stuck.comes(t, "a commit, with room again,")
	d.reads(t, "SELECT COUNT(*) FROM slot", fmt.Sprint(n))
	d.lose(t)
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, "SELECT COUNT(*) FROM slot", fmt.Sprint(n))

	// Full at a start that has something to archive: it says what it waits for, and does not wait for ever.
	stuck = fill()
	if err := d.end(t, ending{}, func(bool) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := <-stuck; err == nil {
		t.Error("a commit was answered while the disk was full")
	}
	if _, talk, err := d.try("up", durableName); err == nil || !strings.Contains(talk, "it waits until its log can be archived in "+d.archive+": ") ||
		!strings.Contains(talk, "no space left on device, for 20s\nhint: make room in "+d.archive) {
		t.Fatalf("up, while the disk is full: %v: %s", err, talk)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, "SELECT COUNT(*) FROM slot", fmt.Sprint(n))

	// It does not answer.
	run("fsfreeze", "-f", disk)
	frozen := true
	thaw := func() {
		if frozen {
			frozen = false
			run("fsfreeze", "-u", disk)
		}
	}
	t.Cleanup(thaw)
	a := d.send("DELETE FROM slot WHERE writer = 50")
	a.waits(t, "a commit, with a disk that does not answer,")
	d.warns(t, "a write to its disk does not return")
	d.reads(t, "SELECT COUNT(*) FROM slot", fmt.Sprint(n))
	// MariaDB answers what KILL QUERY ends: `status` says so until it is archived.
	const early = "commits were answered that are not in the archive yet"
	if _, err := d.db.Exec("KILL QUERY " + waiting(t, d.db)); err != nil {
		t.Fatal(err)
	}
	if d.srv.Flavour == server.MySQL {
		a.waits(t, "a commit, after KILL QUERY,")
		d.quiet(t, early)
		thaw()
		a.comes(t, "a commit, with a disk that answers again,")
	} else {
		a.comes(t, "a commit, by KILL QUERY,")
		d.warns(t, early)
		thaw()
		d.quiet(t, early)
	}

	// And `down` meanwhile: what is answered is on disk.
	ended := d.load(t, ending{})
	run("fsfreeze", "-f", disk)
	frozen = true
	down := make(chan error, 1)
	go func() {
		_, talk, err := d.try("down", durableName)
		if err != nil {
			err = fmt.Errorf("%w: %s", err, talk)
		}
		down <- err
	}()
	time.Sleep(5 * time.Second)
	told := d.told()
	thaw()
	if err := <-down; err != nil {
		t.Log("down, while the disk did not answer:", err)
	}
	_ = ended(true)
	if err := d.loseRAM(); err != nil {
		t.Fatal(err)
	}
	d.open(t, d.ramaria("up", durableName))
	if err := d.checkFrom(t.Context(), told); err != nil {
		t.Error(err)
	}
}

// originator says which server made an event.
var originator = regexp.MustCompile(`ORIGINATOR='[0-9]+'`)

// TestDurableEqualsTwin: an instance that was recovered has what an ordinary server on a disk has that took the
// same statements: one of everything, foreign keys that cascade included.
func TestDurableEqualsTwin(t *testing.T) {
	d := newDurable(t, "shm")
	d.begin(t)
	twin := newPlain(t, d.srv)
	changes := `SET sql_mode = '';
UPDATE zoo.animal SET weight = weight + 1, seen = '2021-01-01 00:00:00' WHERE id % 3 = 0;
DELETE FROM zoo.gate WHERE n % 2 = 1;
UPDATE zoo.keeper SET id = id + 1000 WHERE id NOT IN (SELECT boss FROM (SELECT boss FROM zoo.keeper WHERE boss IS NOT NULL) AS bosses) ORDER BY id DESC LIMIT 1;
DELETE FROM zoo.keeper ORDER BY id LIMIT 1;
DELETE FROM zoo.feeding ORDER BY day, animal LIMIT 100;
INSERT INTO annex.elsewhere SELECT * FROM annex.elsewhere LIMIT 0;
ALTER TABLE zoo.keeper ADD COLUMN extra INT DEFAULT 5, ADD KEY extra (extra);
CREATE TABLE zoo.copied AS SELECT id, name FROM zoo.animal;
DROP VIEW IF EXISTS zoo.poor;
`
	file, more := filepath.Join(t.TempDir(), "everything.sql"), filepath.Join(t.TempDir(), "changes.sql")
	if err := errors.Join(os.WriteFile(file, []byte(everything(d.srv)), 0o600), os.WriteFile(more, []byte(changes), 0o600)); err != nil {
		t.Fatal(err)
	}
	twin.load("zoo", file)
	twin.load("zoo", more)
	to := dbconn.Endpoint{Socket: d.made.Endpoint.Socket, Login: d.made.Supervisor}
	twin.loadInto(to, "zoo", file)
	twin.loadInto(to, "zoo", more)
	databases := []string{"zoo", "annex"}
	describe := func(db *sql.DB) description {
		all := describeAll(t, db, databases)
		const events = "information_schema.EVENTS"
		all[events] = originator.ReplaceAllString(all[events], "") // the server's number
		return all
	}
	want := describe(twin.db)
	if diff := cmp.Diff(want, describe(d.root)); diff != "" {
		t.Fatalf("other than the twin (-) before its RAM was lost (+):\n%s", diff)
	}
	for range 2 {
		d.lose(t)
		d.open(t, d.ramaria("up", durableName))
		if diff := cmp.Diff(want, describe(d.root)); diff != "" {
			t.Fatalf("other than the twin (-) when it was recovered (+):\n%s", diff)
		}
	}
	if err := d.whole(t.Context()); err != nil {
		t.Error(err)
	}
	t.Logf("equal: %d rows", rowsOf(want))
	exe(t, d.root, "DELETE FROM zoo.animal ORDER BY id DESC LIMIT 1")
	if cmp.Equal(want, describe(d.root)) {
		t.Error("a row was deleted, and the comparison says nothing")
	}
}
