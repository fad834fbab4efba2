package wheatfs

import (
	"math/bits"
	"sync/atomic"
)

// blockSet is a set of blocks of a chunk. Its methods may be called at once.
type blockSet [chunkBlocks / 64]atomic.Uint64

// mask returns the bits of word w for blocks from to end.
func mask(w, from, end int) uint64 {
	low, high := max(from-w*64, 0), min(end-w*64, 64)
	if low >= high {
		return 0
	}
	return ^uint64(0) >> (64 - (high - low)) << low
}

// add puts blocks from to end in the set.
func (s *blockSet) add(from, end int) {
	for w := from / 64; w*64 < end; w++ {
		s[w].Or(mask(w, from, end))
	}
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
