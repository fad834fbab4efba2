package instance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/sys"
)

func TestReap(t *testing.T) {
	ctx := t.Context()
	for _, c := range []struct {
		name    string
		phase   Phase
		alive   bool // a supervisor holds the lock
		busy    bool // a command holds the name
		passing bool
		want    Phase // "" for removed
		saved   Phase // in state.json
	}{
		{name: "running", phase: Running, alive: true, want: Running, saved: Running},
		{name: "stopped", phase: Stopped, want: Stopped, saved: Stopped},
		{name: "supervisor killed", phase: Running, want: Crashed, saved: Crashed},
		{name: "starting killed", phase: Starting, want: Crashed, saved: Crashed},
		{name: "killed, a command is at it", phase: Running, busy: true, want: Crashed, saved: Running},
		{name: "run goes on", phase: Running, alive: true, busy: true, passing: true, want: Running, saved: Running},
		{name: "run begins", phase: Stopped, busy: true, passing: true, want: Stopped, saved: Stopped},
		{name: "run killed", phase: Running, passing: true, want: ""},
		{name: "run killed before its server", phase: Stopped, passing: true, want: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t)
			i := s.put(t, "a", c.passing)
			if err := i.SaveState(State{Phase: c.phase}); err != nil {
				t.Fatal(err)
			}
			if c.alive {
				hold(t, i.LockPath())
			}
			if c.busy {
				hold(t, filepath.Join(s.Registry.Dir, "a.lock"))
			}
			for range 2 { // it may be called more than once
				if err := s.Reap(ctx, &i.Record); err != nil {
					t.Fatal(err)
				}
			}
			_, err := s.Registry.Get("a")
			if c.want == "" {
				if _, statErr := os.Stat(i.Dir); !errors.Is(err, ErrNotFound) || !errors.Is(statErr, os.ErrNotExist) {
					t.Errorf("it is still there: %v, %v", err, statErr)
				}
				return
			}
			st, stErr := i.State()
			var saved State
			if err := errors.Join(err, stErr, ReadJSON(i.statePath(), &saved)); err != nil {
				t.Fatal(err)
			}
			if st.Phase != c.want || saved.Phase != c.saved {
				t.Errorf("it is %s and state.json says %s, want %s and %s", st.Phase, saved.Phase, c.want, c.saved)
			}
		})
	}
}

func hold(t *testing.T, path string) {
	t.Helper()
	lock, err := sys.TryLock(path, sys.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Unlock() })
}

// TestReapKillsOrphan: a process is only ended when it was started as the
// instance's server, whatever now has its number.
func TestReapKillsOrphan(t *testing.T) {
	for _, c := range []struct {
		name string
		arg  func(i *Instance) string
		dies bool
	}{
		{"its server", func(i *Instance) string { return i.ConfigArg() }, true},
		{"another process", func(*Instance) string { return "--defaults-file=/other/my.cnf" }, false},
		{"a process that names it elsewhere", func(i *Instance) string { return "x" + i.ConfigArg() }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t)
			i := s.put(t, "a", false)
			cmd := exec.Command("sh", "-c", "read x", "sh", c.arg(i)) // waits for its stdin to end
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			if err := i.SaveState(State{Phase: Running, ServerPID: cmd.Process.Pid}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := s.Reap(ctx, &i.Record); err != nil {
				t.Error(err)
			}
			if !c.dies && cmd.Process.Signal(syscall.Signal(0)) != nil {
				t.Error("it was ended")
			}
			stdin.Close()
			err = <-ended
			var exit *exec.ExitError
			killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
			if killed != c.dies {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// TestMain is also the server of TestReapWaitsForTheDying: a process that takes a while to
// end, and whose port is not free before.
func TestMain(m *testing.M) {
	if os.Getenv(dying) == "" {
		os.Exit(m.Run())
	}
	memory := make([]byte, 1<<30)
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	select {}
}

const dying = "RAMARIA_TEST_DYING"

// TestReapWaitsForTheDying: a server that was killed a moment ago still has its port, and
// its command line is empty already.
func TestReapWaitsForTheDying(t *testing.T) {
	s := newStore(t)
	i := s.put(t, "a", false)
	cmd := exec.Command(os.Args[0], i.ConfigArg()) // #nosec G204 -- this binary
	cmd.Env = append(os.Environ(), dying+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var addr string
	if _, err := fmt.Fscan(out, &addr); err != nil {
		t.Fatal(err)
	}
	if err := i.SaveState(State{Phase: Running, ServerPID: cmd.Process.Pid}); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for sys.HasArg(cmd.Process.Pid, i.ConfigArg()) {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Reap(ctx, &i.Record); err != nil {
		t.Error(err)
	}
	var c net.ListenConfig
	l, err := c.Listen(ctx, "tcp", addr)
	if err != nil {
		t.Errorf("its port was still in use: %v", err)
	} else {
		l.Close()
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Errorf("it ended with %v", err)
	}
}

// TestSweep: directories that no record knows go, unless somebody makes them.
func TestSweep(t *testing.T) {
	s := newStore(t)
	known := s.put(t, "known", false)
	for _, name := range []string{"orphan", "being-made", "Not-Ours"} {
		if err := os.MkdirAll(filepath.Join(s.dir(name), "data"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	hold(t, filepath.Join(s.Registry.Dir, "being-made.lock"))
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{known.Dir: true, s.dir("orphan"): false, s.dir("being-made"): true, s.dir("Not-Ours"): true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", dir, err == nil, want)
		}
	}
}

// TestRemove: all directories go, the user's own tmpdir stays.
func TestRemove(t *testing.T) {
	s := newStore(t)
	i := s.put(t, "a", false)
	i.Spec.TmpDir = t.TempDir()
	if err := os.MkdirAll(filepath.Join(i.TmpDir(), "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Remove(t.Context(), &i.Record); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]bool{i.Dir: false, i.TmpDir(): false, i.Spec.TmpDir: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", dir, err == nil, want)
		}
	}
}

// TestSweepRecords removes records that were half written, but for those whose writer lives.
func TestSweepRecords(t *testing.T) {
	s := newStore(t)
	s.put(t, "a", false)
	for _, name := range []string{".tmp-a.json-1", ".tmp-gone.json-22", ".tmp-other-333", ".tmp-busy.json-4"} {
		if err := os.WriteFile(filepath.Join(s.Registry.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hold(t, filepath.Join(s.Registry.Dir, "busy.lock"))
	s.Registry.Sweep()
	entries, err := os.ReadDir(s.Registry.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{".tmp-busy.json-4", ".tmp-other-333", "a.json", "a.lock", "busy.lock"}, names); diff != "" {
		t.Error(diff)
	}
}
