package tests

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// stuckFor is how long a commit is watched that must wait, and soon how long one may take that must not.
const (
	stuckFor = 300 * time.Millisecond
	soon     = 4 * time.Minute
)

// answer is a statement that was sent.
type answer chan error

// send sends statements on a connection of their own, one after the other.
func (d *durable) send(texts ...string) answer { return send(d.db, texts...) }

func send(db *sql.DB, texts ...string) answer {
	a := make(answer, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		conn, err := db.Conn(ctx)
		if err != nil {
			a <- err
			return
		}
		defer func() { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }() // with its settings
		for _, text := range texts {
			if _, err := conn.ExecContext(ctx, text); err != nil {
				a <- fmt.Errorf("%s: %w", text, err)
				return
			}
		}
		a <- nil
	}()
	return a
}

// waits fails the test if the statement is answered.
func (a answer) waits(t *testing.T, what string) bool {
	t.Helper()
	select {
	case err := <-a:
		t.Errorf("%s was answered, and is not on disk: %v", what, err)
		return false
	case <-time.After(stuckFor):
		return true
	}
}

// comes fails the test if it is not answered soon.
func (a answer) comes(t *testing.T, what string) {
	t.Helper()
	select {
	case err := <-a:
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(soon):
		t.Errorf("%s waits on", what)
	}
}

// warns waits for a warning of `status`.
func (d *durable) warns(t *testing.T, want string) {
	t.Helper()
	var s struct {
		Warnings []string `json:"warnings"`
	}
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err := json.Unmarshal([]byte(d.ramaria("status", durableName, "--json")), &s); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.Join(s.Warnings, "\n"), want) {
			return
		}
	}
	t.Errorf("the warnings are %q, want %q", s.Warnings, want)
}

// quiet waits until no warning of `status` says something.
func (d *durable) quiet(t *testing.T, of string) {
	t.Helper()
	out := ""
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if out = d.ramaria("status", durableName, "--json"); !strings.Contains(out, of) {
			return
		}
	}
	t.Errorf("status goes on to say %q: %s", of, out)
}

// waiting is the id of the session whose DELETE waits.
func waiting(t *testing.T, db *sql.DB) string {
	t.Helper()
	ids, err := column(t.Context(), db, "SELECT id FROM information_schema.processlist WHERE info LIKE 'DELETE%'")
	if err != nil || len(ids) != 1 {
		t.Fatalf("sessions that delete: %q, %v", ids, err)
	}
	return ids[0]
}

// reads wants what is durable to be read at once.
func (d *durable) reads(t *testing.T, query, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	got, err := column(ctx, d.db, query)
	if err != nil || strings.Join(got, ",") != want {
		t.Errorf("%s: %q, %v; want %q", query, got, err, want)
	}
}

