package tests

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// TestFront leases clones by the names of databases, as any client may.
func TestFront(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	plain := openDSN(t, h.ramaria("up", "main", "--server", h.daemon(), "--database", "shop", "--set", "local_infile=ON", "--set", "max_allowed_packet=64M"))
	h.exec(plain, "CREATE TABLE t (a INT PRIMARY KEY AUTO_INCREMENT)", "INSERT INTO t VALUES (1), (2)", "CREATE TABLE wide (b LONGTEXT)")
	h.ramaria("template", "add", "shop")
	d := h.startFront("--linger", "100ms")
	const count = "SELECT COUNT(*) FROM t"

	t.Run("a name shares a clone", func(t *testing.T) {
		h.during(t)
		one, same, other := d.to("shop@1"), d.to("shop@1"), d.to("shop@two words, and @")
		h.exec(one, "INSERT INTO t VALUES (3)")
		if a, b, c := h.one(one, count), h.one(same, count), h.one(other, count); a != "3" || b != "3" || c != "2" {
			t.Errorf("rows: %s and %s of one name, %s of another; want 3, 3, 2", a, b, c)
		}
		if n := h.one(plain, count); n != "2" {
			t.Errorf("the template has %s rows, want 2", n)
		}
	})
	t.Run("it is put back when the last is gone", func(t *testing.T) {
		h.during(t)
		one, stays := d.to("shop@leaving"), d.to("shop@leaving")
		h.exec(stays, "INSERT INTO t VALUES (3)")
		h.exec(one, "INSERT INTO t VALUES (4)")
		_ = one.Close()
		time.Sleep(300 * time.Millisecond)
		if n := h.one(stays, count); n != "4" {
			t.Errorf("while one connection stays there are %s rows, want 4", n)
		}
		_ = stays.Close()
		h.until("the clone is given back", func() bool { return !strings.Contains(h.ramaria("db", "ls"), "shop_") })
		if n := h.one(d.to("shop@leaving"), count); n != "2" {
			t.Errorf("the next of that name finds %s rows, want 2", n)
		}
	})
	t.Run("a pause does not put it back", func(t *testing.T) {
		h.during(t)
		one := d.to("shop@pause")
		h.exec(one, "INSERT INTO t VALUES (3)")
		_ = one.Close()
		if n := h.one(d.to("shop@pause"), count); n != "3" {
			t.Errorf("a connection right after the last finds %s rows, want 3", n)
		}
	})
	t.Run("a clone for each connection", func(t *testing.T) {
		h.during(t)
		db := d.to("shop@@")
		a, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		b, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if x, y := h.one(a, "SELECT DATABASE()"), h.one(b, "SELECT DATABASE()"); x == y {
			t.Errorf("both are in %s", x)
		}
	})
	t.Run("other databases are those of the instance", func(t *testing.T) {
		h.during(t)
		db := d.to("shop")
		if who := h.one(db, "SELECT CURRENT_USER()"); !strings.HasPrefix(who, d.url.User.Username()+"@") {
			t.Errorf("the account is %s", who)
		}
		if n := h.one(d.to(""), "SELECT COUNT(*) FROM shop.t"); n != "2" {
			t.Errorf("%s rows, want 2", n)
		}
		_, err := db.Exec("CALL ramaria.reset()")
		d.refused(err, 1105, "is for a clone")
	})
	t.Run("control", func(t *testing.T) {
		h.during(t)
		db := d.to("shop@control")
		for _, reset := range []string{"CALL ramaria.reset()", "call `ramaria`.`reset`;", "/* ramaria: reset */", "/*ramaria reset*/ SELECT 1"} {
			h.exec(db, "INSERT INTO t VALUES (3)", reset)
			if n := h.one(db, count); n != "2" {
				t.Errorf("after %s there are %s rows, want 2", reset, n)
			}
		}
		h.exec(db, "INSERT INTO t VALUES (3)", "CALL ramaria.savepoint()", "INSERT INTO t VALUES (4)", "CALL ramaria.rollback()")
		if n := h.one(db, count); n != "3" {
			t.Errorf("after a rollback there are %s rows, want 3", n)
		}
		_, err := db.Exec("CALL ramaria.nothing()")
		d.refused(err, 1105, "there are reset, savepoint and rollback")
		h.exec(db, "USE `shop@control`")
		if n := h.one(db, "SELECT DATABASE()"); !strings.HasPrefix(n, "shop_") {
			t.Errorf("USE of its own name leads to %s", n)
		}
		_, err = db.Exec("USE `shop@other`")
		d.refused(err, 1049, "shop@other")
		stmt, err := db.Prepare("CALL ramaria.reset()")
		if err == nil {
			defer stmt.Close()
			_, err = stmt.Exec()
		}
		if err == nil {
			t.Error("a prepared reset did nothing, and said nothing")
		}
	})
	t.Run("databases made and dropped", func(t *testing.T) { // as Rails does for its workers
		h.during(t)
		db, outside := d.to("shop@made"), d.to("")
		h.exec(outside, "CREATE DATABASE `shop@made later`", "DROP DATABASE IF EXISTS `shop@made later`")
		if n := h.one(d.to("shop@made later"), count); n != "2" {
			t.Errorf("a database made before anybody is in it has %s rows, want 2", n)
		}
		h.one(db, count)
		h.exec(outside, "DROP DATABASE IF EXISTS `shop@made`", "CREATE DATABASE `shop@made` DEFAULT CHARACTER SET utf8mb4")
		if n := h.one(outside, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name LIKE '%@%'"); n != "0" {
			t.Errorf("%s databases have the name of a clone", n)
		}
		_ = db.Close()
		again := d.to("shop@made")
		if n := h.one(again, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"); n != "0" {
			t.Errorf("it was made again and has %s tables, want none", n)
		}
		h.exec(again, "CREATE TABLE t (a INT)", "CALL ramaria.reset()")
		if n := h.one(again, count); n != "2" {
			t.Errorf("a reset leaves %s rows, want 2", n)
		}
	})
	t.Run("databases with the name of no clone", func(t *testing.T) {
		h.during(t)
		outside := d.to("")
		h.exec(outside, "CREATE DATABASE `a@b`", "CREATE TABLE `a@b`.t (a INT)", "USE `a@b`", "INSERT INTO t VALUES (1)")
		named := d.to("a@b")
		if n := h.one(named, "SELECT CONCAT(DATABASE(), ' ', COUNT(*)) FROM t"); n != "a@b 1" {
			t.Errorf("by its name one gets to %s rows", n)
		}
		_, err := named.Exec("CALL ramaria.reset()")
		d.refused(err, 1105, "is for a clone")
		h.exec(outside, "DROP DATABASE `a@b`")
		d.refused(d.to("a@b").Ping(), 1049, "ramaria template add")
		_, err = outside.Exec("DROP DATABASE `a@b`")
		d.refused(err, 1008, "a@b")
	})
	t.Run("refused", func(t *testing.T) {
		h.during(t)
		d.refused(d.to("nothing@1").Ping(), 1049, "ramaria template add")
		c := d.config("shop@1")
		c.Passwd = "wrong"
		d.refused(d.open(c).Ping(), 1045, "Access denied")
		c = d.config("shop@1")
		c.User = "root"
		d.refused(d.open(c).Ping(), 1045, "Access denied")
		for _, name := range []string{"no_such_database", "@1", "@@"} {
			d.refused(d.to(name).Ping(), 1049, name)
		}
		h.ramaria("db", "pool", "--max-databases", "1")
		defer h.ramaria("db", "pool", "--max-databases", "64")
		h.one(d.to("shop@full"), count)
		d.refused(d.to("shop@fuller").Ping(), 1040, "")
	})
	t.Run("a password that is told", func(t *testing.T) {
		h.during(t)
		for _, secure := range []bool{false, true} {
			if got := d.tellPassword("shop@told", d.config("").Passwd, secure); got != 0 {
				t.Errorf("TLS %t: the right one gets error %d", secure, got)
			}
			if got := d.tellPassword("shop@told", "wrong", secure); got != 1045 {
				t.Errorf("TLS %t: a wrong one gets error %d, want 1045", secure, got)
			}
		}
	})
	t.Run("another login", d.testChange)
	t.Run("a clone that is kept", func(t *testing.T) {
		h.during(t)
		db := d.to("shop@kept")
		h.exec(db, "INSERT INTO t VALUES (3)")
		clone := h.one(db, "SELECT DATABASE()")
		h.ramaria("db", "keep", clone)
		_ = db.Close()
		time.Sleep(time.Second)
		if n := h.one(plain, "SELECT COUNT(*) FROM "+clone+".t"); n != "3" {
			t.Errorf("the kept clone has %s rows, want 3", n)
		}
		if now := h.one(d.to("shop@kept"), "SELECT DATABASE()"); now == clone {
			t.Error("the name has the kept clone again")
		}
		h.ramaria("db", "drop", clone)
	})
	t.Run("TLS", func(t *testing.T) {
		h.during(t)
		c := d.config("shop@tls")
		c.TLSConfig = "skip-verify"
		db := d.open(c)
		if n := h.one(db, count); n != "2" {
			t.Errorf("%s rows, want 2", n)
		}
		h.exec(db, "CALL ramaria.reset()")
	})
	t.Run("long packets and files", func(t *testing.T) {
		h.during(t)
		c := d.config("shop@long")
		c.MaxAllowedPacket = 64 << 20
		db := d.open(c)
		db.SetMaxOpenConns(1)
		for _, n := range []int{1, 100, 4095, 4096, 16<<10 - 13, 1<<24 - 40, 1<<24 + 7} {
			h.exec(db, "DELETE FROM wide", "INSERT INTO wide VALUES ('"+strings.Repeat("u", n)+"')")
			if got := h.one(db, "SELECT LENGTH(b) FROM wide"); got != strconv.Itoa(n) {
				t.Errorf("%s bytes arrived of %d", got, n)
			}
			if got := h.one(db, "SELECT b FROM wide"); got != strings.Repeat("u", n) {
				t.Errorf("%d bytes came back of %d, or others", len(got), n)
			}
		}
		// Lines whose beginning looks like a command of the door, more packets than the count of packets has room for.
		var file bytes.Buffer
		const lines = 6000
		for n := range lines {
			fmt.Fprintf(&file, "\x03CALL ramaria.reset() %d %s\n", n, strings.Repeat("\x11", 1024))
		}
		want := file.Len() - lines
		mysql.RegisterReaderHandler("lines", func() io.Reader { return &oneByOne{b: file.Bytes()} })
		defer mysql.DeregisterReaderHandler("lines")
		h.exec(db, "DELETE FROM wide", "LOAD DATA LOCAL INFILE 'Reader::lines' INTO TABLE wide")
		if got := h.one(db, "SELECT CONCAT(COUNT(*), ' ', SUM(LENGTH(b))) FROM wide"); got != fmt.Sprint(lines, " ", want) {
			t.Errorf("the file has become %s, want %d %d", got, lines, want)
		}
	})
	t.Run("KILL", func(t *testing.T) {
		h.during(t)
		db := d.to("shop@kill")
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		victim, err := db.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer victim.Close()
		id := h.one(victim, "SELECT CONNECTION_ID()")
		ended := make(chan error, 1)
		go func() {
			_, err := victim.ExecContext(t.Context(), "DO SLEEP(60)")
			ended <- err
		}()
		time.Sleep(50 * time.Millisecond)
		h.exec(db, "KILL "+id)
		select {
		case err := <-ended:
			if err == nil {
				t.Error("it was not killed")
			}
		case <-time.After(patience):
			t.Error("it lives on")
		}
	})
	t.Run("many", func(t *testing.T) {
		h.during(t)
		var wg sync.WaitGroup
		for n := range 100 {
			wg.Go(func() {
				db := d.to(fmt.Sprintf("shop@many%d", n%8))
				if _, err := db.Exec("INSERT INTO t VALUES (?)", 100+n); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for n := range 8 {
			want := strconv.Itoa(2 + 100/8)
			if n < 100%8 {
				want = strconv.Itoa(3 + 100/8)
			}
			if got := h.one(d.to(fmt.Sprintf("shop@many%d", n)), count); got != want {
				t.Errorf("shop@many%d has %s rows, want %s", n, got, want)
			}
		}
	})
	t.Run("the lease ends behind its back", func(t *testing.T) {
		h.during(t)
		db := d.to("shop@behind")
		clone := h.one(db, "SELECT DATABASE()")
		h.ramaria("db", "drop", clone)
		h.until("the name has another", func() bool {
			var n string
			return db.QueryRow(count).Scan(&n) == nil && n == "2"
		})
	})
	t.Run("the server is killed", d.testCrash)
	t.Run("made again with another password", d.testRemade)
	d.end()
	if left := h.ramaria("db", "ls"); strings.Contains(left, "shop_") {
		t.Errorf("the door has left %s", left)
	}
}

// oneByOne reads a line at a time.
type oneByOne struct{ b []byte }

func (o *oneByOne) Read(p []byte) (int, error) {
	n := bytes.IndexByte(o.b, '\n') + 1
	if n == 0 {
		return 0, io.EOF
	}
	n = copy(p, o.b[:n])
	o.b = o.b[n:]
	return n, nil
}
