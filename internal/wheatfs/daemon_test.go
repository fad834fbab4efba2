package wheatfs

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/host"
)

// fakeMachine has so much memory, and counts who looks.
type fakeMachine struct {
	available atomic.Int64
	looks     atomic.Int64
	// blind says that nobody can tell what there is.
	blind atomic.Bool
}

func (m *fakeMachine) Memory() (host.Memory, error) {
	m.looks.Add(1)
	if m.blind.Load() {
		return host.Memory{}, os.ErrPermission
	}
	return host.Memory{Total: 16 << 30, Available: m.available.Load()}, nil
}

func (m *fakeMachine) HugePages() (int64, error) { return 4, nil }

// startGovernor runs one until the test ends.
func startGovernor(t *testing.T, s *Store, m *fakeMachine, reports reporter) *governor {
	t.Helper()
	g := &governor{store: s, machine: m, changed: make(chan struct{}, 1)}
	g.ram.Store(s.Usage().Budget)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		g.run(done, reports, Report{})
	}()
	t.Cleanup(func() {
		close(done)
		<-ended
	})
	return g
}

// TestGovernor: the budget goes by the memory, less what is left to others, and what is over it moves.
func TestGovernor(t *testing.T) {
	s := newStore(t, 64*mb, 32*mb)
	m := &fakeMachine{}
	m.available.Store(8 << 30)
	startGovernor(t, s, m, newReporter(io.Discard))
	if _, err := s.WriteAt(make([]byte, 16*mb), 0); err != nil {
		t.Fatal(err)
	}
	until(t, "huge pages are ready", func() bool { return s.ready.Load() == 4 })
	if u := s.Usage(); u.Budget != 32*mb || u.RAM != 16*mb {
		t.Errorf("%+v with much memory", u)
	}
	m.available.Store(1<<30 - 8*mb) // a sixteenth of the machine, and a little less
	until(t, "the budget shrinks", func() bool { return s.Usage().Budget <= 8*mb })
	until(t, "what is over it has moved", func() bool { u := s.Usage(); return u.RAM+u.Slack <= u.Budget })
	m.available.Store(8 << 30)
	until(t, "it grows again", func() bool { return s.Usage().Budget == 32*mb })
}

// TestStructuresTold: what the file system takes for itself is told also where nothing has changed since it was named.
func TestStructuresTold(t *testing.T) {
	s := newStore(t, 64*mb, 32*mb)
	if _, err := s.WriteAt(make([]byte, 16*mb), 0); err != nil {
		t.Fatal(err)
	}
	m := &fakeMachine{}
	m.available.Store(8 << 30)
	in, out := io.Pipe()
	defer in.Close()
	var last atomic.Pointer[Report]
	go func() {
		for reports := json.NewDecoder(in); ; {
			var r Report
			if reports.Decode(&r) != nil {
				return
			}
			last.Store(&r)
		}
	}()
	g := startGovernor(t, s, m, newReporter(out))
	until(t, "it reports", func() bool { return last.Load() != nil })
	looks := m.looks.Load()
	until(t, "nothing has changed", func() bool { return m.looks.Load() > looks+4 })
	g.structures.Store(16 * mb)
	until(t, "the structures are told", func() bool { return last.Load().Structures == 16*mb })
}

// TestGovernorMost: while the disk is full a store takes a share of the memory that is left and no more before it looks again,
// since others take some too, and nothing beyond what it was given where nobody can tell what there is.
func TestGovernorMost(t *testing.T) {
	s := newStore(t, 64*mb, 8*mb)
	m := &fakeMachine{}
	g := &governor{store: s, machine: m}
	g.ram.Store(8 * mb)
	half := int64(1<<30) / 2 // of what is left to others
	m.available.Store(half + 40*mb)
	if _, most := g.budget(8 * mb); most != 18*mb {
		t.Errorf("%d MB at most where there are 40 more", most/mb)
	}
	m.available.Store(half / 2)
	if _, most := g.budget(8 * mb); most != 8*mb {
		t.Errorf("%d MB at most where there are none", most/mb)
	}
	m.blind.Store(true)
	if budget, most := g.budget(8 * mb); budget != 8*mb || most != 8*mb {
		t.Errorf("%d MB, %d at most, where that cannot be told", budget/mb, most/mb)
	}
	m.blind.Store(false)
	s.recount = g.recount
	s.SetMost(0)
	if s.takeMost(1) {
		t.Error("it takes what is left to others")
	}
	m.available.Store(half + 40*mb)
	if !s.takeMost(1) {
		t.Error("it does not look again")
	}
}

// TestTakeAtOnce: one that asks for more than there is keeps none from who asks for less.
func TestTakeAtOnce(t *testing.T) {
	s := newStore(t, 64*mb, 8*mb)
	s.SetMost(8 * mb)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			default:
				s.takeMost(1 << 20)
			}
		}
	}()
	for range 1 << 20 {
		if !s.take(1, &s.budget) {
			t.Fatal("blocks are taken that nobody has")
		}
		s.used.Add(-1)
	}
}

// TestGovernorRests: when the disk takes nothing it does not try again and again, and it goes on when nobody reads what it
// reports.
func TestGovernorRests(t *testing.T) {
	s := newStore(t, 64*mb, 32*mb)
	spoil(t, s)
	m := &fakeMachine{}
	m.available.Store(8 << 30)
	r, w, err := os.Pipe() // nobody reads: as of a keeper that was stopped
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if err := w.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	g := startGovernor(t, s, m, newReporter(w))
	if _, err := s.WriteAt(make([]byte, 16*mb), 0); err != nil {
		t.Fatal(err)
	}
	m.available.Store(0)
	before, began := m.looks.Load(), time.Now()
	for time.Since(began) < 20*reportInterval {
		g.store.evicted.Add(1) // a report is new each time
		time.Sleep(reportInterval / 10)
	}
	looks := m.looks.Load() - before
	if most := int64(time.Since(began)/reportInterval) + 2; looks > most || looks < 3 {
		t.Errorf("%d looks in %v", looks, time.Since(began))
	}
}

// TestReporterNewest: who listens late gets the newest.
func TestReporterNewest(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	reports := newReporter(w)
	const all = 3000 // more than a pipe holds
	for n := range int64(all) {
		reports.tell(Report{Usage: Usage{RAM: n}})
	}
	d := json.NewDecoder(r)
	for last := int64(-1); last < all-1; {
		var got Report
		if err := d.Decode(&got); err != nil {
			t.Fatal(err)
		}
		if got.RAM <= last {
			t.Fatalf("%d after %d", got.RAM, last)
		}
		last = got.RAM
	}
}

// TestDaemonKilledFailsAtOnce: with the daemon the file system is shut down, so that who creates and writes files is told at
// once. ext4 would go on in what it knows by itself, and look for room on a device that answers nothing.
func TestDaemonKilledFailsAtOnce(t *testing.T) {
	need(t)
	o := options(t.TempDir())
	o.Size = 8 << 30 // many groups of blocks to look for room in
	f, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := f.Attach(dir); err != nil {
		t.Fatal(err)
	}
	defer f.Close(true)
	file, err := os.Create(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(make([]byte, mb)); err != nil {
		t.Fatal(err)
	}
	if err := f.daemon.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if f.Err() == nil {
		t.Error("the daemon was killed, and there is no error")
	}
	// With the page cache a write would succeed for long.
	if _, err := file.Write([]byte("more")); err == nil {
		t.Error("a write succeeds on a file system without a device")
	}
	if _, err := os.Create(filepath.Join(dir, "g")); err == nil {
		t.Error("so does a file that is created")
	}
}
