package wheatfs

import (
	"context"
	"fmt"
)

// evictStep is how many blocks are moved before those who wait for their chunk have a turn.
const evictStep = chunkBlocks / 8

// SetBudget says how many bytes may lie in RAM from now on. Those that are there stay until Evict.
func (s *Store) SetBudget(bytes int64) { s.budget.Store(max(bytes, 0) / BlockSize) }

// SetMost says how many bytes may lie in RAM at the very most, while the disk has no room for what it is to take.
func (s *Store) SetMost(bytes int64) { s.most.Store(max(bytes, 0) / BlockSize) }

// Evict moves to the disk what lies in RAM beyond the budget, whatever that becomes meanwhile: first what has not been used
// of late. It ends early with ctx. An error leaves in RAM what could not be moved.
func (s *Store) Evict(ctx context.Context) error {
	s.evicting.Lock()
	defer s.evicting.Unlock()
	// The second time around only what is in use is hot, and the third all goes.
	for k := 0; k < 3*len(s.chunks) && s.over() && ctx.Err() == nil; k++ {
		i := s.hand
		s.hand = (s.hand + 1) % len(s.chunks)
		c := &s.chunks[i]
		if c.ram.count(0, chunkBlocks) == 0 || c.hot.Swap(false) && k < 2*len(s.chunks) {
			continue
		}
		for from := 0; from < chunkBlocks; from += evictStep {
			if err := s.evict(i, from, from+evictStep); err != nil {
				return fmt.Errorf("move data from RAM to the disk: %w", err)
			}
		}
	}
	return nil
}

// over reports whether more lies in RAM than may.
func (s *Store) over() bool { return s.used.Load() > s.budget.Load() }

// evict moves blocks of a chunk from RAM to the disk, and with the last of them gives its huge page back.
func (s *Store) evict(i, first, end int) error {
	c := &s.chunks[i]
	c.mu.Lock()
	defer c.mu.Unlock()
	for from := first; from < end; {
		inRAM, to := c.ram.run(from, end)
		if inRAM {
			// Straight from where it lies, which begins at a block.
			off := at(i, from)
			if err := s.tell(s.disk.write(s.memory(i, from, to), off)); err != nil {
				s.disk.dig(off, int64(to-from)*BlockSize, allLanes) // a part of it may be there
				return err
			}
			n := c.ram.remove(from, to)
			c.disk.add(from, to)
			s.onDisk.Add(int64(n))
			s.evicted.Add(int64(n) * BlockSize)
			if err := s.free(i, from, to, n); err != nil {
				return err
			}
		}
		from = to
	}
	if end < chunkBlocks {
		return nil // the rest follows
	}
	return s.loosen(i)
}
