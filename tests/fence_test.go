package tests

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/server"
)

// fenced is a durable instance whose base backups the test can hold up: the directory that they go to is put away.
type fenced struct{ *durable }

func newFenced(t *testing.T) *fenced {
	d := newDurable(t, "shm")
	d.begin(t)
	return &fenced{d}
}

// hold has base backups fail from now on, until letGo.
func (f *fenced) hold(t *testing.T) {
	t.Helper()
	base := filepath.Join(f.archive, "base")
	if err := os.Rename(base, base+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(base, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (f *fenced) letGo(t *testing.T) {
	t.Helper()
	base := filepath.Join(f.archive, "base")
	if err := os.Remove(base); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(base+".away", base); err != nil {
		t.Fatal(err)
	}
}

// exec runs what must succeed.
func (f *fenced) exec(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := f.db.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// filled makes a table without a key that two transactions have filled, which lie in another order in it than in the log.
func filled(t *testing.T, db *sql.DB, table string) {
	t.Helper()
	exe(t, db, "CREATE TABLE "+table+" (name VARCHAR(10), v INT) ENGINE=InnoDB")
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("INSERT INTO " + table + " VALUES ('A', 0)"); err != nil {
		t.Fatal(err)
	}
	exe(t, db, "INSERT INTO "+table+" VALUES ('B', 0)")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func (f *fenced) filled(t *testing.T, table string) {
	t.Helper()
	filled(t, f.db, table)
}

func numberRows(table string) string {
	return "ALTER TABLE " + table + " ADD id INT AUTO_INCREMENT PRIMARY KEY"
}

// numberedRows is which row of a table has which number.
func numberedRows(t *testing.T, db *sql.DB, table string) string {
	t.Helper()
	got, err := column(t.Context(), db, "SELECT CONCAT(id, name, v) FROM "+table+" ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(got, ",")
}

func (f *fenced) numbers(t *testing.T, table string) string {
	t.Helper()
	return numberedRows(t, f.db, table)
}

// promise is what status says of the archive.
type promise struct{ client.Durable }

// count is how many fences of a kind there were.
func (p promise) count(kind string) int64 {
	for _, k := range p.Fences.Kinds {
		if k.Kind == kind {
			return k.Count
		}
	}
	return 0
}

func (f *fenced) status(t *testing.T) promise {
	t.Helper()
	var s struct{ Durable client.Durable }
	if err := json.Unmarshal([]byte(f.ramaria("status", durableName, "--json")), &s); err != nil {
		t.Fatal(err)
	}
	if s.Durable.Fences == nil {
		s.Durable.Fences = &client.Fences{}
	}
	return promise{s.Durable}
}

// fences waits until so many statements wait.
func (f *fenced) fences(t *testing.T, want int) promise {
	t.Helper()
	var d promise
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if d = f.status(t); len(d.Fences.Waiting) == want {
			return d
		}
	}
	t.Fatalf("the statements that wait are %+v, want %d", d.Fences.Waiting, want)
	return d
}

// TestFence: a statement that the log may not repeat, and all that comes after it, is acknowledged when a base backup has
// it, and not before; so what a client was told of is there after the RAM is lost, as it was.
func TestFence(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	for _, table := range []string{"a", "b", "c", "d", "e"} {
		f.filled(t, table)
	}
	f.exec(t, "CREATE TABLE other (a INT PRIMARY KEY) ENGINE=InnoDB", "CREATE TABLE ordinary (a INT PRIMARY KEY)")
	if d := f.status(t); len(d.Fences.Kinds) > 0 {
		t.Fatalf("ordinary statements were fences: %+v", d.Fences)
	}

	// Two that wait share a base; what comes behind them waits too, and reads go on.
	before := f.status(t).Backups
	f.hold(t)
	first := f.send(numberRows("a"))
	first.waits(t, "a statement that the log may not repeat")
	f.fences(t, 1)
	second := f.send(numberRows("b"))
	second.waits(t, "another")
	d := f.fences(t, 2) // MariaDB lets no more than one in behind the first that waits
	commit := f.send("INSERT INTO other VALUES (1)")
	commit.waits(t, "a commit behind it")
	f.reads(t, "SELECT COUNT(*) FROM other", "0")
	if d.Fences.Waiting[0].Kind != "auto_increment" || d.count("auto_increment") != 2 {
		t.Errorf("status says %+v", d.Fences)
	}
	f.warns(t, "commits wait for a base backup")
	if _, talk, err := f.try("move", durableName, "--volume", "disk"); err == nil || !strings.Contains(talk, "hint: try again") {
		t.Errorf("a move meanwhile: %v, %s", err, talk)
	}
	f.letGo(t)
	first.comes(t, "the statement")
	second.comes(t, "the other")
	commit.comes(t, "the commit")
	if d := f.fences(t, 0); d.Backups != before+1 {
		t.Errorf("%d base backups were made for two statements that waited together", d.Backups-before)
	}
	f.exec(t, "UPDATE a SET v = 1 WHERE name = 'A'", "UPDATE b SET v = 1 WHERE name = 'B'")
	was := f.numbers(t, "a") + f.numbers(t, "b")
	f.ramaria("backup", "verify", durableName)
	f.lose(t)
	f.open(t, f.ramaria("up", durableName))
	if is := f.numbers(t, "a") + f.numbers(t, "b"); is != was {
		t.Errorf("after the RAM was lost it has %s, and before %s", is, was)
	}

	// A client that gives up, and one whose supervisor is killed: what was in memory is in a base before it is seen.
	for _, e := range []struct {
		name, table string
		ending
	}{{"killed supervisor", "c", ending{}}, {"killed server", "d", ending{server: true}}, {"down", "e", ending{down: true}}} {
		f.hold(t)
		f.send(numberRows(e.table)).waits(t, e.name)
		f.fences(t, 1)
		if err := f.end(t, e.ending, func(bool) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if _, talk, err := f.try("up", durableName); err == nil || !strings.Contains(talk, "base backup") {
			t.Errorf("%s: up without the base backup: %v, %s", e.name, err, talk)
		}
		f.letGo(t)
		f.open(t, f.ramaria("up", durableName))
		was := f.numbers(t, e.table)
		f.lose(t)
		f.open(t, f.ramaria("up", durableName))
		if is := f.numbers(t, e.table); is != was {
			t.Errorf("%s: after the RAM was lost it has %s, and before %s", e.name, is, was)
		}
	}
}

// TestFenceOfChangedTable: a statement is answered that waits with a table whose rows were just changed, all of them, and
// that has no key: what the supervisor then wants to know of it is not to wait for the statement.
func TestFenceOfChangedTable(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	f.exec(t, "CREATE TABLE k (a INT) ENGINE=InnoDB", "INSERT INTO k SELECT seq FROM "+numbers(5000))
	time.Sleep(2 * time.Second) // a look of the supervisor's, and more
	for _, text := range []string{"ADD id INT AUTO_INCREMENT UNIQUE", "DROP id, ADD id2 INT AUTO_INCREMENT UNIQUE"} {
		f.exec(t, "UPDATE k SET a = a + 1")
		f.send("ALTER TABLE k "+text).comes(t, text)
	}
}

// TestFenceUnanswered: a statement that was not answered, and that the server refuses to repeat, is left out when the RAM
// is lost, and what was answered before it is there.
func TestFenceUnanswered(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	f.exec(t, "CREATE TABLE s (a INT PRIMARY KEY) ENGINE=InnoDB", "INSERT INTO s VALUES (1), (2)", "CREATE TABLE t (a INT PRIMARY KEY) ENGINE=InnoDB",
		"ALTER TABLE t DISCARD TABLESPACE")
	if d := f.fences(t, 0); d.count("tablespace") != 1 {
		t.Fatalf("status says %+v", d.Fences)
	}
	conn, err := f.root.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(f.instanceDir(f.kind, durableName), "data")
	dir := filepath.Join(data, f.made.Endpoint.Database)
	if _, err := conn.ExecContext(t.Context(), "FLUSH TABLES s FOR EXPORT"); err != nil {
		t.Fatal(err)
	}
	for _, ext := range []string{".ibd", ".cfg"} {
		if out, err := exec.Command("cp", "-p", filepath.Join(dir, "s"+ext), filepath.Join(dir, "t"+ext)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if _, err := conn.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	f.exec(t, "INSERT INTO s VALUES (3)")
	f.hold(t)
	f.send("ALTER TABLE t IMPORT TABLESPACE").waits(t, "IMPORT TABLESPACE")
	f.send("INSERT INTO s VALUES (4)").waits(t, "a commit behind it")
	f.fences(t, 1)
	f.lose(t)
	f.letGo(t)
	out, talk, err := f.try("up", durableName)
	if err != nil || !strings.Contains(talk, "not acknowledged") {
		t.Fatalf("up: %v, %s", err, talk)
	}
	f.open(t, out)
	f.reads(t, "SELECT a FROM s ORDER BY a", "1,2,3")
	f.exec(t, "INSERT INTO s VALUES (4)")
	f.lose(t)
	f.open(t, f.ramaria("up", durableName))
	f.reads(t, "SELECT a FROM s ORDER BY a", "1,2,3,4")
}

// TestFenceBesideAccounts: a base backup is made although a statement about accounts waits for it, which on MySQL lets nobody in
// meanwhile, and although the supervisor has lost its connections.
func TestFenceBesideAccounts(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	f.filled(t, "a")
	f.exec(t, "CREATE TABLE m (a INT) ENGINE=MyISAM")
	ours, err := column(t.Context(), f.root, "SELECT id FROM information_schema.processlist WHERE user = 'ramaria_admin' AND command = 'Sleep' AND id <> CONNECTION_ID()")
	if err != nil {
		t.Fatal(err)
	}
	admin, err := f.root.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	f.hold(t)
	fence := f.send(numberRows("a"))
	f.fences(t, 1)
	account := send(f.root, "CREATE USER waits")
	account.waits(t, "CREATE USER")
	for _, id := range ours {
		_, _ = admin.ExecContext(t.Context(), "KILL "+id) // some are gone
	}
	f.letGo(t)
	fence.comes(t, "the fence")
	account.comes(t, "CREATE USER")
}

// TestAccountsBesideAcks: a statement about accounts, which on MySQL lets nobody in while it waits for its acknowledgement, gets
// it although the connection for that was ended meanwhile.
func TestAccountsBesideAcks(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	admin, err := f.root.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	var p pids
	if err := json.Unmarshal([]byte(f.ramaria("status", durableName, "--json")), &p); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(p.Supervisor, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(stuckFor) // it stops soon
	account := send(f.root, "CREATE USER waits")
	account.waits(t, "CREATE USER")
	var dump int
	err = admin.QueryRowContext(t.Context(), "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'").Scan(&dump)
	if err == nil {
		_, err = admin.ExecContext(t.Context(), fmt.Sprintf("KILL %d", dump))
	}
	if err := errors.Join(err, syscall.Kill(p.Supervisor, syscall.SIGCONT)); err != nil {
		t.Fatal(err)
	}
	account.comes(t, "CREATE USER")
}

// TestFenceOfInterval: where an interval may be lost nobody waits; a base backup is begun at once, and status says what
// is at stake until then.
func TestFenceOfInterval(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.beginInterval(t, "100ms")
	f := &fenced{d}
	f.filled(t, "a")
	before := f.status(t).Backups
	f.hold(t)
	f.exec(t, numberRows("a"), "UPDATE a SET v = 1 WHERE name = 'A'")
	f.fences(t, 1)
	f.warns(t, "before the next base backup")
	f.letGo(t)
	if d := f.fences(t, 0); d.Backups == before {
		t.Errorf("no base backup was made")
	}
	was := f.numbers(t, "a")
	f.lose(t)
	f.open(t, f.ramaria("up", durableName))
	if is := f.numbers(t, "a"); is != was {
		t.Errorf("after the RAM was lost it has %s, and before %s", is, was)
	}
}

// TestFenceRestored: a moment behind a statement that the log may not repeat is restored as it was, also when newer base
// backups are there and old ones were pruned: that of the statement stays. Where none has it yet, a restore says so.
func TestFenceRestored(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.beginInterval(t, "100ms")
	f := &fenced{d}
	f.filled(t, "a")
	f.exec(t, numberRows("a"))
	f.fences(t, 0)
	f.exec(t, "UPDATE a SET v = 1 WHERE name = 'A'")
	was := f.numbers(t, "a")
	at := f.archived(t)
	for range 3 {
		f.exec(t, "UPDATE a SET v = v + 1")
		f.ramaria("backup", durableName)
	}
	f.ramaria("backup", "prune", durableName)
	restored := func(from, at string) (rows, talk string) {
		out, talk, err := f.try("restore", from, "--at-position", at, "--as", "then")
		if err != nil {
			t.Fatalf("restore: %v: %s", err, talk)
		}
		rows = numberedRows(t, openDSN(t, out), "a")
		f.ramaria("rm", "then")
		return rows, talk
	}
	const warning = "statements were replayed that need not give what they gave"
	if rows, talk := restored(durableName, at); rows != was || strings.Contains(talk, warning) {
		t.Errorf("restored to %s it has %s, and had %s: %s", at, rows, was, talk)
	}

	f.hold(t)
	defer f.letGo(t)
	f.filled(t, "b")
	f.exec(t, numberRows("b"))
	f.fences(t, 1)
	at = f.archived(t)
	copied := filepath.Join(f.home, "copied")
	if err := os.CopyFS(copied, os.DirFS(f.archive)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(filepath.Join(copied, "base")), os.Rename(filepath.Join(copied, "base.away"), filepath.Join(copied, "base"))); err != nil {
		t.Fatal(err)
	}
	if _, talk := restored(copied, at); !strings.Contains(talk, warning) {
		t.Errorf("no base backup has the statement, and the restore says nothing of it: %s", talk)
	}
}

// archived waits until all of the log is archived, and returns up to where.
func (f *fenced) archived(t *testing.T) string {
	t.Helper()
	at := f.status(t).Position
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(300 * time.Millisecond) { // longer than the interval
		now := f.status(t).Position
		if now == at {
			return at
		}
		at = now
	}
	t.Fatalf("the log grows: %s", at)
	return ""
}

// TestFenceIsNeeded is the negative control: without the fence the rows are numbered in another order after a recovery,
// and engines are others.
func TestFenceIsNeeded(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.env = []string{"RAMARIA_FENCE=off"}
	d.begin(t)
	f := &fenced{d}
	f.filled(t, "a")
	f.exec(t, numberRows("a"))
	send(f.db, "SET default_storage_engine = MyISAM", "CREATE TABLE m (a INT)").comes(t, "CREATE TABLE")
	was := f.numbers(t, "a") + engineOf(t, f.db, "m")
	f.lose(t)
	f.open(t, f.ramaria("up", durableName))
	if is := f.numbers(t, "a") + engineOf(t, f.db, "m"); is == was {
		t.Errorf("it has %s as before: the test shows nothing", is)
	}
}

func engineOf(t *testing.T, db *sql.DB, table string) string {
	t.Helper()
	got, err := column(t.Context(), db, fmt.Sprintf("SELECT engine FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '%s'", table))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(got, ",")
}

// allOf are the rows of a query, one a line.
func allOf(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, at := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		at[i] = &values[i]
	}
	var b strings.Builder
	for rows.Next() {
		if err := rows.Scan(at...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, values)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFenceStatements: what the specification of recoveries lists as silent or fatal is there after the RAM was lost, as it
// was before.
func TestFenceStatements(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	f.filled(t, "a")
	f.exec(t, numberRows("a"), "CREATE TABLE b (a INT PRIMARY KEY) ENGINE=InnoDB", "INSERT INTO b VALUES (1), (2)")
	send(f.db, "SET default_storage_engine = MyISAM", "CREATE TABLE m (a INT)").comes(t, "CREATE TABLE")
	tables := []string{"a", "b", "m"}
	if f.srv.Flavour == server.MariaDB { // MySQL's application may not set it, nor have such defaults logged
		send(f.db, "SET innodb_strict_mode = OFF", "CREATE TABLE s (a INT) ENGINE=InnoDB ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=15").comes(t, "CREATE TABLE")
		tables = append(tables, "s", "i")
		f.exec(t, "ALTER TABLE b ADD token CHAR(36) DEFAULT (UUID())", "ALTER TABLE b ADD r DOUBLE DEFAULT (RAND())", "ALTER TABLE b ADD n DATETIME(6) DEFAULT NOW(6)")
		send(f.db, "SET STATEMENT default_storage_engine = Aria FOR CREATE TABLE i (a INT)").comes(t, "CREATE TABLE")
	}
	if f.srv.Flavour == server.MySQL {
		ranges := " (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))"
		f.exec(t, "CREATE TABLE moved"+ranges, "CREATE TABLE dropped"+ranges, "INSERT INTO moved VALUES (1), (11)", "INSERT INTO dropped VALUES (1), (11)")
		time.Sleep(2500 * time.Millisecond) // files that are younger tell nothing
		f.exec(t, "ALTER TABLE dropped DROP PARTITION p0")
		if n := f.status(t).count("algorithm"); n != 0 {
			t.Errorf("an ordinary DROP PARTITION was a fence")
		}
		send(f.db, "SET old_alter_table = ON", "ALTER TABLE moved DROP PARTITION p0").comes(t, "DROP PARTITION")
		if n := f.status(t).count("algorithm"); n != 1 {
			t.Errorf("%d fences by a DROP PARTITION that copies, want one", n)
		}
		tables = append(tables, "moved", "dropped")
	}
	dump := func() (text string) {
		for _, table := range tables {
			text += table + " " + engineOf(t, f.db, table) + "\n" + allOf(t, f.db, "SELECT * FROM "+table+" ORDER BY 1")
		}
		return text
	}
	was := dump()
	f.lose(t)
	f.open(t, f.ramaria("up", durableName))
	if is := dump(); is != was {
		t.Errorf("after the RAM was lost:\n%s\nbefore:\n%s", is, was)
	}
}
