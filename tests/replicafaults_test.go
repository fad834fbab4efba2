package tests

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// place is where status says that an instance is.
type place struct {
	Dir, Socket string
	Port        int
}

func (h *testHome) place(name string) (at place) {
	h.t.Helper()
	if err := json.Unmarshal([]byte(h.ramaria("status", name, "--json")), &at); err != nil {
		h.t.Fatal(err)
	}
	return at
}

// admin is one connection of the supervisor's account, which may do everything.
func (h *testHome) admin(name string) *sql.DB {
	h.t.Helper()
	at := h.place(name)
	var made instance.Made
	if err := instance.ReadJSON(filepath.Join(at.Dir, "instance.json"), &made); err != nil {
		h.t.Fatal(err)
	}
	db, err := dbconn.Open(at.Socket, made.Supervisor, "")
	if err != nil {
		h.t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	h.t.Cleanup(func() { db.Close() })
	return db
}

// replicating is a statement about replication in the words of the server, which are those of MariaDB.
func (h *testHome) replicating(text string) string {
	if h.srv.Flavour == server.MariaDB {
		return text
	}
	return strings.NewReplacer("SLAVE", "REPLICA", "semi_sync_slave", "semi_sync_replica").Replace(text)
}

// lockTable keeps the appliers of an instance from the table t, until unlock is called.
func (h *testHome) lockTable(name string) (unlock func()) {
	h.t.Helper()
	db := h.admin(name)
	exe(h.t, db, "LOCK TABLES shop.t READ")
	return func() { db.Close() }
}

// number is the only answer to a query.
func number(t *testing.T, db *sql.DB, query string) (n int64) {
	t.Helper()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// has waits until a replica has so many rows in t.
func (h *testHome) has(db *sql.DB, rows int64) {
	h.t.Helper()
	h.until(fmt.Sprintf("the replica has %d rows", rows), func() bool {
		var n int64
		return db.QueryRow("SELECT COUNT(*) FROM shop.t").Scan(&n) == nil && n == rows
	})
}

// insert commits rows of t, one by one.
func insert(t *testing.T, db *sql.DB, from, to int) {
	t.Helper()
	for a := from; a <= to; a++ {
		exe(t, db, fmt.Sprintf("INSERT INTO shop.t (a, b) VALUES (%d, REPEAT('x', 20000))", a))
	}
}

// TestReplicaFaults: a replica goes on while it or its source moves, when its record is damaged, when its source comes back at
// another port and it has not applied all, and when a session keeps its appliers from a table: it receives no more then than it
// keeps, and says so. It is promoted when its source is dead and its applier stopped.
func TestReplicaFaults(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	queue := "slave_parallel_max_queued=16384" // what appliers hold themselves comes on top
	if h.srv.Flavour == server.MySQL {
		queue = "replica_pending_jobs_size_max=64K"
	}
	source := openDSN(t, h.ramaria("up", "a", "--database", "shop", "--volume", "shm", "--server", h.daemon(), "--set", "relay_log_space_limit=2M", "--set", queue))
	h.exec(source, "CREATE TABLE t (a INT PRIMARY KEY, b LONGTEXT) ENGINE=InnoDB")
	replica := openDSN(t, h.ramaria("replica", "add", "a", "b"))

	// Either moves while the source is written to.
	l := h.beginMoveLoad(source)
	h.until("commits", func() bool { return l.sum() > 50 })
	h.ramaria("move", "b", "--volume", "disk")
	h.ramaria("move", "a", "--volume", "disk")
	before := l.sum()
	h.until("commits", func() bool { return l.sum() > before+50 })
	l.end()
	h.until("the replica has it all", func() bool { return lacks(t, replica, l.acknowledged()) == 0 })
	for _, query := range []string{"SELECT COUNT(*) FROM shop.half", "SELECT SUM(n) FROM shop.half"} {
		if is, want := number(t, replica, query), number(t, source, query); is != want {
			t.Errorf("%s: %d at the replica, %d at the source", query, is, want)
		}
	}

	// Its record is damaged while it is away: its account and its log are kept.
	h.ramaria("down", "b")
	insert(t, source, 1, 3)
	record := filepath.Join(h.places.State, "instances", "b.json")
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(record, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		exe(t, source, "FLUSH BINARY LOGS")
		time.Sleep(1100 * time.Millisecond) // a look of the supervisor's, and one at accounts
	}
	if _, talk, err := h.try("replica", "add", "a", "b"); err == nil || !strings.Contains(talk, "taken") {
		t.Errorf("another of the name of a damaged record: %v: %s", err, talk)
	}
	if n := number(t, source, "SELECT COUNT(*) FROM mysql.user WHERE User LIKE 'ramaria\\_replica%'"); n != 1 {
		t.Errorf("%d accounts of replicas, want that of the damaged record", n)
	}
	if err := os.WriteFile(record, text, 0o600); err != nil {
		t.Fatal(err)
	}
	replica = h.openInstance("b")
	h.has(replica, 3)

	// The source comes back at another port while the replica has something to apply.
	unlock := h.lockTable("b")
	insert(t, source, 4, 9)
	port := h.place("a").Port
	h.ramaria("down", "a")
	taken, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	source = h.openInstance("a")
	taken.Close()
	if h.place("a").Port == port {
		t.Error("the source has the same port")
	}
	insert(t, source, 10, 12)
	time.Sleep(2 * time.Second) // looks of the supervisor's
	if h.says("b", `"state": "stopped"`) {
		t.Error("the replica has stopped, it says, and looks for its source at another port")
	}
	unlock()
	h.has(replica, 12)

	// Its appliers wait for a lock: it says that it is full, and a move does not wait for that.
	unlock = h.lockTable("b")
	insert(t, source, 13, 400)
	h.until("the replica is full", func() bool { return h.says("b", "it has received as much as it keeps, and applies none of it") })
	h.until("it is behind by the time that its appliers wait", func() bool { return h.lag("b") >= 3 })
	if h.srv.Flavour == server.MariaDB { // MySQL's shutdown waits for the appliers, until it is killed
		began := time.Now()
		h.ramaria("move", "b", "--volume", "shm")
		if took := time.Since(began); took > patience {
			t.Errorf("the move took %s", took)
		}
	}
	unlock()
	h.has(replica, 400)
	h.until("it follows", func() bool { return h.says("b", `"state": "following"`) && !h.says("b", "as much as it keeps") })

	// MySQL keeps no password where SQL reads it, and is started without one by hand.
	if h.srv.Flavour == server.MySQL {
		if n := number(t, h.openInstance("b"), "SELECT COUNT(*) FROM mysql.slave_master_info WHERE User_password <> ''"); n != 0 {
			t.Error("the application reads the password")
		}
		exe(t, h.admin("b"), "STOP REPLICA")
		exe(t, h.admin("b"), "START REPLICA USER='nobody' PASSWORD=''")
		exe(t, source, "INSERT INTO shop.t VALUES (401, '')")
		h.has(replica, 401)
	} else {
		exe(t, source, "INSERT INTO shop.t VALUES (401, '')")
	}

	// The source dies; the applier is stopped while it has something to apply.
	h.has(replica, 401)
	admin := h.admin("b")
	h.makeRoom(admin, source)
	unlock = h.lockTable("b")
	insert(t, source, 402, 440)
	h.until("the replica has received it", func() bool { return h.received(admin, source) })
	h.kill("a", func(p pids) int { return p.Supervisor })
	stopped, promoted := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := admin.Exec(h.replicating("STOP SLAVE SQL_THREAD"))
		stopped <- err
	}()
	time.Sleep(200 * time.Millisecond)
	go func() {
		_, talk, err := h.try("replica", "promote", "b")
		if err != nil {
			err = fmt.Errorf("%w: %s", err, talk)
		}
		promoted <- err
	}()
	time.Sleep(500 * time.Millisecond)
	began := time.Now()
	h.ramaria("mark", "b", "meanwhile")
	if took := time.Since(began); took > patience {
		t.Errorf("something else took %s beside a promotion that waits for a lock", took)
	}
	unlock()
	if err := errors.Join(<-stopped, <-promoted); err != nil {
		t.Fatal(err)
	}
	if n := number(t, replica, "SELECT COUNT(*) FROM shop.t"); n != 440 {
		t.Errorf("the promoted replica has %d rows, want 440", n)
	}
	exe(t, replica, "INSERT INTO shop.t VALUES (441, '')")
}

// lag is by how many seconds a replica says that it is behind; -1 for not known.
func (h *testHome) lag(name string) float64 {
	h.t.Helper()
	is := struct {
		Replica struct {
			LagSeconds *float64 `json:"lag_seconds"`
		}
	}{}
	if err := json.Unmarshal([]byte(h.ramaria("status", name, "--json")), &is); err != nil {
		h.t.Fatal(err)
	}
	if is.Replica.LagSeconds == nil {
		return -1
	}
	return *is.Replica.LagSeconds
}

// makeRoom waits until a replica has removed what it has applied of its relay log, which counts against the limit
// otherwise. A server does that when it applies what comes behind the end of a file.
func (h *testHome) makeRoom(replica, source *sql.DB) {
	h.t.Helper()
	var dir string
	if err := replica.QueryRow("SELECT @@datadir").Scan(&dir); err != nil {
		h.t.Fatal(err)
	}
	exe(h.t, source, "CREATE TABLE shop.room (a INT PRIMARY KEY)")
	h.until("the relay log is small", func() bool {
		exe(h.t, replica, "FLUSH RELAY LOGS")
		exe(h.t, source, "ALTER TABLE shop.room COMMENT ''")
		time.Sleep(100 * time.Millisecond)
		files, err := filepath.Glob(filepath.Join(dir, "ramaria-relay.0*"))
		if err != nil {
			h.t.Fatal(err)
		}
		size := int64(0)
		for _, file := range files {
			if info, err := os.Stat(file); err == nil { // it may be removed meanwhile
				size += info.Size()
			}
		}
		return size < 256<<10
	})
}

// received reports whether a replica has received all of its source's log.
func (h *testHome) received(replica, source *sql.DB) bool {
	h.t.Helper()
	d := h.srv.Dialect()
	is, err := d.ReplicaState(h.t.Context(), replica)
	if err != nil {
		h.t.Fatal(err)
	}
	at, err := d.LogEnd(h.t.Context(), source)
	if err != nil {
		h.t.Fatal(err)
	}
	return is.ReadFile == at.File && is.ReadPos >= at.Pos
}

// TestLostAcknowledgement: a commit goes on that the replica has, and whose acknowledgement was lost with its connection.
func TestLostAcknowledgement(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	source := openDSN(t, h.ramaria("up", "a", "--database", "shop", "--volume", "shm", "--server", h.daemon()))
	h.exec(source, "CREATE TABLE t (a INT PRIMARY KEY, b LONGTEXT) ENGINE=InnoDB")
	h.ramaria("replica", "add", "a", "b", "--sync")
	exe(t, source, "INSERT INTO shop.t VALUES (1, '')")
	replica, admin := h.openInstance("b"), h.admin("b")
	acknowledge := func(how string) {
		t.Helper()
		for _, statement := range []string{"STOP SLAVE IO_THREAD", "SET GLOBAL rpl_semi_sync_slave_enabled = " + how, "START SLAVE IO_THREAD"} {
			exe(t, admin, h.replicating(statement))
		}
	}
	rows := 1
	h.until("a commit waits that the replica has", func() bool { // its supervisor may have it acknowledge again before
		acknowledge("OFF")
		rows++
		committed := make(chan error, 1)
		go func(n int) {
			_, err := source.Exec("INSERT INTO shop.t VALUES (?, '')", n)
			committed <- err
		}(rows)
		h.has(replica, int64(rows))
		select {
		case err := <-committed:
			if err != nil {
				t.Fatal(err)
			}
			return false
		case <-time.After(time.Second):
		}
		acknowledge("ON")
		select {
		case err := <-committed:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(patience):
			t.Fatal("it waits for ever: ", h.ramaria("status", "a"))
		}
		return true
	})
	exe(t, source, "INSERT INTO shop.t VALUES (1000, '')")
	if h.says("a", "another semi-synchronous replica") {
		t.Error("it warns of itself")
	}
}

// TestSyncForeign: what another semi-synchronous replica acknowledges is warned of, and another that is to be waited for
// refused. One that does not come to acknowledge anything leaves nothing.
func TestSyncForeign(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	source := openDSN(t, h.ramaria("up", "a", "--database", "shop", "--volume", "shm", "--server", h.daemon()))
	h.exec(source, "CREATE TABLE t (a INT PRIMARY KEY, b LONGTEXT) ENGINE=InnoDB")
	h.ramaria("replica", "add", "a", "c")
	h.ramaria("replica", "add", "a", "b", "--sync")
	exe(t, source, "INSERT INTO shop.t VALUES (1, '')")
	if h.says("a", "another semi-synchronous replica") {
		t.Error("it takes one that does not acknowledge for one that does")
	}
	admin := h.admin("c")
	if h.srv.Flavour == server.MySQL {
		exe(t, admin, "SET GLOBAL super_read_only = OFF")
		exe(t, admin, "INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'")
	}
	exe(t, admin, h.replicating("SET GLOBAL rpl_semi_sync_slave_enabled = ON"))
	exe(t, admin, h.replicating("STOP SLAVE IO_THREAD"))
	h.until("a warning", func() bool {
		return h.says("a", "another semi-synchronous replica acknowledges commits, so that some are answered before replica b has them")
	})
	h.ramaria("replica", "rm", "b")
	h.until("commits wait for none", func() bool { return !h.says("a", "another semi-synchronous replica") })
	h.until("c acknowledges", func() bool { // it connects again now and then where the machine is busy
		return strings.Contains(allOf(t, source, "SHOW GLOBAL STATUS LIKE 'Rpl\\_semi\\_sync\\_%\\_clients'"), "{1 true}")
	})
	_, talk, err := h.try("replica", "add", "a", "b", "--sync")
	if err == nil || !strings.Contains(talk, "make a replica of instance a with --sync: another semi-synchronous replica acknowledges commits, so that some are answered before the replica has them\nhint: rpl_semi_sync_slave_enabled=0") {
		t.Errorf("another that acknowledges: %v: %s", err, talk)
	}
	h.ramaria("replica", "rm", "c")

	// It is not let in at the source, so that it does not come to acknowledge anything.
	admin = h.admin("a")
	exe(t, admin, "SET GLOBAL init_connect = 'no statement'")
	cmd := h.command("replica", "add", "a", "d", "--sync")
	var says bytes.Buffer
	cmd.Stderr = &says
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.until("its server answers", func() bool { _, _, err := h.try("sql", "d", "-e", "SELECT 1"); return err == nil })
	time.Sleep(time.Second)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it was added, and cannot log in")
	}
	exe(t, admin, "SET GLOBAL init_connect = ''")
	h.until("nothing of it is left", func() bool { return !strings.Contains(h.ramaria("ls"), "\nd ") })
	if h.says("a", `"waits_for": "d"`) {
		t.Error("commits wait for what is not there")
	}
	exe(t, source, "INSERT INTO shop.t VALUES (2, '')")
}