// lose kills the supervisor, and takes the RAM away.
func (d *durable) lose(t *testing.T) {
	t.Helper()
	if err := d.end(t, ending{lost: true}, func(bool) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// TestDurableConnections: commits go on when the connection is killed that acknowledges them, when there is
// no room for another one, and through many files of the log.
func TestDurableConnections(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.archive = filepath.Join(d.home, "archive")
	d.open(t, d.ramaria("up", durableName, "--volume", d.kind, "--durable", "--archive", d.archive, "--set", "max_connections=20"))
	d.lives = 1
	d.tables(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	// Killed, under load.
	ended := d.load(t, ending{})
	for range 10 {
		ids, err := column(ctx, d.root, "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'")
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			_, _ = d.root.ExecContext(ctx, "KILL "+id) // it may have ended
		}
		d.send("INSERT INTO ack (writer, n) VALUES (99, 0)", "DELETE FROM ack WHERE writer = 99").comes(t, "a commit after the connection was killed")
	}
	if err := ended(true); err != nil {
		t.Error(err)
	}

	// No room.
	writer, err := d.root.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	var taken []*sql.Conn
	for range 40 {
		conn, err := d.db.Conn(ctx)
		if err != nil {
			break
		}
		taken = append(taken, conn)
	}
	if len(taken) == 40 {
		t.Error("there is room for 40 connections")
	}
	for n := range 5 {
		done := make(answer, 1)
		go func() {
			_, err := writer.ExecContext(ctx, "FLUSH BINARY LOGS")
			if err == nil {
				_, err = writer.ExecContext(ctx, fmt.Sprintf("INSERT INTO ack (writer, n) VALUES (98, %d)", n))
			}
			done <- err
		}()
		done.comes(t, "a commit in another file of the log, with all connections taken,")
	}
	for _, conn := range taken {
		conn.Close()
	}

	// Many files.
	for range fewer(200, 60) {
		if _, err := writer.ExecContext(ctx, "FLUSH BINARY LOGS"); err != nil {
			t.Fatal(err)
		}
	}
	d.send("DELETE FROM ack WHERE writer = 98").comes(t, "a commit after many files of the log")
	d.lose(t)
	d.open(t, d.ramaria("up", durableName))
	if err := d.check(ctx); err != nil {
		t.Error(err)
	}
}

// TestDurableShutdown: SHUTDOWN by SQL under load ends the server, and loses nothing.
func TestDurableShutdown(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	for range 2 {
		ended := d.load(t, ending{})
		var p pids
		if err := json.Unmarshal([]byte(d.ramaria("status", durableName, "--json")), &p); err != nil {
			t.Fatal(err)
		}
		handles, err := openProcesses(p.Supervisor, p.Server)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.db.Exec("SHUTDOWN"); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(ended(false), gone(handles), d.loseRAM()); err != nil {
			t.Fatal(err)
		}
		d.open(t, d.ramaria("up", durableName))
		if err := d.check(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestDurableStuckSession: a session that does not heed its end holds a shutdown up for a bounded time. The server is
// killed then, and nothing that was acknowledged is lost.
func TestDurableStuckSession(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	ended := d.load(t, ending{})
	// No server looks whether it is to end while it searches one string for another, which takes many minutes here.
	d.send("SELECT LOCATE(CONCAT(REPEAT('a', 200000), 'b'), REPEAT('a', 8000000))").waits(t, "the search")
	began := time.Now()
	d.ramaria("down", durableName)
	if err := ended(false); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < 10*time.Second || took > patience {
		t.Errorf("down took %s", took)
	}
	var said struct{ Reason string }
	if err := json.Unmarshal([]byte(d.ramaria("ls", "--json")), &[]any{&said}); err != nil || !strings.Contains(said.Reason, "a session did not end within") {
		t.Errorf("it is not said why the server was killed: %q, %v", said.Reason, err)
	}
	d.open(t, d.ramaria("up", durableName))
	if err := d.check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestDurableAtOnce: two commands that bring an instance back make one of it.
func TestDurableAtOnce(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	d.send("INSERT INTO ack (writer, n) VALUES (1, 1)").comes(t, "a commit")
	d.lose(t)
	var out [3]string
	var group sync.WaitGroup
	for n := range out {
		group.Go(func() {
			var err error
			var talk string
			if out[n], talk, err = d.try("up", durableName); err != nil {
				t.Errorf("up: %v: %s", err, talk)
			}
		})
	}
	group.Wait()
	if out[0] != out[1] || out[1] != out[2] {
		t.Errorf("three instances: %q", out)
	}
	d.open(t, out[0])
	d.reads(t, "SELECT n FROM ack", "1")
}

// originator says which server made an event.
var originator = regexp.MustCompile(`ORIGINATOR='[0-9]+'`)

// TestDurableEqualsTwin: an instance that was recovered has what an ordinary server on a disk has that took the
// same statements: one of everything, foreign keys that cascade included.
func TestDurableEqualsTwin(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	twin := newPlain(t, d.srv)
	changes := `SET sql_mode = '';
UPDATE zoo.animal SET weight = weight + 1, seen = '2021-01-01 00:00:00' WHERE id % 3 = 0;
DELETE FROM zoo.gate WHERE n % 2 = 1;
UPDATE zoo.keeper SET id = id + 1000 WHERE id NOT IN (SELECT boss FROM (SELECT boss FROM zoo.keeper WHERE boss IS NOT NULL) AS bosses) ORDER BY id DESC LIMIT 1;
DELETE FROM zoo.keeper ORDER BY id LIMIT 1;
DELETE FROM zoo.feeding ORDER BY day, animal LIMIT 100;
INSERT INTO annex.elsewhere SELECT * FROM annex.elsewhere LIMIT 0;
ALTER TABLE zoo.keeper ADD COLUMN extra INT DEFAULT 5, ADD KEY extra (extra);
CREATE TABLE zoo.copied AS SELECT id, name FROM zoo.animal;
DROP VIEW IF EXISTS zoo.poor;
`
	file, more := filepath.Join(t.TempDir(), "everything.sql"), filepath.Join(t.TempDir(), "changes.sql")
	if err := errors.Join(os.WriteFile(file, []byte(everything(d.srv)), 0o600), os.WriteFile(more, []byte(changes), 0o600)); err != nil {
		t.Fatal(err)
	}
	twin.load("zoo", file)
	twin.load("zoo", more)
	to := dbconn.Endpoint{Socket: d.made.Endpoint.Socket, Login: d.made.Supervisor}
	twin.loadInto(to, "zoo", file)
	twin.loadInto(to, "zoo", more)
	databases := []string{"zoo", "annex"}
	describe := func(db *sql.DB) description {
		all := describeAll(t, db, databases)
		const events = "information_schema.EVENTS"
		all[events] = originator.ReplaceAllString(all[events], "") // the server's number
		return all
	}
	want := describe(twin.db)
	if diff := cmp.Diff(want, describe(d.root)); diff != "" {
		t.Fatalf("other than the twin (-) before its RAM was lost (+):\n%s", diff)
	}
	for range 2 {
		d.lose(t)
		d.open(t, d.ramaria("up", durableName))
		if diff := cmp.Diff(want, describe(d.root)); diff != "" {
			t.Fatalf("other than the twin (-) when it was recovered (+):\n%s", diff)
		}
	}
	if err := d.whole(t.Context()); err != nil {
		t.Error(err)
	}
	t.Logf("equal: %d rows", rowsOf(want))
	exe(t, d.root, "DELETE FROM zoo.animal ORDER BY id DESC LIMIT 1")
	if cmp.Equal(want, describe(d.root)) {
		t.Error("a row was deleted, and the comparison says nothing")
	}
}
