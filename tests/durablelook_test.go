package tests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDurableBlindCalls: the application makes a routine that root's calls, which hides nothing by itself: that blinds the log
// at once, and once it was started anew a base backup says who may.
func TestDurableBlindCalls(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	send(d.root, "CREATE DEFINER = root@localhost PROCEDURE calls() CALL blinds()").comes(t, "a procedure of root's")
	d.seesAfterRestart(t)
	d.ramaria("sql", durableName, "-e", "CREATE PROCEDURE blinds() SELECT 1")
	d.ramaria("sql", durableName, "-e", "DROP PROCEDURE blinds")
	if said, blind := d.saysOfLog(t); blind {
		t.Fatalf("what has its own rights blinds it: %s", said)
	}
	d.ramaria("sql", durableName, "-e", "CREATE PROCEDURE blinds() SQL SECURITY INVOKER SET sql_log_bin = 0")
	d.blindFor(t, "what root@localhost defines may call what switches it off: calls")
	d.ramaria("sql", durableName, "-e", "CALL calls()") // as it does
	d.seesAfterRestart(t)
	d.ramaria("backup", durableName)
	if status := d.ramaria("status", durableName); !strings.Contains(status, "calls of root@localhost may switch the log off") {
		t.Errorf("it does not say who may switch the log off:\n%s", status)
	}
	d.ramaria("rm", durableName, "--with-archive")
}

// TestDurableBlindRoutine: a procedure of who may switch the log off blinds it once somebody has it run by the rights of its
// definer, and not by those of who calls it.
func TestDurableBlindRoutine(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	send(d.root, "CREATE DEFINER=root@localhost PROCEDURE lent(text TEXT) SQL SECURITY INVOKER BEGIN SET @text = text; PREPARE s FROM @text; EXECUTE s; END").comes(t, "a procedure of root's")
	d.blindFor(t, "root@localhost defines may switch it off")
	d.seesAfterRestart(t)
	d.ramaria("backup", durableName)
	said := d.ramaria("sql", durableName, "-e", "ALTER PROCEDURE lent SQL SECURITY DEFINER; CALL lent('SET SESSION sql_log_bin = 0'); SELECT CONCAT('log ', @@SESSION.sql_log_bin)")
	if !strings.Contains(said, "log 0") && !strings.Contains(said, "log OFF") {
		t.Errorf("the log is not off: %s", said)
	}
	d.blindFor(t, "what root@localhost defines may call what switches it off: lent")
	d.seesAfterRestart(t)
	d.ramaria("rm", durableName, "--with-archive")
}

// TestDurableUnseen: who keeps the instance from looking who may switch the log off is told of, and the looks that fail leave no
// session in the server.
func TestDurableUnseen(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	conn, err := d.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), "LOCK TABLES mysql.servers WRITE"); err != nil {
		t.Fatal(err)
	}
	d.blindFor(t, "nobody could look who may")
	waiting, err := column(t.Context(), d.root, "SELECT id FROM information_schema.processlist WHERE state LIKE 'Waiting for table%'")
	if err != nil || len(waiting) > 2 {
		t.Errorf("%d sessions wait for the table: %v", len(waiting), err)
	}
	if _, err := conn.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
		t.Fatal(err)
	}
	d.seesAfterRestart(t)
	d.ramaria("rm", durableName, "--with-archive")
}

// TestDurableLookView: the application puts a view in the place of a table that the supervisor looks at each second. What the
// view calls does not get the supervisor's rights, the instance says that it cannot look, and sees again when the table is back.
func TestDurableLookView(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	// The function has its database before it, or the view, which is in mysql, does not find it; and the table has no rows for
	// which one would be called in a condition.
	send(d.db, "CREATE TABLE called (who VARCHAR(99))", "CREATE FUNCTION lure() RETURNS INT NOT DETERMINISTIC MODIFIES SQL DATA SQL SECURITY INVOKER "+
		"BEGIN INSERT INTO called VALUES (CURRENT_USER()); RETURN 1; END",
		"RENAME TABLE mysql.servers TO mysql.kept", "CREATE SQL SECURITY INVOKER VIEW mysql.servers AS SELECT app.lure() AS Server_name").comes(t, "a view")
	d.blindFor(t, "a view in the place of a table of the server's own\nhint: DROP VIEW, and RENAME the table back, before anything else")
	if called, err := column(t.Context(), d.root, "SELECT who FROM called"); err != nil || len(called) > 0 {
		t.Errorf("its function was called by %q: %v", called, err)
	}
	send(d.db, "DROP VIEW mysql.servers", "RENAME TABLE mysql.kept TO mysql.servers").comes(t, "the table again")
	d.seesAfterRestart(t)
	d.ramaria("rm", durableName, "--with-archive")
}

// TestDurableManifestUnwritten: where the archive does not take its manifest, the instance says so.
func TestDurableManifestUnwritten(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	inPlace := filepath.Join(d.archive, "manifest.json.new")
	if err := os.Mkdir(inPlace, 0o700); err != nil {
		t.Fatal(err)
	}
	send(d.root, "CREATE USER other@localhost IDENTIFIED BY '"+blindPassword+"'", "GRANT SUPER ON *.* TO other@localhost").comes(t, "another account")
	d.blindFor(t, "names the privilege SUPER")
	for end := time.Now().Add(soon); ; time.Sleep(untilPause) {
		if said, _ := d.saysOfLog(t); strings.Contains(said, "the archive cannot be told what is outside of the promise: write manifest") {
			break
		} else if time.Now().After(end) {
			t.Fatalf("it does not say that the archive is not told: %s", said)
		}
	}
	if err := os.Remove(inPlace); err != nil {
		t.Fatal(err)
	}
	d.ramaria("rm", durableName, "--with-archive")
}
