package datafiles

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/sys"
)

func open(t *testing.T, srv *servertest.Running) *sql.Conn {
	t.Helper()
	db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func do(t *testing.T, conn *sql.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// TestNamesOnServers has a server name files by every character that it does not write with four
// digits, and by some that it does.
func TestNamesOnServers(t *testing.T) { servertest.Each(t, testNamesOnServers) }

func testNamesOnServers(t *testing.T, want string) {
	srv := servertest.Start(t, servertest.Find(t, want))
	conn := open(t, srv)
	do(t, conn, "CREATE DATABASE shop")
	var all []rune
	for _, c := range shortCodes {
		all = append(all, []rune(c.chars)...)
	}
	if len(all) != 1510 {
		t.Errorf("%d characters have short codes", len(all))
	}
	for n := rune(0x20); n < 0xFFF0; n += 97 { // of others, one in so many
		if !utf16.IsSurrogate(n) && n != ' ' {
			all = append(all, n)
		}
	}
	// A file's name has 255 bytes at most.
	for name := range slices.Chunk(all, 40) {
		do(t, conn, "CREATE TABLE shop."+dbconn.QuoteName(string(name)+"_")+" (a INT)")
	}
	sameTables(t, srv, conn)
}

// sameTables compares the tables that the server knows with those that its files are of.
func sameTables(t *testing.T, srv *servertest.Running, conn *sql.Conn) (kinds map[Kind]bool) {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema IN ('shop', 'my-shop ä') AND table_name <> 'inside'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var known, found []string
	for rows.Next() {
		var i Item
		if err := rows.Scan(&i.Database, &i.Name); err != nil {
			t.Fatal(err)
		}
		known = append(known, i.Database+"|"+i.Name)
	}
	if err := rows.Err(); err != nil || known == nil {
		t.Fatal("no tables", err)
	}
	kinds = map[Kind]bool{}
	if err := sys.Files(srv.DataDir(), func(sub, name string, _ int64) {
		i := Identify(sub, name, server.BinlogName)
		kinds[i.Kind] = true
		if i.Kind == Table && i.Database != "mysql" && i.Database != "sys" && i.Database != "performance_schema" {
			found = append(found, i.Database+"|"+i.Name)
		}
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(known)
	slices.Sort(found)
	if d := cmp.Diff(known, slices.Compact(found)); d != "" {
		t.Errorf("tables of the server (-) and of its files (+):\n%s", d)
	}
	return kinds
}

// TestFilesOnServers: every table that the server knows is found by its files, by its name, and no
// other is.
func TestFilesOnServers(t *testing.T) { servertest.Each(t, testFilesOnServers) }

func testFilesOnServers(t *testing.T, want string) {
	srv := servertest.Start(t, servertest.Find(t, want))
	conn := open(t, srv)
	const db = "`my-shop ä`."
	do(t, conn, "CREATE DATABASE `my-shop ä`", "CREATE DATABASE shop",
		"CREATE TABLE "+db+"`order items€` (a INT PRIMARY KEY, b TEXT, FULLTEXT (b)) ENGINE=InnoDB",
		"CREATE TABLE "+db+"`a``b#c.d` (a INT) ENGINE=InnoDB",
		"CREATE TABLE "+db+"`注文` (a INT) ENGINE=MyISAM",
		"CREATE TABLE "+db+"Ärger (a INT NOT NULL) ENGINE=CSV",
		"CREATE TABLE shop.p (a INT) ENGINE=InnoDB PARTITION BY HASH (a) PARTITIONS 3",
		"CREATE TABLE shop.sp (a INT, b INT) ENGINE=InnoDB PARTITION BY RANGE (a) SUBPARTITION BY HASH (b) SUBPARTITIONS 2 (PARTITION `p#1` VALUES LESS THAN (5))",
		"CREATE TABLE shop.plain (a INT AUTO_INCREMENT PRIMARY KEY, b LONGBLOB) ENGINE=InnoDB")
	if srv.Flavour == server.MySQL {
		do(t, conn, "CREATE TABLESPACE `ts-1` ADD DATAFILE 'ts-1.ibd'", "CREATE TABLE shop.inside (a INT, b LONGBLOB) TABLESPACE `ts-1`",
			"CREATE UNDO TABLESPACE more ADD DATAFILE 'more.ibu'")
	}
	kinds := sameTables(t, srv, conn)
	expect := []Kind{Table, FullText, System, Redo, Temporary}
	if srv.Flavour == server.MySQL {
		expect = append(expect, Tablespace, Undo, Dictionary, Doublewrite)
	} else {
		expect = append(expect, AriaLog)
	}
	for _, k := range expect {
		if !kinds[k] {
			t.Errorf("no file is of kind %s", k)
		}
	}
	testGrowthOnServer(t, srv, conn)
}

// testGrowthOnServer has a table, and what ALTER makes of it, grow.
func testGrowthOnServer(t *testing.T, srv *servertest.Running, conn *sql.Conn) {
	t.Helper()
	c := &Census{Binlog: server.BinlogName}
	if _, err := c.Take(srv.DataDir(), noon); err != nil {
		t.Fatal(err)
	}
	rows := func(table string, n int) {
		do(t, conn, "INSERT INTO "+table+" (b) VALUES (REPEAT('x', 1000000))")
		for range n {
			do(t, conn, "INSERT INTO "+table+" (b) SELECT b FROM "+table)
		}
	}
	rows("shop.plain", 5) // 32 MB
	first := func() string {
		r, err := c.Take(srv.DataDir(), noon.Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range r.Grown {
			switch u.Kind {
			case Redo, Binlog, Undo, Temporary, Doublewrite: // grow beside whatever grows
			default:
				return u.String()
			}
		}
		return ""
	}
	if got := first(); got != "shop.plain" {
		t.Errorf("%s has grown most", got)
	}
	if srv.Flavour == server.MySQL {
		rows("shop.inside", 6)
		if got := first(); got != "tablespace `ts-1`" {
			t.Errorf("%s has grown most, not the tablespace", got)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = conn.ExecContext(context.WithoutCancel(t.Context()), "ALTER TABLE shop.plain ADD COLUMN c INT, ALGORITHM=COPY")
	}()
	seen := false
	for !seen {
		r, err := c.Take(srv.DataDir(), noon.Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		seen = slices.ContainsFunc(r.Grown, func(u Use) bool { return u.String() == "ALTER in shop" })
		select {
		case <-done:
			if !seen {
				t.Error("an ALTER was never seen at work")
			}
			return
		default:
		}
	}
	<-done
}
