package wheatfs

import (
	"errors"
	"fmt"
	"syscall"
)

// populateFrom is how many blocks are given memory in one call instead of one by one.
const populateFrom = 4

// where tells where the blocks lie that begin with from: all in RAM, all on the disk, or all nowhere.
func (c *chunk) where(from, end int) (inRAM, onDisk bool, to int) {
	if inRAM, to = c.ram.run(from, end); inRAM {
		return true, false, to
	}
	onDisk, to = c.disk.run(from, to)
	return false, onDisk, to
}

// ReadAt implements io.ReaderAt.
func (s *Store) ReadAt(b []byte, off int64) (int, error) {
	err := s.pieces(off, int64(len(b)), func(i, from, end int) error {
		return s.read(i, from, end, b[at(i, from)-off:at(i, end)-off])
	})
	if err != nil {
		return 0, fmt.Errorf("read: %w", err)
	}
	return len(b), nil
}

func (s *Store) read(i, from, end int, b []byte) error {
	c := &s.chunks[i]
	c.mu.RLock()
	defer c.mu.RUnlock()
	for first := from; first < end; {
		inRAM, onDisk, to := c.where(first, end)
		part := b[(first-from)*BlockSize : (to-from)*BlockSize]
		switch {
		case inRAM:
			c.hot.Store(true)
			copy(part, s.memory(i, first, to))
		case onDisk:
			if err := s.disk.read(part, at(i, first)); err != nil {
				return s.tell(err)
			}
		default:
			clear(part)
		}
		first = to
	}
	return nil
}

// View shows bytes of a store where they lie.
type View struct {
	// Parts are they, in order.
	Parts [][]byte

	room   [2][]byte // for Parts
	chunks []chunk
}

// View shows n bytes at off, not more than ChunkSize, if all lie in RAM, which they do until Close is called. It returns
// false if they do not.
func (s *Store) View(v *View, off, n int64) bool {
	if !s.has(off, n) || n == 0 || n > ChunkSize {
		return false
	}
	v.Parts, v.chunks = v.room[:0], s.chunks[off/ChunkSize:(off+n-1)/ChunkSize+1]
	// The order of the locks is that of the chunks, so that no two views wait for each other.
	for i := range v.chunks {
		v.chunks[i].mu.RLock()
	}
	for from := off; from < off+n; {
		i := int(from / ChunkSize)
		first := int(from%ChunkSize) / BlockSize
		last := min(chunkBlocks, first+int(off+n-from)/BlockSize)
		c := &s.chunks[i]
		if inRAM, to := c.ram.run(first, last); !inRAM || to < last {
			v.Close()
			return false
		}
		c.hot.Store(true)
		v.Parts = append(v.Parts, s.memory(i, first, last))
		from = at(i, last)
	}
	return true
}

// Close ends the view.
func (v *View) Close() {
	for i := range v.chunks {
		v.chunks[i].mu.RUnlock()
	}
	v.Parts, v.chunks = nil, nil
}

// WriteAt implements io.WriterAt.
func (s *Store) WriteAt(b []byte, off int64) (int, error) {
	err := s.pieces(off, int64(len(b)), func(i, from, end int) error {
		if len(b) >= hugeFrom {
			s.enlarge(i, end-from)
		}
		return s.write(i, from, end, b[at(i, from)-off:at(i, end)-off])
	})
	if err != nil {
		return 0, fmt.Errorf("write: %w", err)
	}
	return len(b), nil
}

func (s *Store) write(i, from, end int, b []byte) error {
	c := &s.chunks[i]
	c.mu.RLock()
	if n := c.disk.count(from, end); n > 0 && (c.isHuge.Load() || s.used.Load()+int64(n) <= s.budget.Load()) {
		// There is room in RAM again for blocks that are on the disk.
		c.mu.RUnlock()
		s.recall(i, from, end)
		c.mu.RLock()
	}
	var placed blockSet
	s.place(c, from, end, &placed)
	for first := from; first < end; {
		inRAM, to := c.ram.run(first, end)
		part := b[(first-from)*BlockSize : (to-from)*BlockSize]
		if inRAM {
			s.put(i, first, to, part)
		} else if err := s.tell(s.disk.write(part, at(i, first))); err != nil {
			c.mu.RUnlock()
			if isFull(err) && s.keep(i, from, end, b) {
				return nil
			}
			s.forget(i, from, end, &placed)
			return err
		}
		first = to
	}
	c.mu.RUnlock()
	return nil
}

