package wheatfs

import (
	"bytes"
	"os"
	"sync"
	"testing"
)

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

// TestDiskHasNoRoom: what a full disk refuses stays in RAM beyond the budget, up to the most that there may be, and
// moves once there is room.
func TestDiskHasNoRoom(t *testing.T) {
	need(t)
	for _, huge := range []int64{0, 1 << 40} {
		dir := smallDisk(t, "8m")
		s, err := NewStore(32*mb, 4*mb, dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		s.SetReady(huge)
		s.SetMost(12 * mb)
		want := make([]byte, 32*mb)
		write := func(from, end int64) error {
			fill(want[from:end], from)
			_, err := s.WriteAt(want[from:end], from)
			return err
		}
		if err := write(0, 8*mb); err != nil { // 4 of them on the disk
			t.Fatal(err)
		}
		hog := takeAll(t, dir)
		if err := write(6*mb+3*BlockSize, 12*mb); err != nil {
			t.Error(err)
		}
		check(t, s, want)
		if err := s.Evict(t.Context()); !isFull(err) {
			t.Errorf("%v: the disk is full", err)
		}
		check(t, s, want)
		before := bytes.Clone(want)
		if err := write(14*mb, 32*mb); !isFull(err) {
			t.Errorf("%v: there is no room for so much", err)
		}
		// Of a write that failed a part may be there, as of any disk.
		if err := s.Discard(14*mb, 18*mb); err != nil {
			t.Error(err)
		}
		check(t, s, before)
		if err := os.Remove(hog); err != nil {
			t.Fatal(err)
		}
		shrink(t, s, 4*mb)
		check(t, s, before)
		if u := s.Usage(); u.RAM > 4*mb || s.Fault() != "" {
			t.Errorf("%+v, and fault %q: the disk has room again", u, s.Fault())
		}
	}
}
