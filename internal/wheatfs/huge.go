package wheatfs

// What is written in large pieces gets huge pages: the kernel gives and takes one in a tenth of the time of the small ones
// that it is as large as. It takes back a whole one only, so what a huge page holds without data (slack) is limited, and
// beyond that its data move to small pages.

const (
	// hugeFrom is how many bytes must be written at once.
	hugeFrom = ChunkSize / 4
	// slackShare is the part of the budget that slack may be, and mostSlack the most, in blocks.
	slackShare, mostSlack = 8, 32 << 20 / BlockSize
)

// SetReady says how many huge pages the machine can give without having to make room for them first.
func (s *Store) SetReady(n int64) { s.ready.Store(n) }

// slackLimit is how much slack there may be, in blocks.
func slackLimit(budget int64) int64 { return min(budget/slackShare, mostSlack) }

// enlarge has an empty chunk, of which n blocks are about to be written, lie in a huge page, if one can be had.
func (s *Store) enlarge(i, n int) {
	c := &s.chunks[i]
	empty := func() bool {
		return !c.isHuge.Load() && c.ram.count(0, chunkBlocks)+c.disk.count(0, chunkBlocks) == 0
	}
	if s.ready.Load() <= 0 || !empty() { // most often, and then there is nothing to wait for
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !empty() {
		return
	}
	if s.slack.Load()+int64(chunkBlocks-n) > slackLimit(s.budget.Load()) || !s.take(chunkBlocks, &s.budget) {
		return
	}
	if s.ready.Add(-1) < 0 { // another has got the last
		s.used.Add(-chunkBlocks)
		return
	}
	s.slack.Add(chunkBlocks)
	s.huge.Populate(at(i, 0), ChunkSize)
	c.isHuge.Store(true)
}

// loosen gives the huge page of a chunk, if it has one, back when that holds nothing any more, or there is too much slack.
// It is called with the chunk's lock.
func (s *Store) loosen(i int) error {
	c := &s.chunks[i]
	if !c.isHuge.Load() || c.ram.count(0, chunkBlocks) > 0 && s.slack.Load() <= slackLimit(s.budget.Load()) {
		return nil
	}
	return s.shatter(i)
}

// shatter moves what a huge page holds to small pages, and gives it back. It is called with the chunk's lock.
func (s *Store) shatter(i int) error {
	c := &s.chunks[i]
	rest := int64(chunkBlocks)
	for from := 0; from < chunkBlocks; {
		inRAM, end := c.ram.run(from, chunkBlocks)
		if inRAM {
			off, n := at(i, from), int64(end-from)*BlockSize
			s.small.Populate(off, n)
			copy(s.small.Bytes()[off:off+n], s.huge.Bytes()[off:off+n])
			rest -= int64(end - from)
		}
		from = end
	}
	c.isHuge.Store(false)
	s.used.Add(-rest)
	s.slack.Add(-rest)
	return s.huge.GiveBack(at(i, 0), ChunkSize)
}

// Tidy gives slack back until there is no more than its limit, or none where data want the room.
func (s *Store) Tidy() error {
	budget := s.budget.Load()
	limit := slackLimit(budget)
	if s.used.Load()+chunkBlocks > budget {
		limit = 0
	}
	for i := range s.chunks {
		if s.slack.Load() <= limit {
			return nil
		}
		if !s.chunks[i].isHuge.Load() {
			continue
		}
		if err := s.tidy(i); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) tidy(i int) error {
	c := &s.chunks[i]
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isHuge.Load() || c.ram.count(0, chunkBlocks) == chunkBlocks {
		return nil
	}
	return s.shatter(i)
}
