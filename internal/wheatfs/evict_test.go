package wheatfs

import (
	"bytes"
	"context"
	"testing"
)

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
