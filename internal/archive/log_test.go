package archive_test

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/archive/archivetest"
)

var cuts = flag.Int("cuts", 0, "how often TestPowerCuts cuts the power; 0 for 10000, or 800 in a quick run")

var testID = archive.LogID{Archive: [16]byte{1, 2, 3}, Epoch: 7}

// small makes segments that fill within a few appends, one step after the other.
func small(t *testing.T) {
	t.Cleanup(archive.SetSegments(12*archive.BlockSize, func(f func()) { f() }))
}

// content is what the server wrote into a file of its log from an offset on.
func content(file uint32, at int64, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		x := (uint64(file)<<32 + uint64(at) + uint64(i)) * 0x9e3779b97f4a7c15
		b[i] = byte(x >> 56)
	}
	return b
}

// files is a Sink that keeps what it gets.
type files struct {
	m map[uint32][]byte
}

func (f *files) WriteAt(file uint32, b []byte, at int64) error {
	if f.m == nil {
		f.m = map[uint32][]byte{}
	}
	f.m[file] = archivetest.Put(f.m[file], b, int(at))
	return nil
}

func (f *files) Truncate(file uint32, size int64) error {
	if int64(len(f.m[file])) > size {
		f.m[file] = f.m[file][:size]
	}
	return nil
}

// history is a log as its writer has seen it, over several lives.
type history struct {
	m   *archivetest.Model
	rng *rand.Rand
	// from is where pruning may have come to; sizes are those of the server's files, and acked is
	// the end of what Append has returned for.
	asked archive.Position
	sizes map[uint32]int64
	acked archive.Position
	// tried is where the log may end instead, if a cut was tried; more says that bytes behind acked
	// were tried.
	tried *archive.Position
	more  archive.Position
	// after is called after each thing that the writer has done; nil for nothing.
	after func(*archive.Log) error
}

// check reads the log after a restart, and compares.
func (h *history) check() (archive.Position, error) {
	var got files
	from, end, err := archive.ReadLog(h.m, testID, &got)
	if err != nil {
		return end, err
	}
	switch {
	case h.asked.Before(from):
		return end, fmt.Errorf("it begins at %s, and was pruned to %s only", from, h.asked)
	case end.Before(h.acked) && (h.tried == nil || end.Before(*h.tried)):
		return end, fmt.Errorf("it ends at %s, and %s was acknowledged", end, h.acked)
	case h.acked.Before(end) && h.more.Before(end):
		return end, fmt.Errorf("it ends at %s, and no more than %s was tried", end, h.more)
	}
	for file := from.File; file <= end.File; file++ {
		begin, size := int64(0), h.sizes[file]
		if file == from.File {
			begin = from.Offset
		}
		if file == end.File {
			size = end.Offset
		}
		if begin == size {
			continue // the segment before had all of it
		}
		if int64(len(got.m[file])) != size {
			return end, fmt.Errorf("file %d has %d bytes, not %d", file, len(got.m[file]), size)
		}
		if want := content(file, begin, int(size-begin)); !bytes.Equal(got.m[file][begin:], want) {
			return end, fmt.Errorf("file %d is not what was written", file)
		}
	}
	return end, nil
}

// live is one life of the writer: it ends with an error, normally that of a power cut.
func (h *history) live() error {
	end, err := h.check()
	if err != nil {
		return err
	}
	var l *archive.Log
	if err := h.again(func() (err error) {
		if names, _ := h.m.Names(testID.Dir()); len(names) == 0 {
			l, err = archive.CreateLog(h.m, testID)
		} else {
			l, err = archive.OpenLog(h.m, testID, end)
		}
		return err
	}); err != nil {
		return err
	}
	defer l.Close()
	h.sizes[end.File] = end.Offset
	if err := h.again(l.Settle); err != nil {
		return err
	}
	h.acked, h.more, h.tried = end, end, nil
	for {
		if h.after != nil {
			if err := h.after(l); err != nil {
				return err
			}
		}
		switch h.rng.IntN(12) {
		case 0: // the server shortens its log
			p := h.acked
			p.Offset -= h.rng.Int64N(min(p.Offset, 3000) + 1)
			if p == h.acked {
				continue
			}
			h.tried = &p
			if err := h.again(func() error { return l.Cut(p) }); err != nil {
				return err
			}
			h.acked, h.more, h.tried = p, p, nil
			h.sizes[p.File] = p.Offset
		case 1:
			p := archive.Position{File: h.acked.File, Offset: h.rng.Int64N(h.acked.Offset + 1)}
			if h.asked.Before(p) {
				h.asked = p
			}
			if err := h.again(func() error { return archive.Prune(h.m, testID, p) }); err != nil {
				return err
			}
		default:
			p := h.acked
			if p.Offset > 0 && h.rng.IntN(6) == 0 {
				p = archive.Position{File: p.File + 1}
			}
			n := 1 + h.rng.IntN(5*archive.BlockSize)
			if h.rng.IntN(8) == 0 {
				n *= 6 // more than a frame, and than a segment
			}
			h.more = archive.Position{File: p.File, Offset: p.Offset + int64(n)}
			b := content(p.File, p.Offset, n)
			if err := h.again(func() error {
				if l.End() != h.acked && l.End() != p { // the first of its frames were there
					return l.Append(l.End(), b[l.End().Offset-p.Offset:])
				}
				return l.Append(p, b)
			}); err != nil {
				return err
			}
			h.acked = h.more
			h.sizes[p.File] = p.Offset + int64(n)
		}
	}
}

