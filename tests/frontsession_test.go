package tests

import (
	"bytes"
	"crypto/sha1"
	"database/sql"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ramaria-db/ramaria/internal/server"
)

// sessionStates are what a session may leave to the next test: what sets it, and a question that tells it.
func sessionStates(flavour server.Flavour) []struct{ name, set, ask string } {
	isolation := "@@transaction_isolation"
	if flavour == server.MariaDB {
		isolation = "@@tx_isolation"
	}
	return []struct{ name, set, ask string }{
		{"foreign_key_checks", "SET foreign_key_checks = 0", "SELECT @@foreign_key_checks"},
		{"sql_mode", "SET SESSION sql_mode = ''", "SELECT @@sql_mode"},
		{"isolation", "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SELECT " + isolation},
		{"autocommit", "SET autocommit = 0", "SELECT @@autocommit"},
		{"timestamp", "SET timestamp = 1000", "SELECT YEAR(NOW()) > 2000"},
		{"character set", "SET NAMES latin1", "SELECT CONCAT(@@character_set_client, @@character_set_results, @@collation_connection)"},
		{"user variable", "SET @x = 1", "SELECT IFNULL(@x, 'none')"},
		{"temporary table", "CREATE TEMPORARY TABLE t (a INT)", "SELECT COUNT(*) FROM t"},
		{"user lock", "DO GET_LOCK('z', 0)", "SELECT IS_FREE_LOCK('z')"},
		{"database", "USE information_schema", "SELECT DATABASE()"},
		{"last_insert_id", "INSERT INTO t VALUES (NULL)", "SELECT LAST_INSERT_ID()"},
		{"transaction", "START TRANSACTION; INSERT INTO t VALUES (77)", "SELECT COUNT(*) FROM t"},
		{"transaction that read", "START TRANSACTION; SELECT COUNT(*) FROM t INTO @n", "SELECT COUNT(*) FROM t WHERE @n"},
		{"locked table", "LOCK TABLES t WRITE; INSERT INTO t VALUES (77)", "SELECT COUNT(*) FROM t"},
		{"XA transaction", "XA START 'left'; INSERT INTO t VALUES (77)", "SELECT COUNT(*) FROM t"},
	}
}

// TestFrontSession: a session that asks the door for a reset is as it was after its login, and stays.
func TestFrontSession(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	plain := openDSN(t, h.ramaria("up", "main", "--server", h.daemon(), "--database", "shop"))
	h.exec(plain, "CREATE TABLE t (a INT PRIMARY KEY AUTO_INCREMENT)", "INSERT INTO t VALUES (1), (2)", "CREATE TABLE wide (b LONGTEXT)")
	h.ramaria("template", "add", "shop")
	d := h.startFront("--linger", "100ms")
	for _, secure := range []string{"false", "skip-verify"} {
		t.Run("TLS "+secure, func(t *testing.T) {
			h.during(t)
			c := d.config("shop@" + secure)
			c.TLSConfig = secure
			d.testStates(t, c)
			d.testKept(t, c)
			d.testAutocommit(t, c)
			d.testSetUp(t, c)
			d.testTurnedOn(t, c)
			d.testWide(t, c)
			d.testLong(t, c)
			d.testStaysWhere(t, c)
		})
	}
	t.Run("prepared statements", d.testPrepared)
	t.Run("a client that does not wait for answers", d.testUnread)
	t.Run("a client that sends no more", d.testSilent)
	t.Run("a run that was killed", d.testHushed)
	t.Run("a client that reads what changes", d.testTracked)
	t.Run("a statement that is interrupted", d.testKillQuery)
	t.Run("what it costs", d.testSessionCost)
	t.Run("clones that linger make way", func(t *testing.T) {
		h.during(t)
		h.ramaria("db", "pool", "--max-databases", "3")
		lingers := h.startFront("--linger", "1m")
		for n := range 8 {
			started := time.Now()
			db := lingers.to(fmt.Sprint("shop@each", n))
			h.exec(db, "INSERT INTO t VALUES (77)")
			_ = db.Close()
			if took := time.Since(started); took > 30*time.Second {
				t.Errorf("name %d has waited for %s", n, took)
			}
		}
		lingers.end()
	})
	d.end()
}

