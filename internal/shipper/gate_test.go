package shipper_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/shipper"
)

// gate holds back what is behind a position, and counts what it was shown before that was appended.
type gate struct {
	log *counting

	mu    sync.Mutex
	at    archive.Position
	held  bool
	shown int
	late  bool
}

func (g *gate) Pass(at archive.Position, b []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shown += len(b)
	g.late = g.late || at.Before(g.log.End())
}

func (g *gate) Limit() (archive.Position, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at, g.held
}

func (g *gate) set(at archive.Position, held bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at, g.held = at, held
}

// told writes down what it is told.
type told struct {
	mu   sync.Mutex
	list []string
}

func (a *told) say(text string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, text)
	return nil
}

func (a *told) Start(file string) error             { return a.say(file) }
func (a *told) Ack(file string, offset int64) error { return a.say(fmt.Sprint(file, ":", offset)) }

func (a *told) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.list)
}

// TestGate: what is behind the gate is archived and not acknowledged, also when another file of the log has begun, until
// the gate opens.
func TestGate(t *testing.T) {
	dir := t.TempDir()
	write := func(n, size int) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("log.%06d", n)), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, acks := &counting{}, &told{}
	g := &gate{log: l, at: archive.Position{File: 1, Offset: 10}, held: true}
	await := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(40 * time.Second); !is(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: the log ends at %s, and it was told %q", what, l.End(), acks.all())
			}
		}
	}
	says := func(want ...string) {
		t.Helper()
		await("not told", func() bool { return len(acks.all()) >= len(want) })
		time.Sleep(100 * time.Millisecond) // for what must not come
		if got := acks.all(); !slices.Equal(got, want) {
			t.Fatalf("it was told %q, want %q", got, want)
		}
	}
	write(1, 30)
	ship(t, &shipper.Shipper{Dir: dir, Base: "log", Log: l, Acks: acks, Gate: g})
	await("not archived", func() bool { return l.End() == archive.Position{File: 1, Offset: 30} })
	says("log.000001", "log.000001:10")
	write(2, 5)
	await("not archived", func() bool { return l.End() == archive.Position{File: 2, Offset: 5} })
	says("log.000001", "log.000001:10")
	g.set(archive.Position{File: 1, Offset: 20}, true)
	says("log.000001", "log.000001:10", "log.000001:20")
	g.set(archive.Position{}, false)
	says("log.000001", "log.000001:10", "log.000001:20", "log.000002", "log.000002:5")
	if g.shown != 35 || g.late {
		t.Errorf("it was shown %d bytes of 35, some of them too late: %t", g.shown, g.late)
	}
}
