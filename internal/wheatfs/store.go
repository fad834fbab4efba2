package wheatfs

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"sync"
	"sync/atomic"

	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// BlockSize is the grain, in bytes, of everything that a store does.
	BlockSize = 4096
	// ChunkSize is how many bytes are looked after together.
	ChunkSize   = 1 << 20
	chunkBlocks = ChunkSize / BlockSize
	// buffers is how many reads and writes of the disk are under way at once.
	buffers = 16
	// populateFrom is how many blocks are given memory in one call instead of one by one.
	populateFrom = 4
)

// Store is the content of a block device that lies in RAM while a budget lasts, and on a disk beyond. A block that was
// never written, or was discarded, reads as zeros and takes no room. Offsets and lengths are multiples of BlockSize.
// Its methods may be called at once, but for those on the same blocks: as with any block device, that is for its
// user to order.
type Store struct {
	chunks []chunk
	// arena and disk have a place for each block, at the block's own offset; both are sparse.
	arena *sys.Arena
	disk  *os.File
	// bounce are buffers for the disk, which takes memory that begins at a block: they are there from the
	// beginning, since the store works on when the machine has no memory left.
	bounce      chan []byte
	bounceArena *sys.Arena

	budget, ram, onDisk atomic.Int64 // in blocks
	evicted             atomic.Int64 // bytes

	evicting sync.Mutex // guards hand
	hand     int        // of the clock that finds chunks to evict
}

// chunk is a part of the device. A block has a bit in ram or in disk, or in neither: then it is zeros.
type chunk struct {
	// mu is held for reading by those who read and write blocks and give a place to those that have none, and
	// for writing by those who move blocks or take them away.
	mu        sync.RWMutex
	ram, disk blockSet
	hot       atomic.Bool // used since the clock's hand came by
}

// blockSet is a set of blocks of a chunk.
type blockSet [chunkBlocks / 64]atomic.Uint64

// mask returns the bits of word w for blocks from to end.
func mask(w, from, end int) uint64 {
	low, high := max(from-w*64, 0), min(end-w*64, 64)
	if low >= high {
		return 0
	}
	return ^uint64(0) >> (64 - (high - low)) << low
}

// add puts blocks from to end in the set, and returns how many were not.
func (s *blockSet) add(from, end int) (n int) {
	for w := from / 64; w*64 < end; w++ {
		m := mask(w, from, end)
		n += bits.OnesCount64(m &^ s[w].Or(m))
	}
	return n
}

// remove takes them out, and returns how many were in it.
func (s *blockSet) remove(from, end int) (n int) {
	for w := from / 64; w*64 < end; w++ {
		m := mask(w, from, end)
		n += bits.OnesCount64(m & s[w].And(^m))
	}
	return n
}

// count returns how many are in it.
func (s *blockSet) count(from, end int) (n int) {
	for w := from / 64; w*64 < end; w++ {
		n += bits.OnesCount64(s[w].Load() & mask(w, from, end))
	}
	return n
}

// run returns the end of the blocks, beginning with from, that are all in it, or all not.
func (s *blockSet) run(from, end int) (is bool, to int) {
	is = s[from/64].Load()&(1<<(from%64)) != 0
	for to = from; to < end; {
		word := s[to/64].Load() >> (to % 64)
		if is {
			word = ^word
		}
		if n := min(bits.TrailingZeros64(word), 64-to%64); n > 0 {
			to += n
			continue
		}
		break
	}
	return is, min(to, end)
}

