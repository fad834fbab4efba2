package wheatfs

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// BlockSize is the grain, in bytes, of everything that a store does.
	BlockSize = 4096
	// ChunkSize is how many bytes are looked after together: those of a huge page.
	ChunkSize   = sys.HugePage
	chunkBlocks = ChunkSize / BlockSize
)

// Store is the content of a block device that lies in RAM while a budget lasts, and on a disk beyond. A block that was
// never written, or was discarded, reads as zeros and takes no room. Offsets and lengths are multiples of BlockSize, and
// so is the address of what is read to and written from. Its methods may be called at once, but for those on the same
// blocks: as with any block device, that is for its user to order.
type Store struct {
	chunks []chunk
	// small and huge have a place for each block, at the block's own offset, and so has the disk; all are sparse. A chunk
	// lies in one of the first two.
	small, huge *sys.Arena
	disk        *disk

	budget atomic.Int64 // in blocks
	// most is how many blocks may be in RAM when the disk has no room for what is over the budget: see keep.
	most atomic.Int64
	// recount looks at the memory again, and sets most; nil for a store that nobody governs.
	recount func()
	// used are the blocks that RAM is taken for. Of these slack hold no data: they are the rest of huge pages.
	used, slack, onDisk atomic.Int64
	evicted             atomic.Int64 // bytes
	// fault is the last that the disk had, nil if it works.
	fault atomic.Pointer[string]
	// ready are the huge pages that can be had without a wait.
	ready atomic.Int64

	evicting sync.Mutex // guards hand
	hand     int        // of the clock that finds chunks to evict
}

// chunk is a part of the device. A block has a bit in ram or in disk, or in neither: then it is zeros.
type chunk struct {
	// mu is held for reading by those who read and write blocks and give a place to those that have none, and for
	// writing by those who move blocks or take them away.
	mu sync.RWMutex
	// placing is held by those who give blocks a place, so that no block gets two.
	placing   sync.Mutex
	ram, disk blockSet
	// isHuge says that its blocks in RAM lie in a huge page. It changes under mu.
	isHuge atomic.Bool
	hot    atomic.Bool // used since the clock's hand came by
}

// NewStore makes an empty store of size bytes, of which up to budget lie in RAM, and the others in nameless files in a
// directory on a disk.
func NewStore(size, budget int64, dir string) (_ *Store, err error) {
	if size <= 0 || size%ChunkSize != 0 || budget < 0 {
		return nil, fmt.Errorf("make store of %d bytes, %d in RAM: it has whole chunks of %d", size, budget, ChunkSize)
	}
	s := &Store{chunks: make([]chunk, size/ChunkSize)}
	s.budget.Store(budget / BlockSize)
	s.most.Store(size / BlockSize)
	if s.disk, err = openDisk(dir, size); err != nil {
		return nil, err
	}
	if s.small, err = sys.NewArena(size); err != nil {
		return nil, errors.Join(err, s.disk.Close())
	}
	if s.huge, err = sys.NewHugeArena(size); err != nil {
		return nil, errors.Join(err, s.small.Close(), s.disk.Close())
	}
	return s, nil
}

// Lock keeps what lies in RAM out of swap, from then on. See sys.Arena.Lock.
func (s *Store) Lock() error { return errors.Join(s.small.Lock(), s.huge.Lock()) }

// Close gives everything up. Nothing may be under way.
func (s *Store) Close() error {
	return errors.Join(s.small.Close(), s.huge.Close(), s.disk.Close())
}

// Size is how many bytes there are.
func (s *Store) Size() int64 { return int64(len(s.chunks)) * ChunkSize }

// Usage is where the data lies, in bytes.
type Usage struct {
	RAM int64 `json:"ram_bytes"`
	// Slack is taken of the memory, and holds no data: the rest of huge pages.
	Slack  int64 `json:"ram_slack_bytes"`
	Disk   int64 `json:"disk_bytes"`
	Budget int64 `json:"ram_budget_bytes"` // what RAM and Slack may be now
	// Structures of RAM and Disk are the file system's own: they take no room for files.
	Structures int64 `json:"structures_bytes"`
	// Evicted have left RAM for the disk so far.
	Evicted int64 `json:"evicted_bytes_total"`
}

// Placed is how many blocks of the first chunks have a place, in bytes.
func (s *Store) Placed(chunks int) (n int64) {
	for i := range s.chunks[:min(chunks, len(s.chunks))] {
		c := &s.chunks[i]
		n += int64(c.ram.count(0, chunkBlocks)+c.disk.count(0, chunkBlocks)) * BlockSize
	}
	return n
}

// tell notes what became of a call to the disk.
func (s *Store) tell(err error) error {
	if err != nil {
		text := err.Error()
		s.fault.Store(&text)
	} else if s.fault.Load() != nil {
		s.fault.Store(nil)
	}
	return err
}

// Fault is the last error that the disk had, "" if it works since.
func (s *Store) Fault() string {
	if text := s.fault.Load(); text != nil {
		return *text
	}
	return ""
}

// Usage tells where the data lies.
func (s *Store) Usage() Usage {
	slack := max(s.slack.Load(), 0)
	return Usage{
		RAM: max(s.used.Load()-slack, 0) * BlockSize, Slack: slack * BlockSize, Disk: s.onDisk.Load() * BlockSize,
		Budget: s.budget.Load() * BlockSize, Evicted: s.evicted.Load(),
	}
}

// errRange says that bytes are not within the store, or not whole blocks.
var errRange = errors.New("not whole blocks within the device")

// has reports whether there are such blocks.
func (s *Store) has(off, n int64) bool {
	return off >= 0 && n >= 0 && off <= s.Size()-n && off%BlockSize == 0 && n%BlockSize == 0
}

// pieces calls do for the blocks of each chunk in n bytes from off on.
func (s *Store) pieces(off, n int64, do func(i, from, end int) error) error {
	if !s.has(off, n) {
		return fmt.Errorf("%d bytes at %d: %w", n, off, errRange)
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

// arena is where a chunk's blocks in RAM lie.
func (s *Store) arena(i int) *sys.Arena {
	if s.chunks[i].isHuge.Load() {
		return s.huge
	}
	return s.small
}

// memory are the blocks of a chunk in RAM.
func (s *Store) memory(i, from, end int) []byte { return s.arena(i).Bytes()[at(i, from):at(i, end)] }

// take takes n blocks of RAM, if a limit, the budget as a rule, has as many left. Nobody sees blocks taken that are not.
func (s *Store) take(n int, limit *atomic.Int64) bool {
	for {
		used := s.used.Load()
		if used+int64(n) > limit.Load() {
			return false
		}
		if s.used.CompareAndSwap(used, used+int64(n)) {
			return true
		}
	}
}

// takeIn takes n blocks for a chunk: those in a huge page are taken already.
func (s *Store) takeIn(c *chunk, n int) bool {
	if c.isHuge.Load() {
		s.slack.Add(-int64(n))
		return true
	}
	return s.take(n, &s.budget)
}
