package ramariatest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/client"
)

// fakeAPI answers as an instance does, without any database.
type fakeAPI struct {
	mu    sync.Mutex
	made  int
	calls []string
}

// startFake returns a client of a fake instance.
func startFake(t *testing.T) (*fakeAPI, *leases) {
	t.Helper()
	dir, err := os.MkdirTemp("", "rg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "api.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeAPI{}
	s := &http.Server{Handler: f}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	ls := &leases{api: client.New(socket)}
	t.Cleanup(func() {
		ls.api.Close()
		s.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
	})
	return f, ls
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/v1/databases"))
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodDelete {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	f.made++
	fmt.Fprintf(w, `{"name":"d%d","template":"t"}`, f.made)
}

// saw returns how often a call was made.
func (f *fakeAPI) saw(call string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range f.calls {
		if c == call {
			n++
		}
	}
	return n
}

// within waits for something to be so.
func within(t *testing.T, d time.Duration, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(d); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v it is not so: %s", d, what)
		}
	}
}

// TestRenewal renews what is in use, and gives back what waits.
func TestRenewal(t *testing.T) {
	t.Parallel()
	f, ls := startFake(t)
	ctx := t.Context()
	used, err := ls.take(ctx, "t", 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	waits, err := ls.take(ctx, "t", 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if err := ls.put(ctx, waits); err != nil {
		t.Fatal(err)
	}
	within(t, time.Minute, "renewed twice, the other dropped", func() bool { return f.saw("GET /d1") > 1 && f.saw("DELETE /d2") == 1 })
	if f.saw("GET /d2") > 0 || ls.waiting("t", 300*time.Millisecond) != nil {
		t.Error("a database that waited for long is renewed, or waits still")
	}
	if err := used.drop(ctx); err != nil {
		t.Fatal(err)
	}
	before := f.saw("GET /d1")
	time.Sleep(300 * time.Millisecond)
	if f.saw("GET /d1") > before+1 {
		t.Error("a database that was given back is renewed")
	}
}

// TestIdle keeps few databases, the last used, each for its own template and TTL.
func TestIdle(t *testing.T) {
	t.Parallel()
	f, ls := startFake(t)
	ctx := t.Context()
	var list []*lease
	for range maxIdle + 2 {
		l, err := ls.take(ctx, "t", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	for _, l := range list {
		if err := ls.put(ctx, l); err != nil {
			t.Fatal(err)
		}
	}
	if f.saw("DELETE /d1") != 1 || f.saw("DELETE /d2") != 1 || len(ls.idle) != maxIdle {
		t.Errorf("of %d databases %d wait: %v", len(list), len(ls.idle), f.calls)
	}
	if ls.waiting("other", time.Hour) != nil || ls.waiting("t", time.Minute) != nil {
		t.Error("got a database of another template or TTL")
	}
	if l := ls.waiting("t", time.Hour); l != list[len(list)-1] {
		t.Errorf("got %s, not the last used", l.Name)
	} else if err := l.drop(ctx); err != nil {
		t.Error(err)
	}
	if err := ls.release(ctx); err != nil || len(ls.idle) > 0 {
		t.Error(err)
	}
	deletes := slices.DeleteFunc(slices.Clone(f.calls), func(c string) bool { return !strings.HasPrefix(c, "DELETE") })
	if len(deletes) != len(list) {
		t.Errorf("%d databases, and %v", len(list), deletes)
	}
}

// TestGivesUp waits for no longer than the test's context.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	f, ls := startFake(t)
	f.mu.Lock() // the fake server does not answer
	defer f.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := ls.take(ctx, "t", time.Hour); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestOnce does things once, but neither for somebody who gave up nor for one who fell.
func TestOnce(t *testing.T) {
	t.Parallel()
	o := newOnce[int]()
	gone, cancel := context.WithCancel(t.Context())
	if _, err := o.do(gone, func() (int, error) { cancel(); return 0, gone.Err() }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	(&fakeT{}).run(func() {
		_, err := o.do(t.Context(), func() (int, error) { (&fakeT{}).Fatal("x"); return 1, nil })
		t.Errorf("it goes on: %v", err)
	})
	fault := errors.New("fault")
	for range 2 {
		if _, err := o.do(t.Context(), func() (int, error) { e := fault; fault = nil; return 2, e }); err == nil {
			t.Error("the first error is not everybody's")
		}
	}
	o = newOnce[int]()
	if _, err := o.do(t.Context(), func() (int, error) { return o.do(gone, nil) }); !errors.Is(err, context.Canceled) {
		t.Errorf("waited for longer than the context: %v", err)
	}
}

// TestProgram finds the instance, and says what to do where it cannot.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "ramaria")
	t.Setenv(client.EnvVar, "")
	t.Setenv(EnvProgram, script)
	t.Setenv(EnvInstance, "mine")
	if _, err := findSocket(t.Context()); err == nil || !strings.Contains(err.Error(), "hint: put ramaria into PATH") {
		t.Errorf("no program: %v", err)
	}
	for name, tc := range map[string]struct{ script, want, err string }{
		"found":  {`test "$2" = mine && printf "export A='1'\nexport RAMARIA_API='/a '\\\\''b/s'\n"`, "/a 'b/s", ""},
		"silent": {"true", "", "does not tell RAMARIA_API"},
		"fails":  {"echo 'it broke' >&2; exit 4", "", "run ramaria up mine: exit status 4\nit broke"},
	} {
		if err := os.WriteFile(script, []byte("#!/bin/sh\n"+tc.script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		got, err := findSocket(t.Context())
		if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	t.Setenv(client.EnvVar, "/x")
	if _, err := findSocket(t.Context()); err == nil || !strings.Contains(err.Error(), "ask the instance at /x: ") {
		t.Errorf("set, and so is which instance it has to be: %v", err)
	}
	for _, name := range []string{EnvInstance, "RAMARIA_SERVER"} {
		t.Setenv(name, "")
	}
	if got, err := findSocket(t.Context()); got != "/x" || err != nil {
		t.Errorf("set: %q, %v", got, err)
	}
}
