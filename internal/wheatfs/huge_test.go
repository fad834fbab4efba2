package wheatfs

import (
	"bytes"
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
