package tests

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
)

// TestDurableEvents: events that are due while base backups are made run in the instance, and nowhere else: what they did is
// in the log, and a base that has it too could not go on with that log.
func TestDurableEvents(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	const events, backups = 12, 3
	statements := []string{"CREATE TABLE ran (id INT PRIMARY KEY, at DATETIME(6))"}
	for i := range events {
		statements = append(statements, fmt.Sprintf("CREATE EVENT e%d ON SCHEDULE AT NOW() + INTERVAL %d SECOND DO INSERT INTO ran VALUES (%[1]d, NOW(6))", i, i+1))
	}
	d.send(statements...).comes(t, "events")
	send(d.root, "SET GLOBAL event_scheduler = ON").comes(t, "the scheduler")
	for range backups {
		d.ramaria("backup", durableName)
	}
	all := strings.TrimSuffix(strings.Repeat("x,", events), ",")
	for end := time.Now().Add(soon); ; time.Sleep(untilPause) {
		ran, err := column(t.Context(), d.db, "SELECT 'x' FROM ran")
		if err != nil || time.Now().After(end) {
			t.Fatalf("the events do not run: %q, %v", ran, err)
		}
		if len(ran) == events {
			break
		}
	}
	rows, err := column(t.Context(), d.db, "SELECT CONCAT(id, ' ', at) FROM ran ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	d.lose(t)
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, "SELECT 'x' FROM ran", all)
	d.reads(t, "SELECT CONCAT(id, ' ', at) FROM ran ORDER BY id", strings.Join(rows, ","))
	if d.srv.Flavour == server.MySQL {
		d.reads(t, "SELECT @@GLOBAL.event_scheduler", "ON")
	}
	d.ramaria("rm", durableName, "--with-archive")
}
