package tests

import (
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
)

// TestDurableBesideLog: what is in no log is said to be outside of the promise, and is there again after a power cut, from
// the base backup that it causes. An event that ran once does not run again.
func TestDurableBesideLog(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	admin := func(statements ...string) {
		t.Helper()
		send(d.root, statements...).comes(t, strings.Join(statements, "; "))
	}
	events := func() { admin("SET GLOBAL event_scheduler = ON") }
	events()
	server1 := "CREATE SERVER remote FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1', PASSWORD 'x')"
	if d.srv.Flavour == server.MariaDB {
		d.send(server1).comes(t, server1) // the application may
	} else {
		admin(server1)
	}
	d.inBase(t, "server remote")
	if d.srv.Flavour == server.MySQL {
		d.send("CREATE UNDO TABLESPACE more ADD DATAFILE 'more.ibu'").comes(t, "an undo tablespace")
		d.inBase(t, "innodb_undo_tablespaces_explicit")
		d.send("CREATE RESOURCE GROUP slow TYPE = USER VCPU = 0").comes(t, "a resource group")
		d.inBase(t, "resource group slow")
		// What it would follow is in no log.
		if err := <-d.send("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1'"); err == nil || !strings.Contains(err.Error(), "Access denied") {
			t.Errorf("the application follows another server: %v", err)
		}
	}
	d.send("CREATE TABLE ran (what VARCHAR(10))", "CREATE EVENT once ON SCHEDULE AT NOW() ON COMPLETION PRESERVE DO INSERT INTO ran VALUES ('once')").comes(t, "an event")
	d.inBase(t, "event app.once")
	d.send("INSERT INTO slot VALUES (50, 1, 0, '')").comes(t, "a commit")
	d.lose(t)
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, "SELECT COUNT(*) FROM slot WHERE writer = 50", "1")
	d.reads(t, "SELECT server_name FROM mysql.servers", "remote")
	if d.srv.Flavour == server.MySQL {
		d.reads(t, "SELECT name FROM information_schema.innodb_tablespaces WHERE name = 'more'", "more")
		d.reads(t, "SELECT resource_group_name FROM information_schema.resource_groups WHERE resource_group_name = 'slow'", "slow")
	}
	events()
	d.send("CREATE EVENT later ON SCHEDULE AT NOW() DO INSERT INTO ran VALUES ('later')").comes(t, "another event")
	for end := time.Now().Add(soon); ; time.Sleep(untilPause) {
		ran, err := column(t.Context(), d.db, "SELECT what FROM ran ORDER BY what")
		if err != nil || time.Now().After(end) {
			t.Fatalf("the other event does not run: %q, %v", ran, err)
		}
		if strings.Contains(strings.Join(ran, ","), "later") {
			break
		}
	}
	d.reads(t, "SELECT what FROM ran ORDER BY what", "later,once")
	d.ramaria("rm", durableName, "--with-archive")
}

// inBase waits until status says that something was changed by what is in no log, and that a base backup has it.
func (d *durable) inBase(t *testing.T, what string) {
	t.Helper()
	for end := time.Now().Add(2 * soon); ; time.Sleep(untilPause) {
		status := d.ramaria("status", durableName)
		for line := range strings.Lines(status) {
			if strings.Contains(line, "changed by what is in no log: ") && strings.Contains(line, what) && strings.Contains(line, " was made after it") {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatalf("no base backup was made after %s:\n%s", what, status)
		}
	}
}
