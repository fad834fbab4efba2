package tests

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// family is how many branches of one parent run at once.
const family, smallFamily = 8, 4

// upSmall starts an instance with a small buffer pool and a row.
func (h *testHome) upSmall(name, volume string) *sql.DB {
	h.t.Helper()
	db := openDSN(h.t, h.ramaria("up", name, "--server", h.daemon(), "--volume", volume, "--set", killPool))
	h.exec(db, "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)")
	return db
}

func (h *testHome) exec(db *sql.DB, statements ...string) {
	h.t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			h.t.Fatalf("%s: %v", s, err)
		}
	}
}

// rows compares the numbers in the table t.
func (h *testHome) rows(what string, db *sql.DB, want string) {
	h.t.Helper()
	got, err := column(h.t.Context(), db, "SELECT a FROM t ORDER BY a")
	if err != nil || strings.Join(got, " ") != want {
		h.t.Errorf("%s has the rows %v, want %s (%v)", what, got, want, err)
	}
}

// pids are the processes of an instance.
func (h *testHome) pids(name string) (p pids) {
	h.t.Helper()
	if err := json.Unmarshal([]byte(h.ramaria("status", name, "--json")), &p); err != nil {
		h.t.Fatal(err)
	}
	return p
}

// until waits for a condition.
func (h *testHome) until(what string, ok func() bool) {
	h.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("still not after %s: %s", patience, what)
		}
	}
}

// TestBranchFamily makes branches of branches, branches that outlive their parents, and
// many of one parent.
func TestBranchFamily(t *testing.T) {
	t.Parallel()
	onVolumes(t, func(t *testing.T, volume string) {
		h := newTestHome(t)
		parent := h.upSmall("parent", volume)
		dbs := map[string]*sql.DB{"parent": parent}
		open := func(from, name string) {
			dsn, _ := h.branch(from, name)
			dbs[name] = openDSN(t, dsn)
		}
		open("parent", "child")
		h.exec(dbs["child"], "INSERT INTO t VALUES (2)")
		h.exec(parent, "INSERT INTO t VALUES (3)")
		open("child", "grandchild")
		h.exec(dbs["grandchild"], "INSERT INTO t VALUES (4)")
		ids := map[string]string{}
		for name, want := range map[string]string{"parent": "1 3", "child": "1 2", "grandchild": "1 2 4"} {
			h.rows(name, dbs[name], want)
			id, err := column(t.Context(), dbs[name], "SELECT @@server_id")
			if err != nil || len(id) != 1 || ids[id[0]] != "" {
				t.Errorf("%s has the server id %v, as %s has (%v)", name, id, ids[id[0]], err)
				continue
			}
			ids[id[0]] = name
		}
		h.ramaria("down", "parent", "--rm")
		h.ramaria("down", "child", "--rm")
		h.exec(dbs["grandchild"], "INSERT INTO t VALUES (5)", "CREATE TABLE more AS SELECT seq FROM "+numbers(10000))
		h.rows("grandchild, alone,", dbs["grandchild"], "1 2 4 5")

		// At the same time: each waits for its turn.
		var group sync.WaitGroup
		size := fewer(family, smallFamily)
		errs := make([]error, size)
		for n := range errs {
			group.Go(func() {
				if _, talk, err := h.try("branch", "grandchild", fmt.Sprint("many", n)); err != nil {
					errs[n] = fmt.Errorf("%w: %s", err, talk)
				}
			})
		}
		group.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		var memory int64
		for n := range size {
			name := fmt.Sprint("many", n)
			db := openDSN(t, h.ramaria("up", name))
			h.rows(name, db, "1 2 4 5")
			h.exec(db, "INSERT INTO t VALUES (6)")
			memory += h.memory(name)
		}
		t.Logf("%d branches, each with a server and a supervisor of %d KB of their own and as their share", size, memory/int64(size))
		h.rows("grandchild, with many,", dbs["grandchild"], "1 2 4 5")
	})
}

var pssLine = regexp.MustCompile(`(?m)^Pss: +(\d+) kB`)

