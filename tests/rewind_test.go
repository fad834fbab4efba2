package tests

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/server"
)

// rewindData is what a rewind must bring back: tables of several engines, keys between
// them, and everything that is not a table.
var rewindData = []string{
	"CREATE DATABASE shop",
	"CREATE TABLE shop.customer (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(100) NOT NULL, KEY (name))",
	"INSERT INTO shop.customer (name) SELECT CONCAT('customer ', seq) FROM " + numbers(2000),
	"CREATE TABLE shop.purchase (id INT PRIMARY KEY, customer INT NOT NULL, price DECIMAL(8,2) CHECK (price >= 0), FOREIGN KEY (customer) REFERENCES shop.customer (id))",
	"INSERT INTO shop.purchase SELECT seq, 1 + seq % 2000, seq / 7 FROM " + numbers(5000),
	"CREATE TABLE shop.part (id INT, at DATE) PARTITION BY HASH (id) PARTITIONS 3",
	"INSERT INTO shop.part SELECT seq, '2026-01-01' FROM " + numbers(100),
	"CREATE TABLE shop.old (a INT, b TEXT) ENGINE=MyISAM",
	"INSERT INTO shop.old SELECT seq, REPEAT('b', seq) FROM " + numbers(100),
	"CREATE TABLE shop.text (a INT, b TEXT, FULLTEXT (b))",
	"INSERT INTO shop.text VALUES (1, 'a coral mushroom')",
	"CREATE VIEW shop.total AS SELECT customer, SUM(price) AS price FROM shop.purchase GROUP BY customer",
	"CREATE PROCEDURE shop.nothing() SELECT 1",
	"CREATE FUNCTION shop.one() RETURNS INT DETERMINISTIC RETURN 1",
	"CREATE TRIGGER shop.before_purchase BEFORE INSERT ON shop.purchase FOR EACH ROW SET NEW.price = NEW.price + 1",
	"CREATE EVENT shop.nightly ON SCHEDULE EVERY 1 DAY STARTS '2030-01-01 00:00:00' DO DELETE FROM shop.old",
	"CREATE USER clerk@localhost IDENTIFIED BY 'clerk'",
	"GRANT SELECT ON shop.* TO clerk@localhost",
	"CREATE SEQUENCE shop.numbers START WITH 100", // last: nothing else writes it to the log
}

// rewindRuin is what happens between a mark and a rewind.
var rewindRuin = []string{
	"INSERT INTO shop.customer (name) SELECT REPEAT('x', 90) FROM " + numbers(20000),
	"DELETE FROM shop.purchase WHERE id % 2 = 0",
	"ALTER TABLE shop.customer ADD COLUMN age INT DEFAULT 3, DROP KEY name",
	"ALTER TABLE shop.part REMOVE PARTITIONING",
	"TRUNCATE TABLE shop.old",
	"DROP TABLE shop.text",
	"RENAME TABLE shop.part TO shop.partless",
	"CREATE OR REPLACE VIEW shop.total AS SELECT 1 AS one",
	"DROP PROCEDURE shop.nothing",
	"DROP TRIGGER shop.before_purchase",
	"DROP EVENT shop.nightly",
	"DROP USER clerk@localhost",
	"CREATE USER burglar@localhost",
	"CREATE DATABASE more",
	"CREATE TABLE more.t (a INT)",
}

// autoIncrement matches the counter, which the server computes from the rows at every start.
var autoIncrement = regexp.MustCompile(` AUTO_INCREMENT=\d+`)

// picture describes everything in a server that clients can see: definitions, contents
// by checksum, accounts.
func (h *testHome) picture(db *sql.DB) (lines []string) {
	h.t.Helper()
	rows := func(query string) (all [][]string) {
		found, err := db.QueryContext(h.t.Context(), query)
		if err != nil {
			h.t.Fatalf("%s: %v", query, err)
		}
		defer found.Close()
		columns, err := found.Columns()
		if err != nil {
			h.t.Fatal(err)
		}
		for found.Next() {
			values, to := make([]sql.NullString, len(columns)), make([]any, len(columns))
			for n := range values {
				to[n] = &values[n]
			}
			if err := found.Scan(to...); err != nil {
				h.t.Fatalf("%s: %v", query, err)
			}
			row := make([]string, len(values))
			for n := range values {
				row[n] = autoIncrement.ReplaceAllString(values[n].String, "")
			}
			all = append(all, row)
		}
		if err := found.Err(); err != nil {
			h.t.Fatalf("%s: %v", query, err)
		}
		return all
	}
	note := func(query string) {
		for _, row := range rows(query) {
			lines = append(lines, query+": "+strings.Join(row, " | "))
		}
	}
	for _, row := range rows("SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema', 'sys', 'mysql') ORDER BY 1, 2") {
		name := "`" + row[0] + "`.`" + row[1] + "`"
		note("SHOW CREATE TABLE " + name)
		if row[2] == "BASE TABLE" {
			note("CHECKSUM TABLE " + name)
		}
	}
	note("SHOW DATABASES")
	note("SELECT ROUTINE_SCHEMA, ROUTINE_NAME, ROUTINE_DEFINITION FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA NOT IN ('sys', 'mysql') ORDER BY 1, 2")
	note("SELECT TRIGGER_SCHEMA, TRIGGER_NAME, ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA NOT IN ('sys', 'mysql') ORDER BY 1, 2")
	note("SELECT EVENT_SCHEMA, EVENT_NAME, EVENT_DEFINITION FROM information_schema.EVENTS ORDER BY 1, 2")
	// Ramaria's own account has a new password after each start.
	note("SELECT User, Host FROM mysql.user ORDER BY 1, 2")
	note("SELECT TABLE_SCHEMA, GRANTEE, PRIVILEGE_TYPE FROM information_schema.SCHEMA_PRIVILEGES ORDER BY 1, 2, 3")
	return lines
}

