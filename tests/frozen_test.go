package tests

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// slowFiles is the number of files that make a snapshot take its time.
const slowFiles = 10000

// slow makes the next snapshots of an instance long: a file with two names means that
// all is copied while the server stands still, and the number of files that it takes a
// large part of a second.
func (h *testHome) slow(volume, name string) {
	h.t.Helper()
	dir := filepath.Join(h.instanceDir(volume, name), "data", "slow")
	if err := os.Mkdir(dir, 0o700); err != nil {
		h.t.Fatal(err)
	}
	for n := range slowFiles {
		f, err := os.Create(filepath.Join(dir, strconv.Itoa(n)))
		if err != nil {
			h.t.Fatal(err)
		}
		f.Close()
	}
	if err := os.Link(filepath.Join(dir, "0"), filepath.Join(dir, "link")); err != nil {
		h.t.Fatal(err)
	}
}

// states are the states of all threads of a process, a letter each; none of one that
// has ended.
func states(pid int) (all string) {
	stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // the pattern is right
	for _, path := range stats {
		if b, err := os.ReadFile(path); err == nil {
			_, rest, _ := strings.Cut(string(b), ") ")
			all += rest[:1]
		}
	}
	return all
}

// gone waits until the processes of an instance have ended, also those whose parent has not
// waited for them yet: if process 1 is slow, that takes seconds.
func (h *testHome) gone(p pids) {
	h.t.Helper()
	h.until("both processes are gone", func() bool { return strings.Trim(states(p.Server)+states(p.Supervisor), "Z") == "" })
}

// beginTries is how often begin starts a command that was through before it was seen at
// work, on a machine that has other things to do.
const beginTries = 5

// begin starts a command that takes a snapshot, `branch PARENT NEW` or `mark PARENT
// LABEL`, and returns when the server stands still.
func (h *testHome) begin(server int, args ...string) (cmd *exec.Cmd, talk *bytes.Buffer) {
	h.t.Helper()
	for range beginTries {
		cmd, talk = exec.Command(filepath.Join(binDir, "ramaria"), args...), &bytes.Buffer{}
		cmd.Env = append(os.Environ(), "RAMARIA_HOME="+h.home, "RAMARIA_NO_FETCH=1")
		cmd.Stderr = talk
		if err := cmd.Start(); err != nil {
			h.t.Fatal(err)
		}
		ended := false
		h.until("all threads of the server have stopped", func() bool {
			all := states(server)
			if all != "" && strings.Trim(all, "T") == "" {
				return true
			}
			ended = states(cmd.Process.Pid) == "Z"
			return ended
		})
		if !ended {
			return cmd, talk
		}
		if err := cmd.Wait(); err != nil {
			h.t.Fatalf("ramaria %s: %v: %s", strings.Join(args, " "), err, talk)
		}
		h.t.Logf("the server was not seen standing still: %s", talk)
		if !h.undo(args) {
			h.t.Fatalf("ramaria %s has made nothing: %s", strings.Join(args, " "), talk)
		}
	}
	h.t.Fatalf("ramaria %s: the server was never seen standing still", strings.Join(args, " "))
	return nil, nil
}

// killStill runs a command and kills it while the server stands still.
func (h *testHome) killStill(server int, args ...string) {
	h.t.Helper()
	for range beginTries {
		cmd, talk := h.begin(server, args...)
		if err := cmd.Process.Kill(); err != nil {
			h.t.Fatalf("it had ended: %v: %s", err, talk)
		}
		_ = cmd.Wait()
		h.until("the server goes on after the command was killed", func() bool { return !strings.Contains(states(server), "T") })
		// On a busy machine the supervisor may be through before it hears of the kill.
		list := []string{"ls", "--json"}
		if args[0] == "mark" {
			list = []string{"mark", "ls", args[1], "--json"}
		}
		if time.Sleep(heard); !strings.Contains(h.ramaria(list...), `"`+args[2]+`"`) {
			return
		}
		// A branch that is listed already may be given up while its server starts.
		if !h.undo(args) {
			return
		}
		h.t.Logf("it was done before the kill was heard of")
	}
	h.t.Fatalf("%d times the command was through before it could be killed", beginTries)
}

// heard is how long after the death of a command what it asked for is done or given up.
const heard = 500 * time.Millisecond

