package wheatfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// ChunkSize is how many bytes are placed at once, in RAM or on the disk.
	ChunkSize = 1 << 20
	// BlockSize is the grain, in bytes, in which room is given back, and of reads and writes of the disk.
	BlockSize   = 4096
	chunkBlocks = ChunkSize / BlockSize
	// buffers is how many reads and writes of the disk are under way at once.
	buffers = 8
)

// Store is the content of a block device that lies in RAM while a budget lasts, and on a disk beyond. What was never
// written, or was discarded, reads as zeros and takes no room. Its methods may be called at once, but for those on
// the same bytes: as with any block device, that is for its user to order.
type Store struct {
	chunks []chunk
	slots  int // of the arena
	arena  *sys.Arena
	disk   *os.File
	// bounce are buffers for the disk, which takes memory that begins at a block: they are there from the
	// beginning, since the store works on when the machine has no memory left.
	bounce      chan []byte
	bounceArena *sys.Arena

	mu     sync.Mutex // guards what follows
	free   []int32    // slots of the arena that hold nothing
	budget int        // how many slots may hold something
	used   int        // how many do
	onDisk int        // chunks that are there
	hand   int        // of the clock that finds chunks to evict

	evicted atomic.Int64
}

// chunk is a part of the device.
type chunk struct {
	// mu is held for reading by those who read and write data, and for writing by those who move it or take
	// it away.
	mu sync.RWMutex
	// slot is the place in the arena, or one of the two that follow.
	slot int32
	hot  atomic.Bool // used since the clock's hand came by
	// held has a bit for each block that was written.
	held [chunkBlocks / 64]atomic.Uint64
}

const (
	nowhere int32 = -1
	onDisk  int32 = -2
)

// NewStore makes an empty store of size bytes, of which up to most, rounded down to chunks, lie in RAM. disk is a file
// that nobody else uses, empty and sparse, read and written past the page cache (sys.UnnamedDirect), and is closed
// with the store.
func NewStore(size, most int64, disk *os.File) (*Store, error) {
	if size <= 0 || size%ChunkSize != 0 || most < 0 {
		return nil, fmt.Errorf("make store of %d bytes, %d in RAM: it has whole chunks of %d", size, most, ChunkSize)
	}
	slots := int(min(most, size) / ChunkSize)
	s := &Store{chunks: make([]chunk, size/ChunkSize), slots: slots, disk: disk, budget: slots, bounce: make(chan []byte, buffers)}
	for i := range s.chunks {
		s.chunks[i].slot = nowhere
	}
	var err error
	if s.arena, err = sys.NewArena(max(int64(slots), 1) * ChunkSize); err != nil {
		return nil, err
	}
	if s.bounceArena, err = sys.NewArena(buffers * ChunkSize); err != nil {
		return nil, errors.Join(err, s.arena.Close())
	}
	for i := range buffers {
		b := s.bounceArena.Bytes()[i*ChunkSize : (i+1)*ChunkSize : (i+1)*ChunkSize]
		clear(b) // which makes it memory
		s.bounce <- b
	}
	for i := slots - 1; i >= 0; i-- {
		s.free = append(s.free, int32(i))
	}
	return s, nil
}

// Close gives everything up. Nothing may be under way.
func (s *Store) Close() error {
	return errors.Join(s.arena.Close(), s.bounceArena.Close(), s.disk.Close())
}

// Size is how many bytes there are.
func (s *Store) Size() int64 { return int64(len(s.chunks)) * ChunkSize }

// Usage is where the data lies.
type Usage struct {
	// RAM and Disk are bytes of chunks that have data, Budget those that RAM may have.
	RAM, Disk, Budget int64
	// Evicted are bytes that have left RAM for the disk so far.
	Evicted int64
}

// Usage tells where the data lies.
func (s *Store) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Usage{RAM: int64(s.used) * ChunkSize, Disk: int64(s.onDisk) * ChunkSize, Budget: int64(s.budget) * ChunkSize, Evicted: s.evicted.Load()}
}

// pieces calls do for the part of each chunk that n bytes from off on lie in: from at to end in it.
func (s *Store) pieces(off int64, n int, do func(c *chunk, first int64, at, end, done int) error) error {
	if off < 0 || off+int64(n) > s.Size() {
		return io.ErrUnexpectedEOF
	}
	for done := 0; done < n; {
		i, at := (off+int64(done))/ChunkSize, int((off+int64(done))%ChunkSize)
		end := min(ChunkSize, at+n-done)
		if err := do(&s.chunks[i], i*ChunkSize, at, end, done); err != nil {
			return err
		}
		done += end - at
	}
	return nil
}

