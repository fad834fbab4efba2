package tests

import (
	"bytes"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// handOverTarget is a plain server that follows an instance by what a hand-over wrote.
type handOverTarget struct {
	*plainServer

	h            *testHome
	dir, address string
}

// handOver hands an instance over, and starts a server of the target's settings, which has loaded nothing yet.
func (h *testHome) handOver(name string) *handOverTarget {
	h.t.Helper()
	p := &handOverTarget{h: h, dir: filepath.Join(h.t.TempDir(), "out"), address: "127.0.0.1:" + freePort(h.t)}
	h.ramaria("hand-over", name, "--to", "mysql", "--host", "127.0.0.1", "--out", p.dir)
	text, err := os.ReadFile(filepath.Join(p.dir, "target.cnf"))
	if err != nil {
		h.t.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(text)), "\n"), func(line string) bool { return strings.HasPrefix(line, "[") })
	_, port, _ := strings.Cut(p.address, ":")
	// With two disks at work for each commit, and one for none of those of the instance, it would stay behind on a busy machine.
	lines = append(lines, "sync_binlog = 0", "innodb_flush_log_at_trx_commit = 2")
	p.plainServer = newPlain(h.t, h.srv, append(lines, "skip_networking = OFF", "bind_address = 127.0.0.1", "port = "+port)...)
	exe(h.t, p.db, "CREATE USER boss@'%' IDENTIFIED BY "+dbconn.Quote(boss.Password))
	exe(h.t, p.db, "GRANT ALL ON *.* TO boss@'%' WITH GRANT OPTION")
	config := boss.ClientConfig() + "socket = " + p.socket() + "\nprotocol = socket\n"
	if err := os.WriteFile(p.admin(), []byte(config), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return p
}

func (p *handOverTarget) admin() string { return filepath.Join(p.dir, "admin.cnf") }

