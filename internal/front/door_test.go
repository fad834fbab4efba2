package front

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/ramaria-db/ramaria/client"
)

// told answers with the same until it is given another.
type told struct {
	Pool
	status client.Status
	asked  int
}

func (p *told) Status(context.Context) (client.Status, error) {
	p.asked++
	return p.status, nil
}

// TestKnown: what the door knows lasts as long as the server that it knows it of.
func TestKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	start := func() {
		t.Helper()
		_ = os.Remove(path)
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
	}
	pool := &told{status: client.Status{Endpoint: client.Endpoint{Socket: path, Password: "old"}}}
	d := &Door{c: Config{Pool: pool}}
	knows := func(when, password string) {
		t.Helper()
		st, err := d.known(t.Context(), false)
		if err != nil || st.Endpoint.Password != password {
			t.Errorf("%s it knows %q, %v, want %q", when, st.Endpoint.Password, err, password)
		}
	}
	start()
	knows("at first", "old")
	knows("with the socket looked at", "old")
	before := pool.asked
	d.keep(greeting{version: "10.11"})
	for range 100 {
		knows("later", "old")
	}
	if pool.asked != before {
		t.Errorf("it asks %d times of a hundred of a server that goes on", pool.asked-before)
	}
	start() // another server
	pool.status.Endpoint.Password = "new"
	knows("of another server", "new")
	if d.greeting.version != "" {
		t.Error("it greets as the server before")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	pool.status.Endpoint.Password = "newer"
	knows("of one that has no socket yet", "newer")
	pool.status.Endpoint.Password = "newest"
	knows("and again", "newest")
}

// BenchmarkKnown is what a connection pays for it.
func BenchmarkKnown(b *testing.B) {
	path := filepath.Join(b.TempDir(), "s")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		b.Fatal(err)
	}
	d := &Door{c: Config{Pool: &told{status: client.Status{Endpoint: client.Endpoint{Socket: path}}}}}
	for b.Loop() {
		if _, err := d.known(b.Context(), false); err != nil {
			b.Fatal(err)
		}
	}
}