// memory is what the processes of an instance take, in KB: pages that several share
// count by their share.
func (h *testHome) memory(name string) (kb int64) {
	h.t.Helper()
	p := h.pids(name)
	for _, pid := range []int{p.Server, p.Supervisor} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if err != nil {
			// A server of another account is closed to an ordinary user's eyes.
			h.t.Logf("memory of process %d: %v", pid, err)
			continue
		}
		if m := pssLine.FindSubmatch(b); m != nil {
			n, _ := strconv.ParseInt(string(m[1]), 10, 64) // digits
			kb += n
		}
	}
	return kb
}

// TestBranchToOneName: of two commands that want one name, one gets it.
func TestBranchToOneName(t *testing.T) {
	t.Parallel()
	onVolumes(t, func(t *testing.T, volume string) {
		h := newTestHome(t)
		h.upSmall("parent", volume)
		for _, stopped := range []bool{false, true} {
			if stopped {
				h.ramaria("down", "parent")
			}
			var group sync.WaitGroup
			talk, errs := make([]string, 2), make([]error, 2)
			for n := range 2 {
				group.Go(func() { _, talk[n], errs[n] = h.try("branch", "parent", "wanted") })
			}
			group.Wait()
			if (errs[0] == nil) == (errs[1] == nil) {
				t.Errorf("parent stopped %v: both or neither got the name: %v: %q", stopped, errs, talk)
			}
			if lost := talk[0] + talk[1]; !strings.Contains(lost, "the name is taken") {
				t.Errorf("parent stopped %v: %q", stopped, lost)
			}
			h.rows("wanted", openDSN(t, h.ramaria("up", "wanted")), "1")
			h.ramaria("down", "wanted", "--rm")
		}
	})
}

var (
	cloned  = regexp.MustCompile(`^(\d+) .*(?:clone3?|vfork|fork)(?:\(| resumed).* = (\d+)$`)
	execved = regexp.MustCompile(`^(\d+) +execve\("[^"]*", \[.*--defaults-file=`)
)

// TestBranchOpensNothingOfItsParent traces the server of a branch from its first moment:
// it must not open, or change the name of, any file of its parent.
func TestBranchOpensNothingOfItsParent(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("strace"); err != nil || os.Geteuid() != 0 {
		t.Skipf("SKIPPED, UNTESTED: tracing takes root and strace (%v)", err)
	}
	onVolumes(t, func(t *testing.T, volume string) {
		h := newTestHome(t)
		parent := h.upSmall("parent", volume)
		log := filepath.Join(h.instanceDir(volume, "parent"), "data", "ramaria-bin.000001")
		supervisor := h.pids("parent").Supervisor
		traceFile := filepath.Join(h.home, "trace")
		strace := exec.Command("strace", "-f", "-y", "-s", "4096", "-o", traceFile,
			"-e", "trace=open,openat,openat2,creat,truncate,rename,renameat,renameat2,link,linkat,unlink,unlinkat,clone,clone3,fork,vfork,execve",
			"-p", strconv.Itoa(supervisor))
		if err := strace.Start(); err != nil {
			t.Fatal(err)
		}
		detach := sync.OnceFunc(func() {
			_ = strace.Process.Signal(os.Interrupt)
			_ = strace.Wait() // it ends by the signal
		})
		defer detach()
		h.until("strace has attached to all threads", func() bool {
			tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", supervisor))
			for _, task := range tasks {
				if b, err := os.ReadFile(task); err != nil || bytes.Contains(b, []byte("TracerPid:\t0\n")) {
					return false
				}
			}
			return len(tasks) > 0
		})
		before := identity(t, log)
		dsn, _ := h.branch("parent", "child")
		child := openDSN(t, dsn)
		h.exec(child, "INSERT INTO t VALUES (2)", "FLUSH BINARY LOGS")
		detach()
		if after := identity(t, log); after != before {
			t.Errorf("the parent's binary log was %s and is %s", before, after)
		}
		h.rows("parent", parent, "1")
		index, err := os.ReadFile(filepath.Join(h.instanceDir(volume, "child"), "data", "ramaria-bin.index"))
		if err != nil || len(index) == 0 || bytes.Contains(index, []byte("/instances/")) {
			t.Errorf("the branch's index of binary logs is %q (%v)", index, err)
		}
		trace, err := os.ReadFile(traceFile)
		if err != nil {
			t.Fatal(err)
		}
		ofServer := map[string]bool{}
		own, others, bad := 0, 0, []string{}
		for line := range strings.Lines(string(trace)) {
			line = strings.TrimSpace(line)
			thread, _, _ := strings.Cut(line, " ")
			if m := execved.FindStringSubmatch(line); m != nil {
				ofServer[m[1]] = true
			}
			if m := cloned.FindStringSubmatch(line); len(m) > 0 && ofServer[m[1]] {
				ofServer[m[2]] = true
			}
			of := strings.Contains(line, "/instances/parent")
			switch {
			case of && ofServer[thread]:
				bad = append(bad, line)
			case of:
				others++
			case ofServer[thread] && strings.Contains(line, "/instances/child"):
				own++
			}
		}
		if len(bad) > 0 {
			t.Errorf("the branch's server reached for files of its parent:\n%s", strings.Join(bad, "\n"))
		}
		// The trace must be able to show it: the supervisors do, and the server has its own.
		if own < 20 || others < 20 {
			t.Errorf("the trace has only %d files of the branch's server, and %d of its parent that others open", own, others)
		}
	})
}

