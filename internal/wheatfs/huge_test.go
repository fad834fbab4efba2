package wheatfs

import (
	"bytes"
	"context"
	"sync"
	"testing"
)

// TestHugePages: large pieces lie in huge pages while there are some ready, what is left of one that was cut is slack, of which
// there is never more than the limit, and the whole budget is there for data.
func TestHugePages(t *testing.T) {
	const chunks, budget = 32, 16
	s := newStore(t, chunks*ChunkSize, budget*ChunkSize)
	twin := make([]byte, chunks*ChunkSize)
	huge := func() (n int) {
		for i := range s.chunks {
			if s.chunks[i].isHuge.Load() {
				n++
			}
		}
		return n
	}
	write := func(off, n int) {
		t.Helper()
		fill(twin[off:off+n], int64(off+1))
		if _, err := s.WriteAt(twin[off:off+n], int64(off)); err != nil {
			t.Fatal(err)
		}
	}
	discard := func(off, n int) {
		t.Helper()
		clear(twin[off : off+n])
		if err := s.Discard(int64(off), int64(n)); err != nil {
			t.Fatal(err)
		}
	}
	write(0, ChunkSize)
	if huge() != 0 {
		t.Error("a huge page that nobody has ready")
	}
	discard(0, ChunkSize)
	s.SetReady(chunks)
	write(0, ChunkSize/8)
	if huge() != 0 {
		t.Error("a huge page for a small piece")
	}
	discard(0, ChunkSize)
	for i := range chunks {
		for part := range 2 {
			write(i*ChunkSize+part*ChunkSize/2, ChunkSize/2)
		}
	}
	check(t, s, twin)
	if n := huge(); n != budget {
		t.Errorf("%d huge pages, the budget has room for %d", n, budget)
	}
	// Every second block of all: no more slack than its limit.
	for off := 0; off < len(twin); off += 2 * BlockSize {
		discard(off, BlockSize)
		if u := s.Usage(); u.Slack > u.Budget/slackShare {
			t.Fatalf("%+v: too much slack", u)
		}
	}
	check(t, s, twin)
	// Blocks on the disk that are written again take the room that is free, and slack none of it.
	for off := 0; off < len(twin); off += BlockSize {
		write(off, BlockSize)
	}
	if err := s.Tidy(); err != nil {
		t.Fatal(err)
	}
	for off := 0; off < len(twin); off += BlockSize {
		write(off, BlockSize)
	}
	check(t, s, twin)
	if u := s.Usage(); u.RAM != u.Budget || u.Slack != 0 {
		t.Errorf("%+v: the budget is not used for data", u)
	}
	discard(0, len(twin))
	check(t, s, twin)
	if u := s.Usage(); u.RAM+u.Slack+u.Disk != 0 {
		t.Errorf("%+v of an empty store", u)
	}
}

// TestTidy: a budget that shrinks takes the slack with it.
func TestTidy(t *testing.T) {
	s := newStore(t, 16*ChunkSize, 16*ChunkSize)
	s.SetReady(100)
	data := bytes.Repeat([]byte{7}, ChunkSize/2)
	for i := range 4 {
		if _, err := s.WriteAt(data, int64(i)*ChunkSize); err != nil {
			t.Fatal(err)
		}
	}
	if u := s.Usage(); u.Slack == 0 || u.Slack > u.Budget/slackShare {
		t.Fatalf("%+v", u)
	}
	s.SetBudget(4 * ChunkSize)
	if err := s.Tidy(); err != nil {
		t.Fatal(err)
	}
	if u := s.Usage(); u.Slack > ChunkSize/2 || u.RAM != 4*ChunkSize/2 {
		t.Errorf("%+v", u)
	}
}