// alone is one connection.
func (d *frontDoor) alone(t *testing.T, c *mysql.Config) *sql.Conn {
	t.Helper()
	conn, err := d.open(c).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func do(t *testing.T, c *sql.Conn, statements string) {
	t.Helper()
	for s := range strings.SplitSeq(statements, "; ") {
		if _, err := c.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func (d *frontDoor) testStates(t *testing.T, c *mysql.Config) {
	conn := d.alone(t, c)
	id := d.h.one(conn, "SELECT CONNECTION_ID()")
	for _, state := range sessionStates(d.h.srv.Flavour) {
		for _, reset := range []string{"CALL ramaria.reset()", "-- between two tests\n/* ramaria: reset */"} {
			want := d.h.one(conn, state.ask)
			do(t, conn, state.set)
			if got := d.h.one(conn, state.ask); got == want {
				t.Errorf("%s: %s says %s before and after", state.name, state.ask, got)
			}
			do(t, conn, reset)
			if got := d.h.one(conn, state.ask); got != want {
				t.Errorf("%s: after a reset %s, before the test %s", state.name, got, want)
			}
		}
	}
	if got := d.h.one(conn, "SELECT CONNECTION_ID()"); got != id {
		t.Errorf("the connection is %s, was %s", got, id)
	}
}

// testKept: who wants the session to stay as it is says so; what is open ends all the same.
func (d *frontDoor) testKept(t *testing.T, c *mysql.Config) {
	conn := d.alone(t, c)
	do(t, conn, "SET @x = 1; CREATE TEMPORARY TABLE mine (a INT); START TRANSACTION; INSERT INTO t VALUES (77); CALL ramaria.reset('keep session')")
	if got := d.h.one(conn, "SELECT CONCAT(@x, ' ', (SELECT COUNT(*) FROM t), ' ', (SELECT COUNT(*) FROM mine))"); got != "1 2 0" {
		t.Errorf("a session that is kept has %s, want 1 2 0", got)
	}
	_, err := conn.ExecContext(t.Context(), "CALL ramaria.reset('everything')")
	d.refused(err, 1105, "there is 'keep session'")
}

// testAutocommit: drivers turn it off right after the login, and go on as if it stayed so.
func (d *frontDoor) testAutocommit(t *testing.T, c *mysql.Config) {
	c = c.Clone()
	c.Params = map[string]string{"autocommit": "0"}
	conn := d.alone(t, c)
	do(t, conn, "INSERT INTO t VALUES (77); CALL ramaria.reset(); INSERT INTO t VALUES (78); ROLLBACK")
	if got := d.h.one(conn, "SELECT CONCAT(IF(@@autocommit, 1, 0), ' ', COUNT(*)) FROM t"); got != "0 2" {
		t.Errorf("after a reset autocommit and rows are %s, want 0 2", got)
	}
}

// testPrepared: a statement that was prepared is gone, as the others of the session.
func (d *frontDoor) testPrepared(t *testing.T) {
	d.h.during(t)
	conn := d.alone(t, d.config("shop@prepared"))
	s, err := conn.PrepareContext(t.Context(), "SELECT COUNT(*) FROM t")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	do(t, conn, "CALL ramaria.reset('keep session')")
	var n int
	if err := s.QueryRowContext(t.Context()).Scan(&n); err != nil || n != 2 {
		t.Errorf("in a session that is kept: %d, %v", n, err)
	}
	do(t, conn, "PREPARE s FROM 'SELECT 1'; CALL ramaria.reset()")
	d.refused(s.QueryRowContext(t.Context()).Scan(&n), 1243, "")
	_, err = conn.ExecContext(t.Context(), "EXECUTE s")
	d.refused(err, 1243, "")
}

// enter logs in by the protocol itself, as one who asks for several statements at once.
func (d *frontDoor) enter(t *testing.T, database string) *wire {
	t.Helper()
	return d.enterWith(t, database, 1<<16)
}

// enterWith is enter with capabilities of one's own.
func (d *frontDoor) enterWith(t *testing.T, database string, can uint32) *wire {
	t.Helper()
	w, salt := d.wire()
	t.Cleanup(func() { _ = w.Close() })
	login := append(append(wireLogin(can), d.url.User.Username()...), 0, sha1.Size)
	login = append(append(append(login, nativeAnswer([]byte(d.config("").Passwd), salt)...), database...), 0)
	w.write(append(login, "mysql_native_password\x00"...))
	if got := w.read(); w.failed != nil || got[0] != 0 {
		t.Fatalf("the login: %v, error %d", w.failed, errorOf(got))
	}
	return w
}

// testUnread: what a client asks before it has read the answers comes in its turn.
func (d *frontDoor) testUnread(t *testing.T) {
	d.h.during(t)
	w := d.enter(t, "shop@unread")
	var all []byte
	want := []uint16{0, 1146, 0, 0, 1105, 0}
	for _, text := range []string{"DO SLEEP(0.1)", "INSERT INTO nothing VALUES (1)", "INSERT INTO t VALUES (77)", "CALL ramaria.reset()", "INSERT INTO t VALUES (77); CALL ramaria.reset()", "INSERT INTO t VALUES (3)"} {
		all = append(all, byte(len(text)+1), 0, 0, 0, 3)
		all = append(all, text...)
	}
	for range 20 {
		if _, err := w.Write(bytes.Join([][]byte{all, all}, nil)); err != nil {
			t.Fatal(err)
		}
		for n := range 2 * len(want) {
			got := w.read()
			if w.failed != nil || errorOf(got) != want[n%len(want)] {
				t.Fatalf("answer %d is error %d, %v; want %d", n, errorOf(got), w.failed, want[n%len(want)])
			}
		}
	}
}

// testSilent: a client that has said that it sends no more gets its answer, as it would without the door.
func (d *frontDoor) testSilent(t *testing.T) {
	d.h.during(t)
	for _, text := range []string{"DO SLEEP(0.3)", "CALL ramaria.reset()"} {
		w := d.enter(t, "shop@silent")
		w.seq = 0xff
		w.write(append([]byte{3}, text...))
		if err := w.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got := w.read(); w.failed != nil || got[0] != 0 {
			t.Errorf("%s: %v, %q", text, w.failed, got)
		}
	}
	d.h.until("its clone is given back", func() bool {
		return !strings.Contains(d.h.ramaria("db", "ls"), "shop_")
	})
}

// testSessionCost measures resets with the session and without, in turn: each does what it says, and making a session new is
// no matter of its own.
func (d *frontDoor) testSessionCost(t *testing.T) {
	d.h.during(t)
	conn := d.alone(t, d.config("shop@cost"))
	const rounds = 200
	const renewed, kept = "CALL ramaria.reset()", "CALL ramaria.reset('keep session')"
	left := map[string]string{renewed: "2 none", kept: "2 1"}
	took := map[string][]time.Duration{}
	for range rounds {
		for _, reset := range []string{renewed, kept} {
			do(t, conn, "SET @x = 1; INSERT INTO t VALUES (77)")
			start := time.Now()
			do(t, conn, reset)
			took[reset] = append(took[reset], time.Since(start))
			if got := d.h.one(conn, "SELECT CONCAT(COUNT(*), ' ', IFNULL(@x, 'none')) FROM t"); got != left[reset] {
				t.Fatalf("%s leaves %s, want %s", reset, got, left[reset])
			}
		}
	}
	median := func(reset string) time.Duration {
		slices.Sort(took[reset])
		return took[reset][rounds/2]
	}
	t.Logf("a reset with the session takes %v, without %v (medians)", median(renewed), median(kept))
	if most := 2*median(kept) + 5*time.Millisecond; median(renewed) > most {
		t.Errorf("a reset with the session takes %v, more than %v", median(renewed), most)
	}
}
