package tests

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server"
)

// migration are statements that give the same in a replica.
var migration = []string{
	"CREATE TABLE plain (a INT, b VARCHAR(20))",
	"ALTER TABLE plain ADD PRIMARY KEY (a)",
	"ALTER TABLE plain MODIFY a INT AUTO_INCREMENT",
	"ALTER TABLE plain ADD c INT NOT NULL DEFAULT 7, ADD INDEX (b)",
	"INSERT INTO plain (b) VALUES ('x'), ('y')",
	"CREATE TABLE short (a INT)",
	"DROP TABLE short",
	"RENAME TABLE plain TO plainer",
	"CREATE TABLE parts (a INT PRIMARY KEY) PARTITION BY HASH (a) PARTITIONS 3",
	"ALTER TABLE parts COALESCE PARTITION 1", // a fence, since a base backup may have it; a replica does it once
}

// lateRows are enough that no parallel applier is at the first when it gets the last.
const lateRows = 100

// filledLate makes a table without a key whose first row is the last in the log.
func filledLate(t *testing.T, db *sql.DB, table string) {
	t.Helper()
	exe(t, db, "CREATE TABLE "+table+" (name VARCHAR(10), v INT) ENGINE=InnoDB")
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("INSERT INTO " + table + " VALUES ('first', 0)"); err != nil {
		t.Fatal(err)
	}
	for range lateRows {
		exe(t, db, "INSERT INTO "+table+" VALUES ('later', 0)")
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// refusedFor runs a command that must be refused, and say why.
func (h *testHome) refusedFor(why string, args ...string) {
	h.t.Helper()
	if _, talk, err := h.try(args...); err == nil || !strings.Contains(talk, why) {
		h.t.Errorf("ramaria %s: %v: %s, want %q", strings.Join(args, " "), err, talk, why)
	}
}

// TestReplicaDiverges: a statement that numbers rows gives other numbers in a replica, which says so, and is not promoted
// unless that is accepted; one that is made again has the same as its source, and statements that give the same say nothing.
func TestReplicaDiverges(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	db := openDSN(t, h.ramaria("up", "a", "--database", "app", "--server", h.daemon()))
	follows := func(replica *sql.DB, table string) {
		t.Helper()
		h.until("the replica has "+table, func() bool {
			var n int
			return replica.QueryRow("SELECT COUNT(id) FROM "+table).Scan(&n) == nil && n > 1
		})
	}

	// Statements that are in the copy, and ordinary ones.
	filledLate(t, db, "early")
	exe(t, db, numberRows("early"))
	replica := openDSN(t, h.ramaria("replica", "add", "a", "b"))
	h.exec(db, migration...)
	exe(t, db, "CREATE TABLE last (id INT PRIMARY KEY)")
	exe(t, db, "INSERT INTO last VALUES (1), (2)")
	follows(replica, "last")
	h.ramaria("down", "b")
	h.ramaria("up", "b") // it knows where it was
	if h.says("b", `"diverged"`) {
		t.Errorf("ordinary statements diverge: %s", h.ramaria("status", "b"))
	}
	h.ramaria("replica", "promote", "b")
	h.ramaria("rm", "b")

	replica = openDSN(t, h.ramaria("replica", "add", "a", "b"))
	filledLate(t, db, "t")
	exe(t, db, numberRows("t"))
	follows(replica, "t")
	if a, b := numberedRows(t, db, "t"), numberedRows(t, replica, "t"); a == b {
		t.Errorf("the control: both have %s", a)
	}
	h.until("it says so", func() bool { return h.says("b", `"kind": "auto_increment"`) })
	if s := h.ramaria("status", "b"); !strings.Contains(s, "it may differ from a since a statement of") {
		t.Errorf("status: %s", s)
	}
	h.refusedFor("hint: ramaria replica rm b and ramaria replica add a b make it again", "replica", "promote", "b")
	h.ramaria("down", "b")
	h.ramaria("up", "b")
	h.refusedFor("it may differ from a", "replica", "promote", "b")

	// Made again it has the same.
	h.ramaria("replica", "rm", "b")
	replica = openDSN(t, h.ramaria("replica", "add", "a", "b"))
	if a, b := numberedRows(t, db, "t"), numberedRows(t, replica, "t"); a != b {
		t.Errorf("made again it has %s, the source %s", b, a)
	}
	exe(t, db, "CREATE TABLE next (id INT PRIMARY KEY)")
	exe(t, db, "INSERT INTO next VALUES (1), (2)")
	follows(replica, "next")

	// The source is gone, and with it its log, before anybody has looked at the last of it.
	exe(t, db, "CREATE TABLE u (id INT PRIMARY KEY, v INT)")
	h.kill("b", func(p pids) int { return p.Supervisor })
	filledLate(t, db, "w")
	exe(t, db, numberRows("w"))
	replica = openDSN(t, h.ramaria("up", "b"))
	follows(replica, "w")
	h.kill("a", func(p pids) int { return p.Supervisor })
	h.ramaria("rm", "a")
	h.refusedFor("it may differ from a", "replica", "promote", "b")
	h.ramaria("replica", "promote", "b", "--accept-divergence")
	exe(t, replica, "INSERT INTO next VALUES (3)")
	if h.says("b", `"diverged"`) {
		t.Errorf("an instance of its own says that it diverges: %s", h.ramaria("status", "b"))
	}
}

// TestReplicaOfPlainDiverges: so does one of a server that is not ours; what that server logs as text by its own choice of
// binlog_format is its own matter.
func TestReplicaOfPlainDiverges(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	p := h.newSource("127.0.0.1:" + freePort(t))
	args := []string{"replica", "add", p.address, "b", "--login", p.login}
	if h.srv.Flavour == server.MariaDB {
		args = append(args, "--no-tls") // before 11.4 it has no certificate of its own
	}
	replica := openDSN(t, h.ramaria(args...))
	exe(t, p.db, "CREATE TABLE app.last (id INT PRIMARY KEY)")
	exe(t, p.db, "INSERT INTO app.last VALUES (1), (2)")
	h.until("it follows", func() bool {
		var n int
		return replica.QueryRow("SELECT COUNT(*) FROM app.last").Scan(&n) == nil && n == 2
	})
	h.ramaria("down", "b")
	replica = openDSN(t, h.ramaria("up", "b"))
	if h.says("b", `"diverged"`) {
		t.Errorf("ordinary statements diverge: %s", h.ramaria("status", "b"))
	}
	filledLate(t, p.db, "app.t")
	exe(t, p.db, numberRows("app.t"))
	h.until("it says so", func() bool { return h.says("b", `"kind": "auto_increment"`) })
	h.until("it has the rows", func() bool {
		var n int
		return replica.QueryRow("SELECT COUNT(id) FROM app.t").Scan(&n) == nil && n > lateRows
	})
	if a, b := numberedRows(t, p.db, "app.t"), numberedRows(t, replica, "app.t"); a == b {
		t.Errorf("the control: both have %s", a)
	}
	h.refusedFor("it may differ from "+p.address, "replica", "promote", "b")
}

// TestHandOverDiverges: a target that may differ does not take the place of an instance, not even where the statement is
// the last one before the cut-over.
func TestHandOverDiverges(t *testing.T) { // alone: the cut-over has some seconds
	h := newTestHome(t)
	db := openDSN(t, h.ramaria("up", "a", "--database", "app", "--server", h.daemon()))
	filledLate(t, db, "early")
	exe(t, db, numberRows("early"))
	p := h.handOver("a")
	p.asThePageSays()
	p.follows("a")
	h.exec(db, migration...)
	filledLate(t, db, "t")
	if h.says("a", `"diverged"`) {
		t.Errorf("ordinary statements diverge: %s", h.ramaria("status", "a"))
	}
	exe(t, db, numberRows("t"))
	h.refusedFor("hint: ramaria hand-over a --end, and --to again", p.cutOver("a")...)
	exe(t, db, "INSERT INTO plainer (b) VALUES ('z')") // it is written to
	h.until("status says so", func() bool { return h.says("a", `"kind": "auto_increment"`) })
	if s := h.ramaria("status", "a"); !strings.Contains(s, "the target of the hand-over may differ since a statement of") {
		t.Errorf("status: %s", s)
	}
	h.until("the target has the rows", func() bool {
		var n int
		return p.db.QueryRow("SELECT COUNT(id) FROM app.t").Scan(&n) == nil && n > lateRows
	})
	if a, b := numberedRows(t, db, "t"), numberedRows(t, p.db, "app.t"); a == b {
		t.Errorf("the control: both have %s", a)
	}
	h.ramaria(append(p.cutOver("a"), "--accept-divergence")...)
}