// ReadAt implements io.ReaderAt, for ranges within the store.
func (s *Store) ReadAt(b []byte, off int64) (int, error) {
	err := s.pieces(off, len(b), func(c *chunk, first int64, at, end, done int) error {
		c.mu.RLock()
		defer c.mu.RUnlock()
		return s.read(c, first, at, b[done:done+end-at])
	})
	if err != nil {
		return 0, fmt.Errorf("read %d bytes at %d: %w", len(b), off, err)
	}
	return len(b), nil
}

func (s *Store) read(c *chunk, first int64, at int, b []byte) error {
	switch c.slot {
	case nowhere:
		clear(b)
		return nil
	case onDisk:
		buffer := <-s.bounce
		defer func() { s.bounce <- buffer }()
		from, to := at/BlockSize*BlockSize, roundUp(at+len(b))
		if err := s.readDisk(buffer[:to-from], first+int64(from)); err != nil {
			return err
		}
		copy(b, buffer[at-from:])
		return nil
	}
	c.hot.Store(true)
	copy(b, s.ram(c)[at:])
	return nil
}

// readDisk reads blocks, of which those behind the file's end are zeros.
func (s *Store) readDisk(b []byte, off int64) error {
	n, err := s.disk.ReadAt(b, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	clear(b[n:])
	return err
}

func roundUp(n int) int { return (n + BlockSize - 1) / BlockSize * BlockSize }

// ram is the memory of a chunk that has some.
func (s *Store) ram(c *chunk) []byte {
	return s.arena.Bytes()[int64(c.slot)*ChunkSize:][:ChunkSize]
}

// WriteAt implements io.WriterAt, for ranges within the store.
func (s *Store) WriteAt(b []byte, off int64) (int, error) {
	err := s.pieces(off, len(b), func(c *chunk, first int64, at, end, done int) error {
		return s.write(c, first, at, b[done:done+end-at])
	})
	if err != nil {
		return 0, fmt.Errorf("write %d bytes at %d: %w", len(b), off, err)
	}
	return len(b), nil
}

func (s *Store) write(c *chunk, first int64, at int, b []byte) error {
	c.mu.RLock()
	if c.slot == nowhere {
		c.mu.RUnlock()
		s.place(c)
		c.mu.RLock()
	}
	// Whole blocks go beside each other. It may be nowhere again, by a Discard of other blocks.
	if c.slot >= 0 || c.slot == onDisk && at%BlockSize == 0 && len(b)%BlockSize == 0 {
		defer c.mu.RUnlock()
		return s.put(c, first, at, b)
	}
	c.mu.RUnlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slot == nowhere {
		s.placeLocked(c)
	}
	return s.put(c, first, at, b)
}

// put writes to a chunk that has a place.
func (s *Store) put(c *chunk, first int64, at int, b []byte) error {
	if c.slot == onDisk {
		return s.writeDisk(c, first, at, b)
	}
	c.hot.Store(true)
	copy(s.ram(c)[at:], b)
	c.hold(at, at+len(b))
	return nil
}

// writeDisk writes to a chunk that is on the disk: the blocks at its ends are read before, and that goes alone.
func (s *Store) writeDisk(c *chunk, first int64, at int, b []byte) error {
	buffer := <-s.bounce
	defer func() { s.bounce <- buffer }()
	from, to := at/BlockSize*BlockSize, roundUp(at+len(b))
	blocks := buffer[:to-from]
	if from != at {
		if err := s.readDisk(blocks[:BlockSize], first+int64(from)); err != nil {
			return err
		}
	}
	if last := to - BlockSize; to != at+len(b) && (last != from || from == at) {
		if err := s.readDisk(blocks[last-from:], first+int64(last)); err != nil {
			return err
		}
	}
	copy(blocks[at-from:], b)
	if _, err := s.disk.WriteAt(blocks, first+int64(from)); err != nil {
		return err
	}
	c.hold(at, at+len(b))
	return nil
}

// hold notes that the blocks of a range have data.
func (c *chunk) hold(at, end int) {
	for n := at / BlockSize; n*BlockSize < end; n++ {
		if word, bit := &c.held[n/64], uint64(1)<<(n%64); word.Load()&bit == 0 {
			word.Or(bit)
		}
	}
}

func (c *chunk) holds(n int) bool { return c.held[n/64].Load()&(1<<(n%64)) != 0 }

func (c *chunk) empty() bool {
	for i := range c.held {
		if c.held[i].Load() != 0 {
			return false
		}
	}
	return true
}

// place gives a chunk a place, if it has none.
func (s *Store) place(c *chunk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slot == nowhere {
		s.placeLocked(c)
	}
}

// placeLocked gives a chunk that is locked and nowhere a place: in RAM, if the budget has some left.
func (s *Store) placeLocked(c *chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used < s.budget && len(s.free) > 0 {
		c.slot = s.free[len(s.free)-1]
		s.free = s.free[:len(s.free)-1]
		s.used++
		return
	}
	c.slot = onDisk
	s.onDisk++
}

// Discard makes n bytes from off on read as zeros, and gives their room back, block by block.
func (s *Store) Discard(off, n int64) error {
	for n > 0 { // pieces counts in int
		part := min(n, 1<<30)
		err := s.pieces(off, int(part), func(c *chunk, first int64, at, end, _ int) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			return s.discard(c, first, at, end)
		})
		if err != nil {
			return fmt.Errorf("discard %d bytes at %d: %w", n, off, err)
		}
		off, n = off+part, n-part
	}
	return nil
}

