package tests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// testSetUp: what a client sets right after its login is as much its own as the login, and what a test sets is not.
func (d *frontDoor) testSetUp(t *testing.T, c *mysql.Config) {
	c = c.Clone()
	c.Params = map[string]string{"time_zone": "'+03:00'", "sql_mode": "'ANSI_QUOTES,NO_ZERO_DATE'"}
	conn := d.alone(t, c)
	do(t, conn, "/* driver */ SET SESSION group_concat_max_len = 4711")
	const ask = "SELECT CONCAT(@@time_zone, ' ', @@sql_mode, ' ', @@group_concat_max_len)"
	const want = "+03:00 ANSI_QUOTES,NO_ZERO_DATE 4711"
	for _, reset := range []string{"CALL ramaria.savepoint(); CALL ramaria.rollback()", "CALL ramaria.reset()", "/* Ramaria: Reset */", "CALL ramaria.reset('keep session')"} {
		do(t, conn, reset)
		if got := d.h.one(conn, ask); got != want {
			t.Errorf("after %s: %s, want %s", reset, got, want)
		}
	}
	do(t, conn, "INSERT INTO t VALUES (77); SET time_zone = '+05:00', sql_mode = ''; CALL ramaria.reset()")
	if got := d.h.one(conn, ask); got != want {
		t.Errorf("after a test that sets its own: %s, want %s", got, want)
	}
}

// testTurnedOn: a driver that begins its first transaction by turning autocommit off turns it on after that, and goes on as
// if it stayed so. Some send a comment before what they set.
func (d *frontDoor) testTurnedOn(t *testing.T, c *mysql.Config) {
	conn := d.alone(t, c)
	do(t, conn, "SET autocommit = 0; INSERT INTO t VALUES (77); COMMIT; SET autocommit = 1; CALL ramaria.reset()")
	if got := d.h.one(conn, "SELECT @@autocommit"); got != "1" {
		t.Errorf("autocommit is %s after a reset, and was on before it", got)
	}
	conn = d.alone(t, c)
	do(t, conn, "/* mysql-connector-j-9.4.0 (Revision: 1) */SET autocommit=0; INSERT INTO t VALUES (77); CALL ramaria.reset()")
	if got := d.h.one(conn, "SELECT @@autocommit"); got != "0" {
		t.Errorf("autocommit is %s after a reset, and was turned off right after the login", got)
	}
}

// testWide: errors come in the client's character set, and the door knows its own all the same.
func (d *frontDoor) testWide(t *testing.T, c *mysql.Config) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, set := range []string{"utf16", "utf32", "NULL"} {
		conn := d.alone(t, c)
		do(t, conn, "INSERT INTO t VALUES (77); SET character_set_results = "+set)
		if _, err := conn.ExecContext(ctx, "CALL ramaria.reset()"); err != nil {
			t.Fatalf("with answers in %s: %v", set, err)
		}
		if got := d.h.one(conn, "SELECT CONCAT(COUNT(*), ' ', @@character_set_results) FROM t"); !strings.HasPrefix(got, "2 utf8") {
			t.Errorf("after a reset there are rows and character set %s", got)
		}
	}
}

// testStaysWhere: a session that is kept stays in its database, and gets into its own again when it has dropped that.
func (d *frontDoor) testStaysWhere(t *testing.T, c *mysql.Config) {
	conn := d.alone(t, c)
	const where = "SELECT IFNULL(DATABASE(), 'nowhere')"
	clone := d.h.one(conn, where)
	do(t, conn, "USE information_schema; CALL ramaria.reset('keep session')")
	if got := d.h.one(conn, where); got != "information_schema" {
		t.Errorf("a session that is kept is in %s", got)
	}
	do(t, conn, "USE `"+c.DBName+"`; DROP DATABASE `"+c.DBName+"`; CALL ramaria.reset('keep session')")
	if got := d.h.one(conn, where); got != clone {
		t.Errorf("a session that has dropped its database is in %s, want %s", got, clone)
	}
	do(t, conn, "XA START 'left'; INSERT INTO t VALUES (77)")
	_, err := conn.ExecContext(t.Context(), "CALL ramaria.reset('keep session')")
	d.refused(err, 1105, "XA ROLLBACK")
	do(t, conn, "XA END 'left'; XA ROLLBACK 'left'; CALL ramaria.reset('keep session'); XA START 'left'; INSERT INTO t VALUES (77); CALL ramaria.reset()")
	if got := d.h.one(conn, "SELECT COUNT(*) FROM t"); got != "2" {
		t.Errorf("%s rows after an XA transaction and a reset, want 2", got)
	}
}