// shellBlock is a block of commands in a page.
var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// asThePageSays types what README.md has.
func (p *handOverTarget) asThePageSays() {
	t := p.h.t
	t.Helper()
	page, err := os.ReadFile(filepath.Join(p.dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := shellBlock.FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 2 {
		t.Fatalf("the page has %d blocks of commands, want 2", len(blocks))
	}
	bin := t.TempDir()
	client := filepath.Join(bin, p.srv.Family().Clients[0])
	if err := os.WriteFile(client, []byte("#!/bin/sh\nexec "+p.srv.Client.Shell()+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, block := range blocks {
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", block[1])
		cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("ERROR")) {
			t.Fatalf("%s: %v: %s", block[1], err, out)
		}
	}
}

// cutOver is the command, as README.md has it.
func (p *handOverTarget) cutOver(name string) []string {
	p.h.t.Helper()
	page, err := os.ReadFile(filepath.Join(p.dir, "README.md"))
	if err != nil {
		p.h.t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^    ramaria (hand-over ` + name + ` --cut-over .*)$`).FindSubmatch(page)
	if line == nil {
		p.h.t.Fatalf("it does not say how to cut over: %s", page)
	}
	args := strings.Fields(string(line[1]))
	for i, a := range args {
		switch a {
		case "HOST:PORT":
			args[i] = p.address
		case "admin.cnf":
			args[i] = p.admin()
		}
	}
	return args
}

// follows waits until it does.
func (p *handOverTarget) follows(name string) {
	p.h.t.Helper()
	p.h.until("the target is connected", func() bool { return p.h.says(name, `"target": "connected, and`) })
}

// readOnly reports whether a server is.
func readOnly(t *testing.T, db *sql.DB) (on bool) {
	t.Helper()
	if err := db.QueryRow("SELECT @@GLOBAL.read_only").Scan(&on); err != nil {
		t.Fatal(err)
	}
	return on
}

// socketOf is that of an instance.
func (h *testHome) socketOf(name string) string {
	h.t.Helper()
	return regexp.MustCompile(`"socket": "([^"]+)"`).FindStringSubmatch(h.ramaria("status", name, "--json"))[1]
}

// TestHandOver: a plain server is loaded by what README.md says while the instance is written to, follows it, and takes its
// place within 5 s with the writers at work: it has all that was acknowledged, and the instance takes nothing more.
func TestHandOver(t *testing.T) { // alone, as is the next: the cut-over has some seconds
	h := newTestHome(t)
	db := openDSN(t, h.ramaria("up", "a", "--volume", "disk", "--database", "app", "--server", h.daemon()))
	h.exec(db, dialect(h.srv, rewindData...)...)
	h.exec(db, "CREATE USER super@localhost IDENTIFIED BY 'aB1_x'", "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON *.* TO super@localhost",
		"CREATE EVENT app.before ON SCHEDULE EVERY 1 HOUR STARTS CURRENT_TIMESTAMP + INTERVAL 1 DAY DO DELETE FROM app.ack WHERE w < 0")
	if h.srv.Flavour == "mariadb" {
		h.exec(db, "GRANT READ ONLY ADMIN ON *.* TO super@localhost")
	}
	writes := openDSN(t, h.ramaria("up", "a"))
	writes.SetMaxOpenConns(1)
	l := h.beginSlowLoad(writes, 10*time.Millisecond) // the target syncs each of them
	h.until("some commits", func() bool { return l.sum() > 100 })
	p := h.handOver("a")
	if _, talk, err := h.try("hand-over", "a", "--to", "mysql", "--host", "127.0.0.1", "--out", filepath.Join(t.TempDir(), "x")); err == nil || !strings.Contains(talk, "a hand-over is under way") {
		t.Errorf("a second hand-over: %v: %s", err, talk)
	}
	// Nothing of this follows an instance yet.
	if _, talk, err := h.try(p.cutOver("a")...); err == nil || !strings.Contains(talk, "the target does not follow this instance") {
		t.Errorf("cut over to one that does not follow: %v: %s", err, talk)
	}
	p.asThePageSays()
	p.follows("a")
	far, err := dbconn.Open(p.socket(), p.login, "app")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	h.until("the target has commits", func() bool {
		var n int64
		return far.QueryRow("SELECT SUM(n) FROM ack").Scan(&n) == nil && n > 100
	})
	h.exec(db, "CREATE EVENT app.later ON SCHEDULE EVERY 1 HOUR STARTS CURRENT_TIMESTAMP + INTERVAL 1 DAY DO DELETE FROM app.ack WHERE w < 0")
	odd, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"SET SESSION sql_mode = '', time_zone = '+05:00', character_set_client = latin1, collation_connection = latin1_german2_ci",
		"CREATE EVENT app.`\xfcber` ON SCHEDULE EVERY 1 HOUR STARTS CURRENT_TIMESTAMP + INTERVAL 1 DAY DO DELETE FROM app.ack WHERE w < 0",
		"SET SESSION sql_mode = DEFAULT, time_zone = DEFAULT, character_set_client = utf8mb4, collation_connection = DEFAULT",
	} {
		if _, err := odd.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	if err := odd.Close(); err != nil {
		t.Fatal(err)
	}

	// The control: a target that is left behind lacks what was acknowledged, and is not cut over to.
	exe(t, far, "STOP "+p.srv.Dialect().Applier.Replica)
	before := l.sum()
	h.until("commits that the target lacks", func() bool { return l.sum() > before+50 })
	if lacks(t, far, l.acknowledged()) == 0 {
		t.Error("the control lacks nothing")
	}
	if _, talk, err := h.try(p.cutOver("a")...); err == nil || !strings.Contains(talk, "the target has stopped to follow") {
		t.Errorf("cut over to one that has stopped: %v: %s", err, talk)
	}
	h.until("the target is seen to be away", func() bool { return h.says("a", `"target": "not connected"`) })
	exe(t, far, "START "+p.srv.Dialect().Applier.Replica)
	p.follows("a")

	var talk string
	h.until("the cut-over", func() bool { // after it has caught up; on a busy machine it does while an attempt holds writes
		_, talk, err = h.try(p.cutOver("a")...)
		return err == nil || !strings.Contains(talk, "s behind") && !strings.Contains(talk, "has not applied all in time")
	})
	if err != nil {
		t.Fatalf("cut over: %v: %s", err, talk)
	}
	m := regexp.MustCompile(`nothing could be written for (\d+) ms`).FindStringSubmatch(talk)
	if m == nil {
		t.Fatalf("no pause in %s", talk)
	}
	if pause, _ := strconv.Atoi(m[1]); pause > 5000 {
		t.Errorf("nothing could be written for %d ms", pause)
	}
	t.Logf("nothing could be written for %s ms, with writers", m[1])
	after := l.sum()
	time.Sleep(200 * time.Millisecond)
	l.end()
	if n := l.sum() - after; n > 0 {
		t.Errorf("the instance took %d commits after the cut-over", n)
	}
	if n := lacks(t, far, l.acknowledged()); n > 0 {
		t.Errorf("%d writers lack a commit that was acknowledged", n)
	}
	if diff := cmp.Diff(p.rowsOf(db), p.rowsOf(far)); diff != "" {
		t.Errorf("-instance +target:\n%s", diff)
	}
	if readOnly(t, far) {
		t.Error("the target is read-only")
	}
	exe(t, far, "INSERT INTO app.ack VALUES (1000, 1)")
	const events = "SELECT CONCAT_WS(' ', EVENT_NAME, STATUS, SQL_MODE, TIME_ZONE, CHARACTER_SET_CLIENT, COLLATION_CONNECTION, DATABASE_COLLATION, DEFINER) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = 'app' ORDER BY 1"
	want, err := column(t.Context(), db, events)
	if err != nil || len(want) != 3 { // before, later, and one of another character set
		t.Fatalf("events at the instance: %v (%v)", want, err)
	}
	names, err := column(t.Context(), far, events)
	if diff := cmp.Diff(want, names); err != nil || diff != "" {
		t.Errorf("events (-instance +target): %v\n%s", err, diff)
	}
	if state, err := p.srv.Dialect().ReplicaState(t.Context(), far); err != nil || state.User != "" {
		t.Errorf("the target follows on: %v (%v)", state, err)
	}

	// Nobody writes to the instance, after a restart either.
	for _, when := range []string{"after the cut-over", "after a restart"} {
		super, err := dbconn.Open(h.socketOf("a"), dbconn.Login{User: "super", Password: "aB1_x"}, "app")
		if err != nil {
			t.Fatal(err)
		}
		for who, db := range map[string]*sql.DB{"the application": db, "an account with privileges": super} {
			if _, err := db.Exec("INSERT INTO app.ack VALUES (2000, 1)"); err == nil || !strings.Contains(err.Error(), "read") {
				t.Errorf("%s writes %s: %v", who, when, err)
			}
		}
		super.Close()
		h.ramaria("down", "a")
		db = openDSN(t, h.ramaria("up", "a"))
	}
	if !h.says("a", `"handed_over_to": "`+p.address+`"`) {
		t.Error("status does not say where it is")
	}
	if _, talk, err := h.try("up", "a", "--fresh"); err == nil || !strings.Contains(talk, "it was handed over to "+p.address) {
		t.Errorf("up --fresh: %v: %s", err, talk)
	}
	if _, talk, err := h.try("hand-over", "a", "--end"); err == nil || !strings.Contains(talk, "--end --writable") {
		t.Errorf("--end: %v: %s", err, talk)
	}
	h.ramaria("hand-over", "a", "--end", "--writable")
	h.exec(db, "INSERT INTO app.ack VALUES (2000, 1)")
	if names, err := column(t.Context(), db, "SELECT User FROM mysql.user WHERE User LIKE 'ramaria\\_handover%'"); err != nil || len(names) > 0 {
		t.Errorf("accounts stay: %v (%v)", names, err)
	}
}

// rowsOf is what a server has in the tables of the test.
func (p *handOverTarget) rowsOf(db *sql.DB) (rows []string) {
	p.h.t.Helper()
	for _, query := range []string{"SELECT CONCAT(COUNT(*), ' ', SUM(n)) FROM app.half", "SELECT CONCAT(w, ' ', n) FROM app.ack ORDER BY w", "SELECT CONCAT(id, ' ', name) FROM shop.customer ORDER BY id"} {
		got, err := column(p.h.t.Context(), db, query)
		if err != nil {
			p.h.t.Fatal(err)
		}
		rows = append(rows, got...)
	}
	return rows
}

// TestHandOverPutBack: a cut-over that takes too long, is interrupted or killed leaves the instance written to as before, and
// the target following.
func TestHandOverPutBack(t *testing.T) {
	h := newTestHome(t)
	db := openDSN(t, h.ramaria("up", "a", "--volume", "shm", "--database", "app", "--durable", "--server", h.daemon()))
	h.exec(db, "CREATE TABLE t (a INT PRIMARY KEY)")
	p := h.handOver("a")
	p.asThePageSays()
	p.follows("a")
	far, err := p.db.Conn(t.Context()) // one session, for its locks
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	late, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	on := func(conn *sql.Conn, statement string) {
		t.Helper()
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	n := 0
	for _, c := range []struct{ name, says string }{{"time-out", "the target has not applied all in time"}, {"interrupt", "the instance is written to as before"}, {"kill", ""}} {
		on(far, "LOCK TABLES app.t READ")
		on(late, "LOCK TABLES t WRITE")
		cmd := h.command(p.cutOver("a")...)
		var talk bytes.Buffer
		cmd.Stderr = &talk
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		h.until(c.name+": it is becoming read-only", func() bool {
			if len(ended) > 0 {
				t.Fatalf("%s: %v: %s", c.name, <-ended, talk.String())
			}
			got, err := column(t.Context(), db, "SELECT COUNT(*) FROM information_schema.processlist WHERE INFO LIKE 'SET GLOBAL%read_only%'")
			return err == nil && got[0] == "1"
		})
		n++
		on(late, "INSERT INTO t VALUES ("+strconv.Itoa(n)+")") // which the target cannot apply
		on(late, "UNLOCK TABLES")
		h.until(c.name+": the instance is read-only", func() bool { return readOnly(t, db) })
		switch c.name {
		case "interrupt":
			err = cmd.Process.Signal(syscall.SIGINT)
		case "kill":
			err = cmd.Process.Kill()
		}
		if werr := <-ended; err != nil || werr == nil || !strings.Contains(talk.String(), c.says) {
			t.Errorf("%s: %v, %v: %s", c.name, err, werr, talk.String())
		}
		if c.name == "kill" { // its supervisor puts back
			h.until("the instance is written to", func() bool { return !readOnly(t, db) })
		}
		n++
		h.exec(db, "INSERT INTO t VALUES ("+strconv.Itoa(n)+")")
		on(far, "UNLOCK TABLES")
		h.until(c.name+": the target has all", func() bool {
			got, err := column(t.Context(), p.db, "SELECT COUNT(*) FROM app.t")
			return err == nil && got[0] == strconv.Itoa(n)
		})
	}
	// One that applies nothing is refused before anybody waits for it.
	on(far, "LOCK TABLES app.t READ")
	n++
	h.exec(db, "INSERT INTO t VALUES ("+strconv.Itoa(n)+")")
	if _, talk, err := h.try(p.cutOver("a")...); err == nil || !strings.Contains(talk, "and has applied nothing for") || !strings.Contains(talk, "hint: ramaria hand-over a --cut-over "+p.address+" --login ") {
		t.Errorf("a target that is stuck: %v: %s", err, talk)
	}
	if readOnly(t, db) {
		t.Error("the instance is read-only")
	}
	on(far, "UNLOCK TABLES")
	h.ramaria(p.cutOver("a")...)
	if _, err := db.Exec("INSERT INTO t VALUES (100)"); err == nil {
		t.Error("the instance is written to after all")
	}
}