// again tries what fails for a while, as the writer of a full disk does.
func (h *history) again(f func() error) (err error) {
	for range 100 {
		if err = f(); err == nil || errors.Is(err, archivetest.ErrCut) {
			return err
		}
		if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EIO) {
			return err
		}
	}
	return err
}

// lives runs a few lives of a log on a disk whose power is cut, and returns the first thing that is
// wrong.
func lives(seed uint64, met map[string]int, set func(*archivetest.Model)) error {
	m := archivetest.New(seed)
	set(m)
	h := &history{m: m, rng: m.Rand, sizes: map[uint32]int64{}}
	for range 4 {
		m.Left = m.Rand.IntN(120)
		if err := h.live(); !errors.Is(err, archivetest.ErrCut) {
			return err
		}
		m.Die()
	}
	_, err := h.check()
	for what, n := range m.Met {
		met[what] += n
	}
	return err
}

// faults has calls fail for a while.
func faults(m *archivetest.Model) {
	m.Fail = func(string, string) error {
		switch m.Rand.IntN(60) {
		case 0:
			return syscall.EIO
		case 1:
			return syscall.ENOSPC
		}
		return nil
	}
}

// TestPowerCuts cuts the power at every call that writes, with and without faults before: what was
// acknowledged is there, in order, and what was not is there whole frame by frame or not at all.
func TestPowerCuts(t *testing.T) {
	small(t)
	met := map[string]int{}
	n := *cuts
	if n == 0 && os.Getenv("RAMARIA_TEST_QUICK") == "1" {
		n = 800
	}
	for seed := range uint64(cmp.Or(n, 10_000) / 4) {
		set := func(*archivetest.Model) {}
		if seed%2 == 1 {
			set = faults
		}
		if err := lives(seed, met, set); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	for _, call := range []string{"mkdir", "create", "write", "writesync", "sync", "rename", "remove", "syncdir"} {
		if met[call] == 0 {
			t.Errorf("the power was never cut in %s: %v", call, met)
		}
	}
	t.Log(met)
}

// TestLyingDisks: a disk that does not keep its promises is found out.
func TestLyingDisks(t *testing.T) {
	small(t)
	for name, set := range map[string]func(*archivetest.Model){
		"a synchronous write does not last":     func(m *archivetest.Model) { m.Lies.WriteSync = true },
		"a sync does not last":                  func(m *archivetest.Model) { m.Lies.Sync = true },
		"a sync of the directory does not last": func(m *archivetest.Model) { m.Lies.SyncDir = true },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(200) {
				if err := lives(seed, map[string]int{}, set); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Error("nothing was lost in 200 histories")
		})
	}
}

