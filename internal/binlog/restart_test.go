package binlog

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestFollowServer follows a real server's log over a rotation, a kill and a restart,
// until the logs are reset.
func TestFollowServer(t *testing.T) { servertest.Each(t, testFollowServer) }

func testFollowServer(t *testing.T, want string) {
	r := startReal(t, want)
	data := r.value("SELECT @@datadir")
	pidFile := r.value("SELECT @@pid_file")
	r.exec("CREATE TABLE t (a INT)")
	tail := openTail(t, r.dir, r.pos())
	rows := func(n int) {
		t.Helper()
		got, err := drain(tail)
		if err != nil {
			t.Fatal(err)
		}
		if s := strings.Join(got, " "); strings.Count(s, "WRITE_ROWS") != n {
			t.Fatalf("not %d rows events: %s", n, s)
		}
		r.atEnd(tail)
	}
	r.exec("INSERT INTO t VALUES (1)")
	rows(1)
	r.exec("INSERT INTO t VALUES (1)", "FLUSH BINARY LOGS", "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1)")
	rows(3)
	r.exec("INSERT INTO t VALUES (1)", "FLUSH BINARY LOGS", "FLUSH BINARY LOGS")
	rows(1)
	rows(0)
	r.exec("INSERT INTO t VALUES (1)")

	restart(t, r, filepath.Dir(filepath.Clean(data)), pidFile)
	r.exec("INSERT INTO d.t VALUES (2)")
	got, err := drain(tail)
	if s := strings.Join(got, " "); err != nil || strings.Count(s, "WRITE_ROWS") != 2 || strings.Count(s, "FORMAT_DESCRIPTION restarted") != 1 {
		t.Errorf("after a kill: %s, %v", s, err)
	}
	r.atEnd(tail)

	if r.flavour == MySQL {
		r.exec("RESET BINARY LOGS AND GTIDS")
	} else {
		r.exec("RESET MASTER")
	}
	r.exec("INSERT INTO d.t VALUES (3)")
	var gone *GoneError
	if got, err := drain(tail); !errors.As(err, &gone) {
		t.Errorf("after a reset: %v, %v", got, err)
	}
}

// restart kills the server and starts it again.
func restart(t *testing.T, r *live, dir, pidFile string) {
	t.Helper()
	b, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid < 2 {
		t.Fatalf("process %q: %v", b, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(40 * time.Second); syscall.Kill(pid, 0) == nil && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	var account server.Account
	if os.Geteuid() == 0 {
		account.UID, account.GID = host.ReservedID, host.ReservedID
	}
	log, err := os.Create(filepath.Join(dir, "again.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	proc, err := r.Start(filepath.Join(dir, "my.cnf"), r.Config, account, dir, log, server.Unsynced)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proc.Kill() })
	if r.db, err = dbconn.Open(r.Endpoint.Socket, r.Endpoint.Login, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.db.Close() })
	if err := proc.Ready(t.Context(), r.db, r.Endpoint.Socket, log.Name()); err != nil {
		t.Fatal(err)
	}
	r.conn = r.session()
}