var zeros [BlockSize]byte

// discard is Discard in a chunk that is locked.
func (s *Store) discard(c *chunk, first int64, at, end int) error {
	if c.slot == nowhere {
		return nil
	}
	from, to := roundUp(at), end/BlockSize*BlockSize
	// Blocks that go in part only, of which there may be one alone.
	for _, edge := range [][2]int{{at, min(from, end)}, {max(to, min(from, end)), end}} {
		if err := s.zero(c, first, edge[0], edge[1]); err != nil {
			return err
		}
	}
	if from >= to {
		return nil
	}
	for n := from / BlockSize; n < to/BlockSize; n++ {
		c.held[n/64].And(^(uint64(1) << (n % 64)))
	}
	var err error
	if c.slot >= 0 {
		err = s.arena.GiveBack(int64(c.slot)*ChunkSize+int64(from), int64(to-from))
	} else {
		err = sys.PunchHole(int(s.disk.Fd()), first+int64(from), int64(to-from))
	}
	if err != nil || !c.empty() {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.slot >= 0 {
		s.release(c.slot)
	} else {
		s.onDisk--
	}
	c.slot = nowhere
	return nil
}

// zero writes zeros to a part of a block, if it has data.
func (s *Store) zero(c *chunk, first int64, at, end int) error {
	if at >= end || !c.holds(at/BlockSize) {
		return nil
	}
	if c.slot >= 0 {
		clear(s.ram(c)[at:end])
		return nil
	}
	return s.writeDisk(c, first, at, zeros[:end-at])
}

// release makes a slot one that holds nothing. Its memory was given back.
func (s *Store) release(slot int32) {
	s.free = append(s.free, slot)
	s.used--
}

// SetBudget says how many bytes may lie in RAM from now on, at most those that NewStore was given. When it returns
// no more do: what was not used of late has been moved to the disk. An error leaves in RAM what could not be.
func (s *Store) SetBudget(bytes int64) error {
	s.mu.Lock()
	s.budget = int(min(max(bytes, 0)/ChunkSize, int64(s.slots)))
	s.mu.Unlock()
	for {
		c, first := s.coldest()
		if c == nil {
			return nil
		}
		if err := s.evict(c, first); err != nil {
			return fmt.Errorf("move data from RAM to the disk: %w", err)
		}
	}
}

// coldest is a chunk to be evicted, nil if there need not be one.
func (s *Store) coldest() (*chunk, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range 3 * len(s.chunks) { // the second time around only what is in use is hot, and goes at last
		if s.used <= s.budget {
			return nil, 0
		}
		i := s.hand
		s.hand = (s.hand + 1) % len(s.chunks)
		c := &s.chunks[i]
		if !c.mu.TryRLock() {
			continue // it is being moved
		}
		inRAM := c.slot >= 0
		c.mu.RUnlock()
		if inRAM && (!c.hot.Swap(false) || n >= 2*len(s.chunks)) {
			return c, int64(i) * ChunkSize
		}
	}
	return nil, 0
}

// evict moves a chunk from RAM to the disk.
func (s *Store) evict(c *chunk, first int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slot < 0 {
		return nil
	}
	data := s.ram(c)
	for n := 0; n < chunkBlocks; {
		if !c.holds(n) {
			n++
			continue
		}
		end := n
		for end < chunkBlocks && c.holds(end) {
			end++
		}
		if _, err := s.disk.WriteAt(data[n*BlockSize:end*BlockSize], first+int64(n*BlockSize)); err != nil {
			return err
		}
		n = end
	}
	if err := s.arena.GiveBack(int64(c.slot)*ChunkSize, ChunkSize); err != nil {
		return err
	}
	s.evicted.Add(ChunkSize)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(c.slot)
	c.slot = onDisk
	s.onDisk++
	return nil
}