// testTracked: a client that reads what changes of its session hears that it is in its clone again.
func (d *frontDoor) testTracked(t *testing.T) {
	d.h.during(t)
	const track = 1 << 23
	w := d.enterWith(t, "shop@tracked", 1<<16|track)
	clone := d.h.one(d.to("shop@tracked"), "SELECT DATABASE()")
	for _, text := range []string{"USE information_schema", "CALL ramaria.reset()"} {
		for range 3 {
			got := w.command(append([]byte{3}, text...))
			if w.failed != nil || errorOf(got) != 0 {
				t.Fatalf("%s: %v, error %d", text, w.failed, errorOf(got))
			}
			want := strings.TrimPrefix(text, "USE ")
			if strings.HasPrefix(text, "CALL") {
				want = clone
			}
			if !strings.Contains(string(got), want) {
				t.Errorf("%s is answered %q, without %s", text, got, want)
			}
		}
	}
	if got := w.command([]byte("\x03/* ramaria: reset */ INSERT INTO nothing VALUES (1)")); errorOf(got) != 1146 {
		t.Errorf("a statement behind a reset gets error %d, want 1146", errorOf(got))
	}
	if got := w.command([]byte("\x0e")); w.failed != nil || got[0] != 0 {
		t.Errorf("a ping gets %q, %v", got, w.failed)
	}
}

// testKillQuery: KILL QUERY may come late, and end a statement of the door's. Each answer is that to its question all the same,
// and the session is as the client has set it up. MariaDB ends the connection if it comes while a session is made new: that looks
// to it like one that ends.
func (d *frontDoor) testKillQuery(t *testing.T) {
	d.h.during(t)
	other := d.alone(t, d.config("shop@interrupted"))
	c := d.config("shop@interrupted")
	c.Params = map[string]string{"time_zone": "'+03:00'"}
	var conn *sql.Conn
	var id string
	enter := func() {
		conn = d.alone(t, c)
		do(t, conn, "SET autocommit = 0")
		id = d.h.one(conn, "SELECT CONNECTION_ID()")
	}
	enter()
	const rounds = 300
	interrupted, ended := 0, 0
	for n := range rounds {
		var killing sync.WaitGroup
		killing.Go(func() {
			time.Sleep(time.Duration(n%10) * 50 * time.Microsecond)
			_, _ = other.ExecContext(t.Context(), "KILL QUERY "+id)
		})
		_, err := conn.ExecContext(t.Context(), "CALL ramaria.reset()")
		killing.Wait()
		if errors.Is(err, mysql.ErrInvalidConn) && d.h.srv.Flavour == "mariadb" {
			ended++
			enter()
			continue
		}
		if err != nil {
			interrupted++
			d.refused(err, 1317, "interrupted")
		}
		var got string
		want := fmt.Sprint(n, " +03:00 0")
		err = conn.QueryRowContext(t.Context(), fmt.Sprintf("SELECT CONCAT(%d, ' ', @@time_zone, ' ', @@autocommit + 0)", n)).Scan(&got)
		if me := new(mysql.MySQLError); errors.As(err, &me) && me.Number == 1317 { // it came as late as that
			continue
		}
		if err != nil || got != want {
			t.Fatalf("question %d is answered %q, %v, want %q", n, got, err, want)
		}
	}
	t.Logf("of %d resets %d were interrupted, and %d connections ended", rounds, interrupted, ended)
	if ended > rounds/10 {
		t.Errorf("of %d connections MariaDB ended %d", rounds, ended)
	}
	do(t, conn, "DO 1; INSERT INTO t VALUES (77); CALL ramaria.reset()")
	if got := d.h.one(conn, "SELECT COUNT(*) FROM t"); got != "2" {
		t.Errorf("%s rows after a reset, want 2", got)
	}
}

// testHushed: a run that was killed, whose statements the server still does, shares its clone with no later one.
func (d *frontDoor) testHushed(t *testing.T) {
	d.h.during(t)
	for _, text := range []string{"DO SLEEP(5)", "INSERT INTO t SELECT 77 + SLEEP(5)"} {
		w := d.enter(t, "shop@killed run")
		w.command([]byte("\x03INSERT INTO t VALUES (76)"))
		w.seq = 0xff
		w.write(append([]byte{3}, text...))
		if err := w.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // longer than names linger here
		next := d.to("shop@killed run")
		if got := d.h.one(next, "SELECT COUNT(*) FROM t"); got != "2" {
			t.Errorf("%s: the next run finds %s rows, want 2", text, got)
		}
		_, _ = next.Close(), w.Close()
		d.h.until("all clones are given back", func() bool { return !strings.Contains(d.h.ramaria("db", "ls"), "shop_") })
	}
}

// testLong: a long text that begins with a reset is refused as a whole, and one with something else is passed on.
func (d *frontDoor) testLong(t *testing.T, c *mysql.Config) {
	conn := d.alone(t, c)
	for _, n := range []int{5000, 70000, 1 << 20} {
		long := "INSERT INTO wide VALUES ('" + strings.Repeat("u", n) + "')"
		for _, reset := range []string{"/* ramaria: reset */ ", "/* RAMARIA: reset */ "} {
			_, err := conn.ExecContext(t.Context(), reset+long)
			d.refused(err, 1105, "send it alone")
		}
		do(t, conn, long)
		if got := d.h.one(conn, "SELECT CONCAT(COUNT(*), ' ', MAX(LENGTH(b))) FROM wide"); got != fmt.Sprint("1 ", n) {
			t.Errorf("rows and length are %s, want 1 %d", got, n)
		}
		do(t, conn, "CALL ramaria.reset()")
	}
	_, err := conn.ExecContext(t.Context(), "DO 1; /* Ramaria: reset */ DO 2")
	d.refused(err, 1105, "has to be the first")
}
