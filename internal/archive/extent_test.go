package archive_test

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/archive/archivetest"
)

func extentAt(n uint64) archive.Extent {
	return archive.Extent{
		Archive: archive.ID{7}, Epoch: 2, Place: archive.Place{Segment: n, Offset: archive.BlockSize},
		At: archive.Position{File: 3, Offset: int64(n)}, Time: time.UnixMicro(int64(n)),
	}
}

// TestExtentPowerCuts cuts the power at every call: from when it was first said how far the log goes, that is read, and
// is never less than was said.
func TestExtentPowerCuts(t *testing.T) {
	for seed := uint64(1); seed <= 300; seed++ {
		m := archivetest.New(seed)
		var said, asked uint64
		for range 8 {
			m.Left = m.Rand.IntN(20)
			err := func() error {
				f, err := archive.OpenExtent(m, archive.ExtentName, extentAt(asked))
				if err != nil {
					return err
				}
				for {
					asked++
					if err := f.Renew(extentAt(asked)); err != nil {
						return err
					}
					said = asked
				}
			}()
			if !errors.Is(err, archivetest.ErrCut) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			m.Die()
			x, err := archive.ReadExtent(m, archive.ExtentName)
			if errors.Is(err, fs.ErrNotExist) && said == 0 {
				continue
			}
			if err != nil || x.Place.Segment < said || x.Place.Segment > asked || x != extentAt(x.Place.Segment) {
				t.Fatalf("seed %d: got %+v, %v; %d was said, %d was asked for", seed, x, err, said, asked)
			}
		}
	}
}

// TestExtentFailedWrite: a write that fails leaves the extent before, also when the next one fails too.
func TestExtentFailedWrite(t *testing.T) {
	m := archivetest.New(1)
	f, err := archive.OpenExtent(m, archive.ExtentName, extentAt(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Renew(extentAt(2)); err != nil {
		t.Fatal(err)
	}
	m.Fail = func(string, string) error { return syscall.EIO }
	for n := uint64(3); n < 9; n++ {
		if f.Renew(extentAt(n)) == nil {
			t.Fatal("it did not fail")
		}
	}
	m.Fail = nil
	m.Restart()
	if x, err := archive.ReadExtent(m, archive.ExtentName); err != nil || x.Place.Segment < 2 {
		t.Errorf("got %+v, %v", x, err)
	}
}

// TestExtentDamage: of two slots one is enough, and of another archive there is none.
func TestExtentDamage(t *testing.T) {
	m := archivetest.New(1)
	f, err := archive.OpenExtent(m, archive.ExtentName, extentAt(1))
	if err != nil {
		t.Fatal(err)
	}
	for n := uint64(2); n < 4; n++ {
		if err := f.Renew(extentAt(n)); err != nil {
			t.Fatal(err)
		}
	}
	var damaged *archive.DamagedError
	m.Flip(archive.ExtentName, archive.BlockSize+int64(m.Rand.IntN(80))) // 3 is in the second slot
	if x, err := archive.ReadExtent(m, archive.ExtentName); err != nil || x != extentAt(2) {
		t.Errorf("got %+v, %v", x, err)
	}
	m.Flip(archive.ExtentName, 40)
	if _, err := archive.ReadExtent(m, archive.ExtentName); !errors.As(err, &damaged) {
		t.Errorf("two damaged slots: %v", err)
	}
	other := extentAt(9)
	other.Archive = archive.ID{8}
	if _, err := archive.OpenExtent(m, archive.ExtentName, other); err != nil {
		t.Fatal(err)
	}
	if x, err := archive.ReadExtent(m, archive.ExtentName); err != nil || x != other {
		t.Errorf("got %+v, %v; want %+v", x, err, other)
	}
}

// TestMissing takes segments away from the end of a log, and all that it may lack without a word before the extent was
// written.
func TestMissing(t *testing.T) {
	small(t)
	m := archivetest.New(1)
	id := archive.LogID{Archive: archive.ID{7}, Epoch: 1}
	manifest := &archive.Manifest{ID: id.Archive, Epochs: []archive.Epoch{{Number: 1}}}
	l, err := archive.CreateLog(m, id)
	if err != nil {
		t.Fatal(err)
	}
	var before archive.Extent
	for l.Lasts().Segment < 4 {
		before, _ = l.Extent()
		if err := l.Append(archive.Position{File: 1, Offset: l.End().Offset}, make([]byte, 3000)); err != nil {
			t.Fatal(err)
		}
	}
	now, _ := l.Extent()
	later := now
	later.Epoch++
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	lacks := func(x archive.Extent) bool {
		t.Helper()
		missing, err := x.Missing(m, manifest)
		if err != nil {
			t.Fatal(err)
		}
		return missing != nil
	}
	other := now
	other.Archive = archive.ID{8}
	if lacks(before) || lacks(now) || lacks(other) || !lacks(later) {
		t.Error("of a whole log: a false alarm, or none for an epoch that is not there")
	}
	if err := m.Remove(id.SegmentName(5)); err != nil { // made ready, and not used
		t.Fatal(err)
	}
	if lacks(now) {
		t.Error("a segment that was never used is not missing")
	}
	if err := m.Remove(id.SegmentName(4)); err != nil {
		t.Fatal(err)
	}
	missing, err := now.Missing(m, manifest)
	if err != nil || missing == nil || missing.Ends != before.At || missing.Went != now.At || missing.File != id.SegmentName(3) || missing.From.IsZero() || missing.To != now.Time {
		t.Errorf("got %+v, %v", missing, err)
	}
	if lacks(before) {
		t.Error("what came behind the extent nobody knows of")
	}
	manifest.Epochs[0].Lost = true
	if lacks(now) {
		t.Error("the loss was accepted")
	}
}