// undo removes what a branch or mark command made, and reports whether it was there.
func (h *testHome) undo(args []string) bool {
	h.t.Helper()
	remove := []string{"mark", "rm", args[1], args[2]}
	if args[0] == "branch" {
		remove = []string{"down", args[2], "--rm"}
	}
	_, talk, err := h.try(remove...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == notThere {
		return false
	}
	if err != nil {
		h.t.Fatalf("ramaria %s: %v\n%s%s", strings.Join(remove, " "), err, talk, h.logs())
	}
	return true
}

// notThere is the exit status of a command whose object does not exist.
const notThere = 3

// nothingOf waits until there is nothing of a branch or mark that was never finished.
func (h *testHome) nothingOf(volume, name string) {
	h.t.Helper()
	var left []string
	h.until("nothing is left of "+name, func() bool {
		root := filepath.Dir(filepath.Dir(h.instanceDir(volume, name)))
		left = nil
		for _, pattern := range []string{".partial-*", ".trash-*", "instances/" + name, "instances/*/marks/*" + name + "*", "instances/*/data.next*"} {
			found, _ := filepath.Glob(filepath.Join(root, pattern)) // the pattern is right
			left = append(left, found...)
		}
		records, _ := filepath.Glob(filepath.Join(h.places.State, "instances", name+".json"))
		return len(left)+len(records) == 0
	})
}

// TestNeverLeftStopped ends those who take a snapshot in the middle of it, while the
// server stands still.
func TestNeverLeftStopped(t *testing.T) {
	t.Parallel()
	onVolumes(t, func(t *testing.T, volume string) {
		h := newTestHome(t)
		l := newLoad(h, "parent", volume)
		l.make(t)
		h.slow(volume, "parent")
		stop, _ := l.start(t)
		p := h.pids("parent")
		for _, args := range [][]string{{"branch", "parent", "child"}, {"mark", "parent", "kept"}} {
			h.killStill(p.Server, args...)
			h.nothingOf(volume, args[2])
			was := l.told()
			h.until("it writes", func() bool { return l.told() != was })
			h.ramaria(args...) // the name is free
		}
		if now := h.pids("parent"); now != p {
			t.Errorf("the processes were %v and are %v", p, now)
		}
		h.ramaria("mark", "rm", "parent", "kept")
		if err := cleanTables(t.Context(), openDSN(t, h.ramaria("up", "child"))); err != nil {
			t.Errorf("the branch, of a directory with hard links: %v", err)
		}
		h.ramaria("down", "child", "--rm")
		if err := stop(); err != nil {
			t.Errorf("the writers: %v", err)
		}

		h.endSupervisor(l, syscall.SIGTERM, "stopped")
		h.endSupervisor(l, syscall.SIGKILL, "crashed")
	})
}

// endSupervisor ends the supervisor of an instance in the middle of a branch.
func (h *testHome) endSupervisor(l *load, sig syscall.Signal, phase string) {
	h.t.Helper()
	p := h.pids(l.name)
	_, wait := l.start(h.t)
	cmd, talk := h.begin(p.Server, "branch", l.name, "child")
	if err := syscall.Kill(p.Supervisor, sig); err != nil {
		h.t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 && sig == syscall.SIGTERM {
		h.t.Errorf("%s of the supervisor: branch ended with %v: %s", sig, err, talk)
	}
	if err := wait(); !errors.Is(err, errBroken) {
		h.t.Errorf("the writers ended with %v", err)
	}
	h.gone(p)
	if _, status, _ := h.try("ls"); !strings.Contains(h.ramaria("ls"), phase) {
		h.t.Errorf("%s of the supervisor: it is not %s: %s", sig, phase, status)
	}
	l.open(h.t, h.ramaria("up", l.name))
	if err := l.settled(h.t.Context(), l.db); err != nil {
		h.t.Errorf("%s of the supervisor: %v", sig, err)
	}
	h.nothingOf(l.volume, "child")
}

// TestBranchesWaitForEachOther: while a snapshot is taken another one waits.
func TestBranchesWaitForEachOther(t *testing.T) {
	t.Parallel()
	onVolumes(t, func(t *testing.T, volume string) {
		h := newTestHome(t)
		h.upSmall("parent", volume)
		h.slow(volume, "parent")
		first, talk := h.begin(h.pids("parent").Server, "branch", "parent", "first")
		var group sync.WaitGroup
		defer group.Wait()
		group.Go(func() {
			if err := first.Wait(); err != nil {
				t.Errorf("first: %v: %s", err, talk)
			}
		})
		h.branch("parent", "second")
		h.ramaria("mark", "parent", "third")
		group.Wait()
		for _, name := range []string{"parent", "first", "second"} {
			h.rows(name, openDSN(t, h.ramaria("up", name)), "1")
		}
	})
}
