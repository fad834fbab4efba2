package sys

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const (
	// sumPart is how many bytes of a file have a sum: a page of InnoDB, so that one page that has changed has no more
	// written. The sums take a two thousandth of the data.
	sumPart = 16 << 10
	// sumBuffer is how much is read at once.
	sumBuffer = 16 * sumPart
	// sumPiece is how much of a file one of those reads that read it at once.
	sumPiece = 512 * sumPart
)

// sums are sums of the parts of files as they were last copied, by path. Two contents of a part have the same sum in one
// of 2^64 cases: the seed is drawn for each copy.
type sums struct {
	seed maphash.Seed
	read atomic.Int64
	mu   sync.Mutex
	of   map[string][]uint64 // noData is a hole
}

// Sums of what has none.
const (
	noData = iota
	unknown
	firstSum
)

func newSums() *sums { return &sums{seed: maphash.MakeSeed(), of: map[string][]uint64{}} }

func (s *sums) take(rel string) (of []uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, ok = s.of[rel]
	delete(s.of, rel) // a copy that fails in the middle has none
	return of, ok
}

func (s *sums) put(rel string, of []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[rel] = of
}

// forget drops those of a file; s may be nil.
func (s *sums) forget(rel string) {
	if s != nil {
		s.take(rel)
	}
}

func (s *sums) sum(b []byte) uint64 { return max(maphash.Bytes(s.seed, b), firstSum) }

// copy makes the copy of a file what the source is: of an older one only what has changed. Both have the size of f.st.
func (s *sums) copy(ctx context.Context, f *fileCopy) error {
	of, known := s.take(f.rel)
	if !f.again {
		of = nil
	}
	parts := int((f.st.Size + sumPart - 1) / sumPart)
	of = slices.Grow(of[:min(len(of), parts)], max(0, parts-len(of)))
	clear(of[len(of):parts])
	of = of[:parts]
	if f.again && !known { // as one that shared blocks
		for i := range of {
			of[i] = unknown
		}
	}
	if f.st.Size%sumPart != 0 {
		of[parts-1] = unknown // it may have been longer
	}
	if err := unix.Ftruncate(f.dst, f.st.Size); err != nil {
		return fmt.Errorf("set size: %w", err)
	}
	if err := s.copyAll(ctx, f, of); err != nil {
		return err
	}
	s.put(f.rel, of)
	return nil
}

// copyAll copies a file in pieces, several at once.
func (s *sums) copyAll(ctx context.Context, f *fileCopy, of []uint64) error {
	var next atomic.Int64
	work := func() error {
		buf := make([]byte, min(sumBuffer, int64(len(of))*sumPart))
		for {
			start := (next.Add(1) - 1) * sumPiece
			if start >= f.st.Size {
				return nil
			}
			if err := s.copyPiece(ctx, f, of, buf, start, min(start+sumPiece, f.st.Size)); err != nil {
				return err
			}
		}
	}
	workers := min(int64(copiers), (f.st.Size+sumPiece-1)/sumPiece)
	errs := make([]error, workers)
	var group sync.WaitGroup
	for i := range errs[1:] {
		group.Go(func() { errs[i+1] = work() })
	}
	errs[0] = work()
	group.Wait()
	return errors.Join(errs...)
}

// copyPiece copies from off, where a part begins, to the end of another part.
func (s *sums) copyPiece(ctx context.Context, f *fileCopy, of []uint64, buf []byte, off, to int64) error {
	for off < to {
		start, end, err := NextData(f.src, off, to)
		if err != nil {
			return err
		}
		// Whole parts: what belongs to a hole is read as zeros.
		if start < end {
			start, end = max(off, start/sumPart*sumPart), min((end+sumPart-1)/sumPart*sumPart, to)
		}
		if err := s.empty(f, of, off, start); err != nil {
			return err
		}
		if err := s.copyParts(ctx, f, of, buf, start, end); err != nil {
			return err
		}
		off = end
	}
	return nil
}

// empty makes the parts from start to end holes that are none in the copy.
func (s *sums) empty(f *fileCopy, of []uint64, start, end int64) error {
	for ; start < end; start += sumPart {
		i := start / sumPart
		if of[i] == noData {
			continue
		}
		if err := PunchHole(f.dst, start, min(sumPart, end-start)); err != nil {
			if err := pwrite(f.dst, make([]byte, min(sumPart, end-start)), start); err != nil { // ramfs
				return err
			}
		}
		of[i] = noData
	}
	return nil
}

// copyParts copies the parts from start to end whose sums are others now. A source that has become shorter is no error:
// the next round finds it.
func (s *sums) copyParts(ctx context.Context, f *fileCopy, of []uint64, buf []byte, start, end int64) error {
	for start < end {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := preadFull(f.src, buf[:min(end-start, int64(len(buf)))], start)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if n == 0 {
			return nil
		}
		s.read.Add(int64(n))
		from := -1 // of what has changed, up to at
		at := 0
		flush := func() error {
			if from < 0 {
				return nil
			}
			err := pwrite(f.dst, buf[from:at], start+int64(from))
			from = -1
			return err
		}
		for ; at < n; at = min(at+sumPart, n) {
			i := (start + int64(at)) / sumPart
			sum := s.sum(buf[at:min(at+sumPart, n)])
			if sum == of[i] {
				if err := flush(); err != nil {
					return fmt.Errorf("write: %w", err)
				}
				continue
			}
			of[i] = sum
			if from < 0 {
				from = at
			}
		}
		if err := flush(); err != nil {
			return fmt.Errorf("write: %w", err)
		}
		start += int64(n)
	}
	return nil
}

// preadFull reads until b is full, or the file ends.
func preadFull(fd int, b []byte, at int64) (n int, err error) {
	for n < len(b) {
		k, err := pread(fd, b[n:], at+int64(n))
		if err != nil || k == 0 {
			return n, err
		}
		n += k
	}
	return n, nil
}
