package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/archive/archivetest"
)

// copied is a log as a tail has read it, over several lives of the writer.
type copied struct {
	at     archive.Place
	tail   *archive.Tail // nil for a new one
	slices []archive.Slice
	gaps   int
}

// follow reads what is there for a tail, from where the last one came to.
func (c *copied) follow(d archive.Disk, limit archive.Place) error {
	if c.tail == nil {
		c.tail = archive.NewTail(d, testID, c.at)
	}
	for {
		s, err := c.tail.Next(limit)
		if errors.Is(err, archive.ErrPruned) { // begin with the oldest there is
			c.close()
			*c = copied{gaps: c.gaps + 1}
			return c.follow(d, limit)
		}
		if err != nil {
			return err
		}
		if len(s.Blocks) == 0 {
			return nil
		}
		c.slices = append(c.slices, s)
		c.at = archive.Place{s.Segment, s.To}
	}
}

// close ends the use of the tail: the next one goes on where it was.
func (c *copied) close() {
	if c.tail != nil {
		c.tail.Close()
		c.tail = nil
	}
}

// rebuild makes a log of the slices.
func (c *copied) rebuild() (*archivetest.Model, error) {
	m := archivetest.New(1)
	var r *archive.Rebuild
	for i, s := range c.slices {
		if i == 0 || s.Segment != c.slices[i-1].Segment {
			if r != nil {
				if err := r.Finish(); err != nil {
					return nil, err
				}
			}
			from := s.Segment
			if i > 0 {
				from = c.slices[i-1].Segment + 1
			}
			for n := from; n <= s.Segment; n++ { // one without frames is there too
				var err error
				if r, err = archive.NewRebuild(m, testID, n); err != nil {
					return nil, err
				}
				if n < s.Segment {
					if err := r.Finish(); err != nil {
						return nil, err
					}
				}
			}
		}
		if err := r.Put(s.Blocks, s.From); err != nil {
			return nil, err
		}
	}
	if r != nil {
		return m, r.Finish()
	}
	return m, nil
}

// same compares two logs.
func same(a, b archive.Disk) error {
	var x, y files
	fromA, endA, err := archive.ReadLog(a, testID, &x)
	if err != nil {
		return err
	}
	fromB, endB, err := archive.ReadLog(b, testID, &y)
	if err != nil {
		return err
	}
	if endA != endB {
		return fmt.Errorf("one ends at %s, the other at %s", endA, endB)
	}
	for file, want := range x.m {
		begin := int64(0)
		if file == fromA.File || file == fromB.File {
			// The one that was read later may begin later.
			begin = max(begin, fromA.Offset, fromB.Offset)
		}
		if file < fromB.File || begin >= int64(len(want)) && len(want) == len(y.m[file]) {
			continue
		}
		if len(want) != len(y.m[file]) || !bytes.Equal(want[begin:], y.m[file][begin:]) {
			return fmt.Errorf("file %d differs: %d bytes and %d", file, len(want), len(y.m[file]))
		}
	}
	return nil
}

// TestTail follows a log through cuts, pruning, failed writes and power cuts: what it has read is
// the log.
func TestTail(t *testing.T) {
	small(t)
	gaps, lost := 0, 0
	for seed := range uint64(150) {
		m := archivetest.New(seed)
		if seed%2 == 1 {
			faults(m)
		}
		var c copied
		h := &history{m: m, rng: m.Rand, sizes: map[uint32]int64{}, after: func(l *archive.Log) error {
			if m.Rand.IntN(3) > 0 {
				return nil
			}
			if m.Rand.IntN(4) == 0 {
				c.close()
			}
			return c.follow(m, l.Lasts())
		}}
		for range 4 {
			m.Left = m.Rand.IntN(120)
			if err := h.live(); !errors.Is(err, archivetest.ErrCut) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			c.close()
			if lasts := m.Die(); lasts && m.Rand.IntN(2) == 0 {
				if err := c.follow(m, archive.All); err != nil {
					t.Fatalf("seed %d: after a restart: %v", seed, err)
				}
			}
		}
		if err := c.follow(m, archive.All); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		c.close()
		if len(c.slices) == 0 {
			lost++
			continue
		}
		r, err := c.rebuild()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := same(m, r); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		gaps += c.gaps
	}
	if gaps == 0 || lost > 40 {
		t.Errorf("%d gaps, %d without a frame", gaps, lost)
	}
}

// TestTailWaits: a frame that is being written is neither read nor taken for damage, and one that
// lasted and is not whole is damage.
func TestTailWaits(t *testing.T) {
	m, l := written(t)
	var c copied
	before := l.Lasts()
	if err := l.Append(archive.Position{0, 30000}, content(0, 30000, 1000)); err != nil {
		t.Fatal(err)
	}
	if err := c.follow(m, before); err != nil || c.at != before {
		t.Fatalf("to %s, %v; want %s", c.at, err, before)
	}
	m.Flip(testID.SegmentName(before.Segment), before.Offset+100) // half written
	if err := c.follow(m, before); err != nil || c.at != before {
		t.Fatalf("to %s, %v; want %s", c.at, err, before)
	}
	var damaged *archive.DamagedError
	if err := c.follow(m, l.Lasts()); !errors.As(err, &damaged) || damaged.Offset != before.Offset {
		t.Fatalf("got %v", err)
	}
	m.Flip(testID.SegmentName(before.Segment), before.Offset+100)
	if err := c.follow(m, l.Lasts()); err != nil || c.at != l.Lasts() {
		t.Fatalf("to %s, %v; want %s", c.at, err, l.Lasts())
	}
	m.Flip(testID.SegmentName(1), 2*archive.BlockSize+300)
	c = copied{}
	if err := c.follow(m, archive.All); !errors.As(err, &damaged) {
		t.Fatalf("rot in the middle: %v", err)
	}
}

// TestRebuildRefuses: what is no frame of the segment does not get into it.
func TestRebuildRefuses(t *testing.T) {
	m, _ := written(t)
	s, err := archive.NewTail(m, testID, archive.Place{}).Next(archive.All)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		segment uint64
		at      int64
		change  func(b []byte) []byte
	}{
		"another segment": {segment: 2, at: s.From},
		"a flipped bit":   {segment: 1, at: s.From, change: func(b []byte) []byte { b[300] ^= 1; return b }},
		"cut off":         {segment: 1, at: s.From, change: func(b []byte) []byte { return b[:len(b)-1] }},
		"another place":   {segment: 1, at: s.From + 1},
		"behind the end":  {segment: 1, at: 12 * archive.BlockSize},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := archive.NewRebuild(archivetest.New(1), testID, tc.segment)
			if err != nil {
				t.Fatal(err)
			}
			b := bytes.Clone(s.Blocks)
			if tc.change != nil {
				b = tc.change(b)
			}
			if err := r.Put(b, tc.at); !errors.Is(err, archive.ErrFrames) {
				t.Errorf("got %v", err)
			}
			if err := r.Abort(); err != nil {
				t.Error(err)
			}
		})
	}
}
