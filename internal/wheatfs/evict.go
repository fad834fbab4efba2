package wheatfs

import "fmt"

// SetBudget says how many bytes may lie in RAM from now on. Those that are there stay until Evict.
func (s *Store) SetBudget(bytes int64) { s.budget.Store(max(bytes, 0) / BlockSize) }

// Evict moves up to n bytes to the disk, and more by a chunk, of those that lie in RAM and have not been used of late.
// It returns how many. An error leaves in RAM what could not be moved.
func (s *Store) Evict(n int64) (moved int64, err error) {
	s.evicting.Lock()
	defer s.evicting.Unlock()
	// The second time around only what is in use is hot, and the third all goes.
	for k := 0; k < 3*len(s.chunks) && moved < n; k++ {
		i := s.hand
		s.hand = (s.hand + 1) % len(s.chunks)
		c := &s.chunks[i]
		if c.ram.count(0, chunkBlocks) == 0 || c.hot.Swap(false) && k < 2*len(s.chunks) {
			continue
		}
		went, err := s.evict(i)
		moved += went
		if err != nil {
			return moved, fmt.Errorf("move data from RAM to the disk: %w", err)
		}
	}
	return moved, nil
}

// evict moves the blocks of a chunk from RAM to the disk.
func (s *Store) evict(i int) (moved int64, err error) {
	c := &s.chunks[i]
	c.mu.Lock()
	defer c.mu.Unlock()
	for from := 0; from < chunkBlocks; {
		inRAM, end := c.ram.run(from, chunkBlocks)
		if inRAM {
			// Straight from where it lies, which begins at a block.
			if err := s.disk.write(s.memory(i, from, end), at(i, from)); err != nil {
				return moved, err
			}
			n := c.ram.remove(from, end)
			c.disk.add(from, end)
			s.onDisk.Add(int64(n))
			s.evicted.Add(int64(n) * BlockSize)
			moved += int64(n) * BlockSize
			if err := s.free(i, from, end, n); err != nil {
				return moved, err
			}
		}
		from = end
	}
	return moved, nil
}