// written is a log of three segments.
func written(t *testing.T) (*archivetest.Model, *archive.Log) {
	t.Helper()
	small(t)
	m := archivetest.New(1)
	l, err := archive.CreateLog(m, testID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for i := range int64(30) {
		if err := l.Append(archive.Position{File: 0, Offset: i * 1000}, content(0, i*1000, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	return m, l
}

// TestFlippedBit: rot in the middle is not taken for the end; that of the last frame, behind which
// nothing stands, cannot be told from a write that was cut off.
func TestFlippedBit(t *testing.T) {
	for name, tc := range map[string]struct {
		segment uint64
		at      int64
		damaged bool
	}{
		"in a payload":                {1, 2*archive.BlockSize + 300, true},
		"in a frame's header":         {1, 3*archive.BlockSize + 20, true},
		"in the last of a segment":    {1, 11*archive.BlockSize + 300, true},
		"in a segment's header":       {2, 9, true},
		"in the middle of the last":   {3, 2*archive.BlockSize + 300, true},
		"in the padding":              {1, 2*archive.BlockSize + 2000, false},
		"in the last frame there is":  {3, 8*archive.BlockSize + 300, false},
		"where nothing was written":   {3, 11*archive.BlockSize + 300, false},
		"in a segment not yet in use": {4, 5*archive.BlockSize + 300, false},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := written(t)
			m.Flip(testID.SegmentName(tc.segment), tc.at)
			_, end, err := archive.ReadLog(m, testID, &files{})
			var damaged *archive.DamagedError
			if errors.As(err, &damaged) != tc.damaged {
				t.Errorf("it ends at %s, %v", end, err)
			}
			if tc.damaged && damaged != nil && damaged.File == "" {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestMissingSegment: one that is gone, and not from the beginning.
func TestMissingSegment(t *testing.T) {
	m, _ := written(t)
	if err := m.Remove(testID.SegmentName(2)); err != nil {
		t.Fatal(err)
	}
	var damaged *archive.DamagedError
	if _, _, err := archive.ReadLog(m, testID, archive.Discard); !errors.As(err, &damaged) {
		t.Errorf("got %v", err)
	}
}

// TestForeignSegment: one of another epoch or archive is not read as this one's.
func TestForeignSegment(t *testing.T) {
	m, l := written(t)
	other := archive.LogID{Archive: testID.Archive, Epoch: testID.Epoch + 1}
	if err := m.Mkdir(other.Dir()); err != nil {
		t.Fatal(err)
	}
	if err := m.Rename(testID.SegmentName(3), other.SegmentName(1)); err != nil {
		t.Fatal(err)
	}
	var damaged *archive.DamagedError
	if _, _, err := archive.ReadLog(m, other, archive.Discard); !errors.As(err, &damaged) {
		t.Errorf("got %v", err)
	}
	if err := l.Append(archive.Position{File: 0, Offset: 31000}, content(0, 31000, 10)); !errors.Is(err, archive.ErrGap) {
		t.Errorf("a gap: %v", err)
	}
	if err := l.Cut(archive.Position{File: 0, Offset: 31000}); !errors.Is(err, archive.ErrGap) {
		t.Errorf("a cut behind the end: %v", err)
	}
}

// TestFailedWriteIsSaidAgain: a write failed, its writer died before it could repeat it, and the next one
// read what it had written: a power cut after that must not take what was appended behind it.
func TestFailedWriteIsSaidAgain(t *testing.T) {
	small(t)
	for seed := range uint64(300) {
		m := archivetest.New(seed)
		l, err := archive.CreateLog(m, testID)
		if err != nil {
			t.Fatal(err)
		}
		at := archive.Position{File: 1}
		add := func() error {
			b := content(at.File, at.Offset, 3000)
			err := l.Append(at, b)
			if err == nil {
				at.Offset += int64(len(b))
			}
			return err
		}
		if err := add(); err != nil {
			t.Fatal(err)
		}
		m.Fail = func(call, _ string) error {
			if call == "writesync" {
				return syscall.EIO
			}
			return nil
		}
		if add() == nil {
			t.Fatal("the write did not fail")
		}
		m.Fail = nil
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		end, _, err := archive.EndOf(m, testID)
		if err != nil {
			t.Fatal(err)
		}
		if l, err = archive.OpenLog(m, testID, end); err != nil {
			t.Fatal(err)
		}
		at = end
		if err := add(); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		m.Restart()
		if _, end, err = archive.ReadLog(m, testID, archive.Discard); err != nil || end != at {
			t.Fatalf("seed %d: %v, the log ends at %s, and %s was acknowledged", seed, err, end, at)
		}
	}
}

// unclosable is a disk on which closing a file fails.
type unclosable struct{ archive.Disk }

type unclosableFile struct{ archive.File }

func (u unclosable) Create(name string) (archive.File, error) {
	f, err := u.Disk.Create(name)
	return unclosableFile{f}, err
}

func (f unclosableFile) Close() error { return errors.Join(f.File.Close(), syscall.EIO) }

// TestCloseFails: an error of closing a segment says nothing of what was written to it by then, and ends nothing.
func TestCloseFails(t *testing.T) {
	small(t)
	m := archivetest.New(1)
	l, err := archive.CreateLog(unclosable{m}, testID)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for at := int64(0); at < 30_000; at += 1000 {
		if err := l.Append(archive.Position{Offset: at}, content(0, at, 1000)); err != nil {
			t.Fatalf("at %d: %v", at, err)
		}
	}
	if list, err := testID.Segments(m); err != nil || len(list) < 3 {
		t.Errorf("segments %v: %v", list, err)
	}
}

// TestUnusedSegments: what was made ready and never used does not pile up with each restart, and is in the way of
// no pruning.
func TestUnusedSegments(t *testing.T) {
	m, l := written(t)
	count := func() int {
		t.Helper()
		list, err := testID.Segments(m)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	at := l.End()
	open := func() {
		t.Helper()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		var err error
		if l, err = archive.OpenLog(m, testID, at); err != nil {
			t.Fatal(err)
		}
	}
	before := count()
	for range 5 {
		open()
	}
	if n := count(); n != before {
		t.Errorf("%d segments after five restarts, and %d before", n, before)
	}
	// A frame that was cut off is all that the last one has.
	list, _ := testID.Segments(m)
	torn := list[len(list)-1]
	m.Flip(testID.SegmentName(torn), archive.BlockSize+100)
	open()
	if err := l.Append(at, content(at.File, at.Offset, 100)); err != nil {
		t.Fatal(err)
	}
	at = l.End()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := archive.Prune(m, testID, at); err != nil {
		t.Fatal(err)
	}
	if list, _ := testID.Segments(m); len(list) == 0 || list[0] <= torn {
		t.Errorf("after pruning the segments are %v, and %d has nothing", list, torn)
	}
	if _, end, err := archive.ReadLog(m, testID, &files{}); err != nil || end != at {
		t.Errorf("the log ends at %s, not %s: %v", end, at, err)
	}
}