// TestRewind goes back and forward between marks, across anything.
func TestRewind(t *testing.T) {
	t.Parallel()
	onVolumes(t, func(t *testing.T, volume string) {
		h := newTestHome(t)
		dsn := h.ramaria("up", "main", "--server", h.daemon(), "--volume", volume)
		db := openDSN(t, dsn)
		h.exec(db, dialect(h.srv, rewindData...)...)
		pictures := map[string][]string{}
		mark := func(label string) {
			t.Helper()
			h.ramaria("mark", "main", label)
			pictures[label] = h.picture(db)
		}
		rewind := func(label, after string) {
			t.Helper()
			if again := h.ramaria("rewind", "main", label); again != dsn {
				t.Errorf("the DSN was %s and is %s", dsn, again)
			}
			if diff := cmp.Diff(pictures[label], h.picture(db)); diff != "" {
				t.Errorf("rewound to %s after %s (-marked +rewound):\n%s", label, after, diff)
			}
			if err := cleanTables(t.Context(), db); err != nil {
				t.Errorf("rewound to %s after %s: %v", label, after, err)
			}
		}
		mark("one")
		h.exec(db, rewindRuin...)
		mark("two")
		// So the comparison can fail.
		if slices.Equal(pictures["one"], pictures["two"]) {
			t.Fatal("the picture shows nothing of all the changes")
		}
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		rewind("one", "changes of many kinds")
		if err := conn.PingContext(t.Context()); err == nil {
			t.Error("a connection outlived the rewind")
		}
		rewind("two", "a rewind: forward")
		h.exec(db, dialect(h.srv, "DROP DATABASE shop", "DROP DATABASE more", "DELETE FROM mysql.proc")...)
		rewind("one", "the databases were dropped")
		h.exec(db, rewindData[2])
		h.ramaria("down", "main")
		rewind("two", "it was stopped")
		h.kill("main", func(p pids) int { return p.Server })
		h.ruin(volume, "main")
		if _, talk, err := h.try("up", "main"); err == nil {
			t.Errorf("a server with ruined files starts: %s", talk)
		}
		rewind("one", "its files were ruined")

		h.exec(db, "INSERT INTO shop.old VALUES (7, 'seven')")
		if _, talk, err := h.try("mark", "main", "one"); err == nil || !strings.Contains(talk, "the label is taken: one\nhint: ramaria mark main one --replace") {
			t.Errorf("a label that is taken: %v: %s", err, talk)
		}
		pictures["one"] = h.picture(db)
		h.ramaria("mark", "main", "one", "--replace")
		h.exec(db, "DROP DATABASE shop")
		rewind("one", "the mark was replaced")
	})
}

// ruin overwrites files of a server that does not run.
func (h *testHome) ruin(volume, name string) {
	h.t.Helper()
	data := filepath.Join(h.instanceDir(volume, name), "data")
	files := []string{filepath.Join(data, "ibdata1"), filepath.Join(data, "shop/customer.ibd")}
	if h.srv.Flavour == server.MySQL {
		files = append(files, filepath.Join(data, "mysql.ibd"))
	} else {
		files = append(files, filepath.Join(data, "mysql/global_priv.MAD"))
	}
	for _, path := range append(files, redoLogs(h.t, data)...) {
		fi, err := os.Stat(path)
		if err != nil {
			h.t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			h.t.Fatal(err)
		}
		_, err = f.Write(bytes.Repeat([]byte("ruin"), int(fi.Size())/4))
		if err := errors.Join(err, f.Close()); err != nil {
			h.t.Fatal(err)
		}
	}
}

// TestKilledRewind kills the supervisor in the middle of rewinds, at random moments:
// what is there afterwards is one of the two states, whole, and nothing else is left.
func TestKilledRewind(t *testing.T) {
	t.Parallel()
	kills := fewer(6, 4)
	onVolumes(t, func(t *testing.T, volume string) {
		h := newTestHome(t)
		db := h.upSmall("main", volume)
		h.ramaria("mark", "main", "one")
		h.exec(db, "INSERT INTO t VALUES (2)")
		h.ramaria("mark", "main", "two")
		began := time.Now()
		h.ramaria("rewind", "main", "one")
		whole := time.Since(began)
		seen := map[string]int{}
		for n := range kills {
			p := h.pids("main")
			var group sync.WaitGroup
			group.Go(func() { _, _, _ = h.try("rewind", "main", []string{"two", "one"}[n%2]) }) // killed, or not
			// A part of the time that a rewind takes, as there is nothing to wait for.
			time.Sleep(whole * time.Duration(n+1) / time.Duration(kills+1))
			if err := syscall.Kill(p.Supervisor, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			group.Wait()
			h.gone(p)
			h.ramaria("up", "main")
			rows, err := column(t.Context(), db, "SELECT a FROM t ORDER BY a")
			got := strings.Join(rows, " ")
			if err != nil || got != "1" && got != "1 2" {
				t.Errorf("kill %d: rows %q (%v)", n, got, err)
			}
			seen[got]++
			if err := cleanTables(t.Context(), db); err != nil {
				t.Errorf("kill %d: %v", n, err)
			}
			h.nothingOf(volume, "none")
		}
		t.Logf("rows after the kills: %v", seen)
		for label, want := range map[string]string{"one": "1", "two": "1 2"} {
			h.ramaria("rewind", "main", label)
			h.rows("main, rewound to "+label+",", db, want)
		}
	})
}