// identity is what changes when a file is written to or replaced.
func identity(t *testing.T, path string) string {
	t.Helper()
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	st := fi.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("inode %d, %d bytes, changed %d.%09d", st.Ino, st.Size, st.Ctim.Sec, st.Ctim.Nsec)
}

// TestBranchHasItsOwnAccount: the parent's password does not open the branch.
func TestBranchHasItsOwnAccount(t *testing.T) {
	t.Parallel()
	onVolumes(t, func(t *testing.T, volume string) {
		h := newTestHome(t)
		h.upSmall("parent", volume)
		dsn, _ := h.branch("parent", "child")
		child, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		parent, err := url.Parse(h.ramaria("up", "parent"))
		if err != nil {
			t.Fatal(err)
		}
		if child.Host == parent.Host || child.Path != parent.Path {
			t.Errorf("branch at %s, parent at %s", child.Redacted(), parent.Redacted())
		}
		for _, c := range []struct {
			at, with *url.URL
			ok       bool
		}{{parent, parent, true}, {child, child, true}, {child, parent, false}, {parent, child, false}} {
			u := *c.at
			u.User = c.with.User
			err := openDSN(t, u.String()).Ping()
			if c.ok && err != nil || !c.ok && (err == nil || !strings.Contains(err.Error(), "Access denied")) {
				t.Errorf("at %s with the account of %s: %v", c.at.Host, c.with.Host, err)
			}
		}
	})
}

// TestBranchOfStoppedAndCrashed branches what does not run.
func TestBranchOfStoppedAndCrashed(t *testing.T) {
	t.Parallel()
	onVolumes(t, func(t *testing.T, volume string) {
		h := newTestHome(t)
		db := h.upSmall("parent", volume)
		h.ramaria("down", "parent")
		dsn, _ := h.branch("parent", "of-stopped")
		h.rows("the branch of a stopped instance", openDSN(t, dsn), "1")
		h.ramaria("up", "parent")
		h.exec(db, "INSERT INTO t VALUES (2)")
		h.kill("parent", func(p pids) int { return p.Server })
		dsn, _ = h.branch("parent", "of-crashed")
		h.rows("the branch of a crashed instance", openDSN(t, dsn), "1 2")
		h.ramaria("up", "parent")
		h.exec(db, "INSERT INTO t VALUES (3)")
		h.rows("the parent", db, "1 2 3")
	})
}

// kill kills a process of an instance, and waits until both are gone.
func (h *testHome) kill(name string, which func(pids) int) {
	h.t.Helper()
	p := h.pids(name)
	var handles []*sys.Process
	for _, pid := range []int{p.Server, p.Supervisor} {
		handle, err := sys.OpenProcess(pid)
		if err != nil {
			h.t.Fatal(err)
		}
		h.t.Cleanup(func() { handle.Close() })
		handles = append(handles, handle)
	}
	if err := syscall.Kill(which(p), syscall.SIGKILL); err != nil {
		h.t.Fatal(err)
	}
	for _, handle := range handles {
		if err := handle.WaitExit(h.t.Context()); err != nil {
			h.t.Fatal(err)
		}
	}
}
