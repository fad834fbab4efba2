package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// envWriter is the file that a process of these tests, which plays the server,
	// writes to.
	envWriter = "RAMARIA_TEST_WRITER"
	// writeSize is the size of each of its writes: milliseconds in shared memory.
	writeSize = 8 << 20
	// freezeLimit is longer than anything that these tests wait for.
	freezeLimit = 30 * time.Second
)

func init() {
	path := os.Getenv(envWriter)
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		panic(err)
	}
	for n := range 4 { // threads that have nothing to do with it
		go func() {
			for {
				time.Sleep(time.Duration(n+1) * time.Millisecond)
			}
		}()
	}
	for fill := byte(1); ; fill++ {
		if _, err := f.WriteAt(bytes.Repeat([]byte{fill}, writeSize), 0); err != nil {
			panic(err)
		}
	}
}

// startWriter starts a process that writes all the time, and returns its file.
func startWriter(t *testing.T) (p *Process, path string) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "ramaria-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path = filepath.Join(dir, "file")
	p = &Process{cmd: exec.Command(os.Args[0]), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), envWriter+"="+path)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(p.Kill)
	eventually(t, "it writes", func() bool {
		fi, err := os.Stat(path)
		return err == nil && fi.Size() == writeSize
	})
	return p, path
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(freezeLimit); !ok(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatalf("still not after %s: %s", freezeLimit, what)
		}
	}
}

// threadStates are the states of all threads of a process, a letter each.
func threadStates(t *testing.T, pid int) string {
	t.Helper()
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(stats) < 2 {
		t.Fatalf("threads: %v, %v", stats, err)
	}
	states := ""
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		states += rest[:1]
	}
	return states
}

// whole reports whether the file is as one write has left it.
func whole(t *testing.T, path string) bool {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return len(b) == writeSize && bytes.Count(b, b[:1]) == len(b)
}

// goesOn waits until the process has written again.
func goesOn(t *testing.T, p *Process, path string) {
	t.Helper()
	was, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it goes on", func() bool {
		fi, err := os.Stat(path)
		return err == nil && fi.ModTime().After(was.ModTime())
	})
	if states := threadStates(t, p.PID()); strings.Contains(states, "T") {
		t.Errorf("it goes on, with threads in the states %s", states)
	}
}

// TestFreeze: no thread runs, and no write is half done.
func TestFreeze(t *testing.T) {
	p, path := startWriter(t)
	// Without Freeze there are writes half done, and the test can see them.
	eventually(t, "a write is half done", func() bool { return !whole(t, path) })
	for range 10 {
		pause, err := p.Freeze(t.Context(), freezeLimit, func(context.Context) error {
			if states := threadStates(t, p.PID()); strings.Trim(states, "T") != "" {
				t.Errorf("threads are in the states %s", states)
			}
			if !whole(t, path) {
				t.Error("a write is half done")
			}
			return nil
		})
		if err != nil || pause <= 0 {
			t.Fatalf("pause %s: %v", pause, err)
		}
		goesOn(t, p, path)
	}
	failed := errors.New("failed")
	if _, err := p.Freeze(t.Context(), freezeLimit, func(context.Context) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("an error of the copy: %v", err)
	}
	goesOn(t, p, path)
}

// TestFreezeWatchdog tests copies that hang and ignore their context: the server goes
// on while they still hang.
func TestFreezeWatchdog(t *testing.T) {
	p, path := startWriter(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, c := range []struct {
		name  string
		limit time.Duration
		begin func() // once the copy hangs
		want  error
	}{
		{"the limit passes", time.Second, func() {}, ErrFrozenTooLong}, // not before the threads are looked at
		{"the request ends", freezeLimit, cancel, context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			_, err := p.Freeze(ctx, c.limit, func(ctx context.Context) error {
				if states := threadStates(t, p.PID()); strings.Trim(states, "T") != "" {
					t.Errorf("threads are in the states %s", states)
				}
				c.begin()
				goesOn(t, p, path)
				if !errors.Is(context.Cause(ctx), c.want) {
					t.Errorf("the copy was told %v", context.Cause(ctx))
				}
				return nil
			})
			if !errors.Is(err, c.want) {
				t.Errorf("got %v", err)
			}
			if c.limit < freezeLimit && time.Since(began) < c.limit {
				t.Error("it came too early")
			}
			// A late watchdog of one freeze must not wake the server in the next.
			if _, err := p.Freeze(t.Context(), freezeLimit, func(context.Context) error { return nil }); err != nil {
				t.Errorf("once more: %v", err)
			}
			goesOn(t, p, path)
		})
	}
}

// TestFreezeWoken has somebody else let the server go on in the middle.
func TestFreezeWoken(t *testing.T) {
	p, path := startWriter(t)
	stopped := func() bool { return strings.Trim(threadStates(t, p.PID()), "T") == "" }
	for name, again := range map[string]bool{"woken": false, "woken and stopped once more": true} {
		t.Run(name, func(t *testing.T) {
			_, err := p.Freeze(t.Context(), freezeLimit, func(context.Context) error {
				if err := syscall.Kill(p.PID(), syscall.SIGCONT); err != nil {
					return err
				}
				goesOn(t, p, path)
				if again {
					if err := syscall.Kill(p.PID(), syscall.SIGSTOP); err != nil {
						return err
					}
					eventually(t, "it has stopped", stopped)
				}
				return nil
			})
			if !errors.Is(err, ErrWoken) {
				t.Errorf("got %v", err)
			}
			goesOn(t, p, path)
			if _, err := p.Freeze(t.Context(), freezeLimit, func(context.Context) error { return nil }); err != nil {
				t.Errorf("once more: %v", err)
			}
		})
	}
}

// TestFreezeKilled kills the server in the middle, and before.
func TestFreezeKilled(t *testing.T) {
	p, _ := startWriter(t)
	_, err := p.Freeze(t.Context(), freezeLimit, func(context.Context) error {
		if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
			return err
		}
		<-p.Done()
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "killed by signal 9") {
		t.Errorf("in the middle: %v", err)
	}
	if _, err := p.Freeze(t.Context(), freezeLimit, func(context.Context) error { t.Error("called"); return nil }); err == nil {
		t.Error("a dead one was stopped")
	}
}
