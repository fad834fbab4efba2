package exporter

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/lobby"
)

// none is an exporter of a home with one instance, which is stopped.
func none() *Exporter {
	return &Exporter{List: func() ([]Target, error) { return []Target{{Name: "old", Phase: "stopped"}}, nil }}
}

// TestWriteFile replaces the file alone: nothing that others have put beside it is followed, and nothing stays beside it.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path, kept := filepath.Join(dir, "ramaria.prom"), filepath.Join(dir, "kept")
	if err := os.WriteFile(kept, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + ".new"} {
		if err := os.Symlink(kept, name); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for range 8 { // two exporters may have the same file
		all.Go(func() {
			if err := none().WriteFile(t.Context(), path); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	fi, err := os.Lstat(path)
	if err != nil || fi.Mode() != 0o644 {
		t.Errorf("the file is %v, %v", fi, err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "\nramaria_up{name=\"old\"} 0\n") {
		t.Errorf("it has %s, %v", text, err)
	}
	if text, err := os.ReadFile(kept); err != nil || string(text) != "kept" {
		t.Errorf("a file that a link leads to has %s, %v", text, err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 3 {
		t.Errorf("the directory has %q, %v", names, err)
	}
	list := errors.New("no list")
	if err := (&Exporter{List: func() ([]Target, error) { return nil, list }}).WriteFile(t.Context(), path); !errors.Is(err, list) {
		t.Errorf("without a list: %v", err)
	}
	if again, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || cmp.Diff(names, again) != "" {
		t.Errorf("after that the directory has %q, %v", again, err)
	}
}

// TestGone calls no instance down for a client that does not wait.
func TestGone(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "api.sock")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket) // it never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	e := &Exporter{List: func() ([]Target, error) { return []Target{{Name: "hung", Phase: "running", Socket: socket}}, nil }}
	defer e.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience/10)
	defer cancel()
	if err := e.Write(ctx, io.Discard, false); !errors.Is(err, context.DeadlineExceeded) || e.errors != 0 {
		t.Errorf("a client that has gone: %v, %d errors", err, e.errors)
	}
	var page strings.Builder
	began := time.Now()
	if err := e.Write(t.Context(), &page, false); err != nil || e.errors != 1 || time.Since(began) > 60*patience {
		t.Errorf("one that waits: %v, %d errors, %v", err, e.errors, time.Since(began))
	}
	if !strings.Contains(page.String(), "\nramaria_up{name=\"hung\"} 0\n") {
		t.Error(page.String())
	}
}

// serve has an exporter of nothing answer at an address, until the test ends.
func serve(t *testing.T) (address string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- none().Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// TestAddressed answers on loopback to names of this machine alone.
func TestAddressed(t *testing.T) {
	address := serve(t)
	for host, want := range map[string]int{
		"127.0.0.1:1": 200, "localhost:9847": 200, "[::1]:9847": 200, "::1": 200, "127.0.0.1": 200,
		"evil.example:9847": 421, "evil.example": 421, "192.0.2.1:9847": 421, "127.0.0.1.evil.example": 421,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host, req.Close = host, true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("asked as %s it answers %d", host, resp.StatusCode)
		}
	}
	for _, a := range []net.Addr{&net.TCPAddr{IP: net.IPv4zero}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}} {
		if in := http.NewServeMux(); addressed(a, in) != http.Handler(in) {
			t.Errorf("on %s it asks for names", a)
		}
	}
}

// TestStrangers: who says nothing holds up nobody who asks, however many they are: the oldest go.
func TestStrangers(t *testing.T) {
	address := serve(t)
	var silent []net.Conn
	for range lobby.Default.Peer + 100 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		silent = append(silent, c)
	}
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !resp.Close {
		t.Errorf("who asks gets %s, and goes: %v", resp.Status, resp.Close)
	}
	if err := silent[0].SetReadDeadline(time.Now().Add(2 * lobby.DefaultTime)); err != nil {
		t.Fatal(err)
	}
	if _, err := silent[0].Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the oldest of those who say nothing stays: %v", err)
	}
}
