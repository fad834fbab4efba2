package tests

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// writers is how many connections write when the server is killed.
	writers = 4
	// enough is how many commits must have been acknowledged before it is.
	enough = 300
)

// pids is what scripts need of `ramaria status --json`.
type pids struct {
	Supervisor int `json:"supervisor_pid"`
	Server     int `json:"server_pid"`
}

// cmdKill9 kills a process of an instance, and waits until both are gone: one
// must not live without the other.
//
//	kill9 main supervisor
func cmdKill9(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: kill9 INSTANCE supervisor|server")
	}
	p := pidsOf(ts, args[0])
	pid := p.Server
	if args[1] == "supervisor" {
		pid = p.Supervisor
	}
	kill9(ts, pid, p)
}

func pidsOf(ts *testscript.TestScript, name string) pids {
	var p pids
	ts.Check(ts.Exec("ramaria", "status", name, "--json"))
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &p))
	return p
}

func kill9(ts *testscript.TestScript, pid int, all pids) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var handles []*sys.Process
	for _, n := range []int{all.Supervisor, all.Server} {
		h, err := sys.OpenProcess(n)
		ts.Check(err)
		handles = append(handles, h)
	}
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
	for _, h := range handles {
		if err := h.WaitExit(ctx); err != nil {
			ts.Fatalf("an orphan: %v", err)
		}
		ts.Check(h.Close())
	}
}

// cmdCrash makes the table ack in an instance, has several connections insert into
// it, kills the server in the middle, and writes the numbers of the rows whose
// commit was acknowledged to a file:
//
//	crash main FILE
func cmdCrash(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: crash INSTANCE FILE")
	}
	p := pidsOf(ts, args[0])
	db := connect(ts, args[0])
	defer db.Close()
	_, err := db.Exec("CREATE TABLE ack (id INT PRIMARY KEY, pad CHAR(200) NOT NULL)")
	ts.Check(err)
	acks := make(chan int)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := w; ; i += writers {
				if _, err := db.Exec("INSERT INTO ack VALUES (?, 'x')", i); err != nil {
					return // the server is dead
				}
				acks <- i
			}
		})
	}
	go func() { group.Wait(); close(acks) }()
	var text strings.Builder
	count := 0
	deadline := time.After(patience)
	for open := true; open; {
		select {
		case i, ok := <-acks:
			if open = ok; !ok {
				break
			}
			fmt.Fprintln(&text, i)
			if count++; count == enough {
				go func() { _ = syscall.Kill(p.Server, syscall.SIGKILL) }()
			}
		case <-deadline:
			ts.Fatalf("%d commits in %s", count, patience)
		}
	}
	if count < enough {
		ts.Fatalf("only %d commits before the server died by itself", count)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text.String()), 0o600))
	for _, pid := range []int{p.Server, p.Supervisor} {
		for end := time.Now().Add(patience); sys.HasArg(pid, "supervise") || syscall.Kill(pid, 0) == nil; time.Sleep(untilPause) {
			if time.Now().After(end) {
				ts.Fatalf("process %d lives on", pid)
			}
		}
	}
}

// cmdAcknowledged compares the table ack with the numbers that cmdCrash wrote: no
// row may be missing.
//
//	acknowledged main FILE
func cmdAcknowledged(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: acknowledged INSTANCE FILE")
	}
	db := connect(ts, args[0])
	defer db.Close()
	rows, err := db.Query("SELECT id FROM ack")
	ts.Check(err)
	defer rows.Close()
	there := map[string]bool{}
	for rows.Next() {
		var id string
		ts.Check(rows.Scan(&id))
		there[id] = true
	}
	ts.Check(rows.Err())
	var missing []string
	for _, id := range strings.Fields(ts.ReadFile(args[1])) {
		if !there[id] {
			missing = append(missing, id)
		}
	}
	if neg == (len(missing) == 0) {
		ts.Fatalf("acknowledged rows that are missing: %d %v", len(missing), missing)
	}
}

// connect opens an instance over TCP, by the DSN that `up` prints.
func connect(ts *testscript.TestScript, name string) *sql.DB {
	ts.Check(ts.Exec("ramaria", "up", name))
	db, err := openURL(strings.TrimSpace(ts.ReadFile("stdout")))
	ts.Check(err)
	return db
}