// isFull reports whether a disk has no room, or its user may not have more of it.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// keep writes blocks that the disk has no room for to RAM, whatever the budget says, and reports whether there was
// memory for them. The kernel has promised them to a program already; until now they were in its page cache, so they
// are in memory as it is. Evict moves them to the disk once it has room again.
func (s *Store) keep(i, from, end int, b []byte) bool {
	c := &s.chunks[i]
	c.mu.Lock()
	defer c.mu.Unlock()
	n := int64(end - from - c.ram.count(from, end)) // those on the disk come to RAM, too
	switch {
	case c.isHuge.Load():
		s.slack.Add(-n)
	case !s.takeMost(int(n)):
		return false
	}
	for first := from; first < end; {
		onDisk, to := c.disk.run(first, end)
		if onDisk {
			s.onDisk.Add(-int64(c.disk.remove(first, to)))
			s.disk.dig(at(i, first), int64(to-first)*BlockSize, allLanes)
		}
		first = to
	}
	c.ram.add(from, end)
	s.put(i, from, end, b)
	return true
}

// takeMost takes n blocks beyond the budget. What there was a tenth of a second ago may be used up, or too little a share.
func (s *Store) takeMost(n int) bool {
	if s.take(n, &s.most) {
		return true
	}
	if s.recount == nil {
		return false
	}
	s.recount()
	return s.take(n, &s.most)
}

// forget takes back the places on the disk that a write which failed was given: they hold nothing.
func (s *Store) forget(i, from, end int, placed *blockSet) {
	c := &s.chunks[i]
	c.mu.Lock()
	defer c.mu.Unlock()
	for first := from; first < end; {
		is, to := placed.run(first, end)
		if is {
			s.onDisk.Add(-int64(c.disk.remove(first, to)))
			s.disk.dig(at(i, first), int64(to-first)*BlockSize, allLanes)
		}
		first = to
	}
}

// place gives blocks that have no place one, all the same: in RAM, if the budget has some left. It adds them to placed.
func (s *Store) place(c *chunk, from, end int, placed *blockSet) {
	if c.ram.count(from, end)+c.disk.count(from, end) == end-from {
		return // most often, and then for good: mu is held
	}
	c.placing.Lock()
	defer c.placing.Unlock()
	missing := end - from - c.ram.count(from, end) - c.disk.count(from, end)
	to := &c.disk
	if missing > 0 && s.takeIn(c, missing) {
		to = &c.ram
	} else {
		s.onDisk.Add(int64(missing))
	}
	for first := from; first < end; {
		inRAM, onDisk, last := c.where(first, end)
		if !inRAM && !onDisk {
			to.add(first, last)
			placed.add(first, last)
		}
		first = last
	}
}

// put writes blocks that are in RAM.
func (s *Store) put(i, from, end int, b []byte) {
	c := &s.chunks[i]
	c.hot.Store(true)
	if end-from >= populateFrom && !c.isHuge.Load() {
		s.small.Populate(at(i, from), int64(end-from)*BlockSize)
	}
	copy(s.memory(i, from, end), b)
}

// recall gives blocks that lie on the disk, and are about to be written, a place in RAM while the budget lasts.
func (s *Store) recall(i, from, end int) {
	c := &s.chunks[i]
	c.mu.Lock()
	defer c.mu.Unlock()
	for first := from; first < end; {
		onDisk, to := c.disk.run(first, end)
		if onDisk {
			if !s.takeIn(c, to-first) {
				return
			}
			s.onDisk.Add(-int64(c.disk.remove(first, to)))
			c.ram.add(first, to)
			s.disk.dig(at(i, first), int64(to-first)*BlockSize, allLanes)
		}
		first = to
	}
}

// Discard makes n bytes from off on read as zeros, and gives their room back.
func (s *Store) Discard(off, n int64) error {
	var on laneSet
	var failed error
	err := s.pieces(off, n, func(i, from, end int) error {
		c := &s.chunks[i]
		c.mu.Lock()
		defer c.mu.Unlock()
		if n := c.disk.remove(from, end); n > 0 {
			s.onDisk.Add(-int64(n))
			in, _ := laneOf(at(i, from))
			on |= 1 << in
		}
		if n := c.ram.remove(from, end); n > 0 {
			failed = errors.Join(failed, s.free(i, from, end, n), s.loosen(i))
		}
		return nil
	})
	// Of all chunks at once, and after them: ext4 gives the blocks to nobody before this has returned, and whoever
	// writes there then waits for the hole.
	s.disk.dig(off, n, on)
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("discard: %w", err)
	}
	return nil
}

// free gives the memory of blocks back, of which n were in RAM. Of a huge page it is slack from then on. It is called with
// the chunk's lock.
func (s *Store) free(i, from, end, n int) error {
	c := &s.chunks[i]
	if c.isHuge.Load() {
		s.slack.Add(int64(n))
		return nil
	}
	s.used.Add(-int64(n))
	if c.ram.count(0, chunkBlocks) == 0 { // all of it: with the page table, where the kernel does that
		from, end = 0, chunkBlocks
	}
	return s.small.GiveBack(at(i, from), int64(end-from)*BlockSize)
}