// TestOnePlace: two that write a new block at once give it one place, whichever, with the last of the budget.
func TestOnePlace(t *testing.T) {
	s := newStore(t, 2*ChunkSize, 0)
	data := [2][]byte{bytes.Repeat([]byte{1}, 8*BlockSize), bytes.Repeat([]byte{2}, 8*BlockSize)}
	for n := range 2000 {
		s.SetBudget(int64(n%20) * BlockSize)
		var both sync.WaitGroup
		for _, b := range data {
			both.Go(func() {
				if _, err := s.WriteAt(b, 0); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		c := &s.chunks[0]
		for w := range c.ram {
			if twice := c.ram[w].Load() & c.disk[w].Load(); twice != 0 {
				t.Fatalf("round %d: blocks %x have two places", n, twice)
			}
		}
		if u := s.Usage(); u.RAM+u.Disk != 8*BlockSize {
			t.Fatalf("round %d: %+v", n, u)
		}
		if err := s.Discard(0, ChunkSize); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFailedWrite: a write that the disk does not take leaves no place taken, and the error is told until the disk works.
func TestFailedWrite(t *testing.T) {
	s := newStore(t, 4*ChunkSize, 0)
	good := s.disk
	spoiled := newStore(t, 4*ChunkSize, 0)
	spoil(t, spoiled)
	s.disk = spoiled.disk
	data := bytes.Repeat([]byte{1}, 4*BlockSize)
	if _, err := s.WriteAt(data, ChunkSize); err == nil {
		t.Error("it was written to a disk that takes nothing")
	}
	if u := s.Usage(); u.Disk != 0 || s.Fault() == "" {
		t.Errorf("%+v, %q after a write that failed", u, s.Fault())
	}
	s.disk = good
	if _, err := s.WriteAt(data, ChunkSize); err != nil {
		t.Fatal(err)
	}
	if u := s.Usage(); u.Disk != 4*BlockSize || s.Fault() != "" || s.Placed(1) != 0 || s.Placed(2) != u.Disk {
		t.Errorf("%+v, %q, %d after a good one", u, s.Fault(), s.Placed(2))
	}
}

// TestEvictEnds: a budget that comes back ends what moves to the disk, and slack that is given back is not moved instead.
func TestEvictEnds(t *testing.T) {
	s := newStore(t, 32*ChunkSize, 32*ChunkSize)
	data := bytes.Repeat([]byte{1}, ChunkSize)
	for i := range int64(16) {
		if _, err := s.WriteAt(data, i*ChunkSize); err != nil {
			t.Fatal(err)
		}
	}
	s.SetBudget(12 * ChunkSize)
	if err := s.Evict(t.Context()); err != nil {
		t.Fatal(err)
	}
	if u := s.Usage(); u.RAM != 12*ChunkSize || u.Disk != 4*ChunkSize {
		t.Errorf("%+v", u)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	s.SetBudget(0)
	if err := s.Evict(ended); err != nil || s.Usage().RAM != 12*ChunkSize {
		t.Errorf("%+v, %v after its end", s.Usage(), err)
	}
}

// TestNoMemory: writes, reads and discards take no memory of Go's, here and there.
func TestNoMemory(t *testing.T) {
	for _, budget := range []int64{4 * ChunkSize, 0} {
		s := newStore(t, 4*ChunkSize, budget)
		s.SetReady(100)
		data := bytes.Repeat([]byte{1}, ChunkSize/2)
		var v View
		if n := testing.AllocsPerRun(50, func() {
			_, write := s.WriteAt(data, ChunkSize)
			_, read := s.ReadAt(data, ChunkSize)
			seen := s.View(&v, ChunkSize, ChunkSize/2)
			if seen {
				v.Close()
			}
			odd := s.View(&v, 512, 1024)
			if status(write) != 0 || status(read) != 0 || seen != (budget > 0) || odd || status(s.Discard(0, 4*ChunkSize)) != 0 {
				t.Error(write, read, seen, odd)
			}
		}); n > 0 {
			t.Errorf("%v times, with a budget of %d", n, budget)
		}
	}
}