// NewStore makes an empty store of size bytes, of which up to budget lie in RAM. disk is a file that nobody else uses,
// empty and sparse, read and written past the page cache (sys.UnnamedDirect), and is closed with the store.
func NewStore(size, budget int64, disk *os.File) (*Store, error) {
	if size <= 0 || size%ChunkSize != 0 || budget < 0 {
		return nil, fmt.Errorf("make store of %d bytes, %d in RAM: it has whole chunks of %d", size, budget, ChunkSize)
	}
	s := &Store{chunks: make([]chunk, size/ChunkSize), disk: disk, bounce: make(chan []byte, buffers)}
	s.budget.Store(budget / BlockSize)
	var err error
	if s.arena, err = sys.NewArena(size); err != nil {
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
	return s, nil
}

// Lock keeps what lies in RAM out of swap, from then on. See sys.Arena.Lock.
func (s *Store) Lock() error { return errors.Join(s.arena.Lock(), s.bounceArena.Lock()) }

// Close gives everything up. Nothing may be under way.
func (s *Store) Close() error {
	return errors.Join(s.arena.Close(), s.bounceArena.Close(), s.disk.Close())
}

// Size is how many bytes there are.
func (s *Store) Size() int64 { return int64(len(s.chunks)) * ChunkSize }

// Usage is where the data lies, in bytes.
type Usage struct {
	RAM    int64 `json:"ram_bytes"`
	Disk   int64 `json:"disk_bytes"`
	Budget int64 `json:"ram_budget_bytes"` // what RAM may be now
	// Evicted have left RAM for the disk so far.
	Evicted int64 `json:"evicted_bytes_total"`
}

// Usage tells where the data lies.
func (s *Store) Usage() Usage {
	return Usage{RAM: s.ram.Load() * BlockSize, Disk: s.onDisk.Load() * BlockSize, Budget: s.budget.Load() * BlockSize, Evicted: s.evicted.Load()}
}

// errRange says that bytes are not within the store, or not whole blocks.
var errRange = errors.New("not whole blocks within the device")

// check returns errRange if there are no such blocks.
func (s *Store) check(off, n int64) error {
	if off < 0 || n < 0 || off > s.Size()-n || off%BlockSize != 0 || n%BlockSize != 0 {
		return fmt.Errorf("%d bytes at %d: %w", n, off, errRange)
	}
	return nil
}

// pieces calls do for the blocks of each chunk in n bytes from off on.
func (s *Store) pieces(off, n int64, do func(i, from, end int) error) error {
	if err := s.check(off, n); err != nil {
		return err
	}
	for at := off; at < off+n; {
		i := at / ChunkSize
		end := min((i+1)*ChunkSize, off+n)
		if err := do(int(i), int(at-i*ChunkSize)/BlockSize, int(end-i*ChunkSize)/BlockSize); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// at is the offset of a block of a chunk.
func at(i, block int) int64 { return int64(i)*ChunkSize + int64(block)*BlockSize }

// memory are the blocks of a chunk in the arena.
func (s *Store) memory(i, from, end int) []byte { return s.arena.Bytes()[at(i, from):at(i, end)] }

// ReadAt implements io.ReaderAt.
func (s *Store) ReadAt(b []byte, off int64) (int, error) {
	err := s.pieces(off, int64(len(b)), func(i, from, end int) error {
		c := &s.chunks[i]
		c.mu.RLock()
		defer c.mu.RUnlock()
		for from < end {
			onDisk, to := c.disk.run(from, end)
			part := b[at(i, from)-off : at(i, to)-off]
			if !onDisk { // what is nowhere is zeros in RAM
				c.hot.Store(true)
				copy(part, s.memory(i, from, to))
			} else if err := s.readDisk(part, at(i, from)); err != nil {
				return err
			}
			from = to
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("read: %w", err)
	}
	return len(b), nil
}

// View returns n bytes at off where they lie, if all do in RAM, which they do until done is called. ok is false
// if they do not.
func (s *Store) View(off, n int64) (b []byte, done func(), ok bool) {
	if s.check(off, n) != nil || n == 0 {
		return nil, nil, false
	}
	first, last := int(off/ChunkSize), int((off+n-1)/ChunkSize)
	done = func() {
		for i := first; i <= last; i++ {
			s.chunks[i].mu.RUnlock()
		}
	}
	// The order of the locks is that of the chunks, so that no two views wait for each other.
	for i := first; i <= last; i++ {
		s.chunks[i].mu.RLock()
		s.chunks[i].hot.Store(true)
	}
	ok = true
	_ = s.pieces(off, n, func(i, from, end int) error { // within the store
		ok = ok && s.chunks[i].disk.count(from, end) == 0
		return nil
	})
	if !ok {
		done()
		return nil, nil, false
	}
	return s.arena.Bytes()[off : off+n], done, true
}

// readDisk reads blocks, of which those behind the file's end are zeros.
func (s *Store) readDisk(b []byte, off int64) error {
	buffer := <-s.bounce
	defer func() { s.bounce <- buffer }()
	n, err := s.disk.ReadAt(buffer[:len(b)], off)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	clear(b[copy(b, buffer[:n]):])
	return nil
}

// WriteAt implements io.WriterAt.
func (s *Store) WriteAt(b []byte, off int64) (int, error) {
	err := s.pieces(off, int64(len(b)), func(i, from, end int) error {
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
	if n := c.disk.count(from, end); n > 0 && s.take(n) {
		// There is room in RAM again for blocks that are on the disk.
		c.mu.RUnlock()
		return s.writeBack(i, from, end, b, n)
	}
	defer c.mu.RUnlock()
	s.place(c, from, end)
	for first := from; first < end; {
		inRAM, to := c.ram.run(first, end)
		part := b[(first-from)*BlockSize : (to-from)*BlockSize]
		if inRAM {
			s.put(i, first, to, part)
		} else if err := s.writeDisk(part, at(i, first)); err != nil {
			return err
		}
		first = to
	}
	return nil
}

// take takes n blocks of the budget, if it has as many left.
func (s *Store) take(n int) bool {
	if s.ram.Add(int64(n)) <= s.budget.Load() {
		return true
	}
	s.ram.Add(-int64(n))
	return false
}

// place gives blocks that have no place one, all the same: in RAM, if the budget has some left.
func (s *Store) place(c *chunk, from, end int) {
	missing := end - from - c.ram.count(from, end) - c.disk.count(from, end)
	if missing == 0 {
		return
	}
	inRAM := s.take(missing)
	for first := from; first < end; {
		_, to := c.ram.run(first, end)
		_, to = c.disk.run(first, to)
		if c.ram.count(first, first+1)+c.disk.count(first, first+1) == 0 {
			if inRAM {
				missing -= c.ram.add(first, to)
			} else {
				s.onDisk.Add(int64(c.disk.add(first, to)))
			}
		}
		first = to
	}
	if inRAM { // less what another has placed meanwhile
		s.ram.Add(-int64(missing))
	}
}

// put writes blocks that are in RAM.
func (s *Store) put(i, from, end int, b []byte) {
	s.chunks[i].hot.Store(true)
	if end-from >= populateFrom {
		s.arena.Populate(at(i, from), int64(end-from)*BlockSize)
	}
	copy(s.memory(i, from, end), b)
}

// writeBack writes blocks, of which some are on the disk, to RAM, where n were taken for them.
func (s *Store) writeBack(i, from, end int, b []byte, n int) error {
	c := &s.chunks[i]
	c.mu.Lock()
	for first := from; first < end; {
		onDisk, to := c.disk.run(first, end)
		if onDisk {
			n -= c.ram.add(first, to)
			s.onDisk.Add(-int64(c.disk.remove(first, to)))
			s.put(i, first, to, b[(first-from)*BlockSize:(to-from)*BlockSize])
			s.dig(at(i, first), int64(to-first)*BlockSize)
		}
		first = to
	}
	s.ram.Add(-int64(n)) // moved by another meanwhile
	c.mu.Unlock()
	return s.write(i, from, end, b)
}

// dig gives the disk back what lies there. A failure costs room until the end, and no more.
func (s *Store) dig(off, n int64) { _ = sys.PunchHole(int(s.disk.Fd()), off, n) }

func (s *Store) writeDisk(b []byte, off int64) error {
	buffer := <-s.bounce
	defer func() { s.bounce <- buffer }()
	_, err := s.disk.WriteAt(buffer[:copy(buffer, b)], off)
	return err
}

// Discard makes n bytes from off on read as zeros, and gives their room back.
func (s *Store) Discard(off, n int64) error {
	err := s.pieces(off, n, func(i, from, end int) error {
		c := &s.chunks[i]
		c.mu.Lock()
		defer c.mu.Unlock()
		if n := c.ram.remove(from, end); n > 0 {
			s.ram.Add(-int64(n))
			if err := s.arena.GiveBack(at(i, from), int64(end-from)*BlockSize); err != nil {
				return err
			}
		}
		if n := c.disk.remove(from, end); n > 0 {
			s.onDisk.Add(-int64(n))
			s.dig(at(i, from), int64(end-from)*BlockSize)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("discard: %w", err)
	}
	return nil
}

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
			// Straight from the arena, which has its place for each block as the disk does.
			if _, err := s.disk.WriteAt(s.memory(i, from, end), at(i, from)); err != nil {
				return moved, err
			}
			n := c.ram.remove(from, end)
			s.onDisk.Add(int64(c.disk.add(from, end)))
			s.ram.Add(-int64(n))
			moved += int64(n) * BlockSize
			s.evicted.Add(int64(n) * BlockSize)
			if err := s.arena.GiveBack(at(i, from), int64(end-from)*BlockSize); err != nil {
				return moved, err
			}
		}
		from = end
	}
	return moved, nil
}
