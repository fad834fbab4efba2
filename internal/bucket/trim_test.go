package bucket

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/archive/archivetest"
)

// TestTrim restores one of two base backups, and the log from there on.
func TestTrim(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	s := newMemory()
	l.base(map[string][]byte{"base/000001.pack": pack(l, 1000)})
	grow(l, 52<<20)
	l.cut()
	l.base(map[string][]byte{"base/000001.pack": nil, "base/000002.pack": pack(l, 1000)})
	grow(l, 17<<20)
	if err := l.mirror(s).Catch(t.Context()); err != nil {
		t.Fatal(err)
	}
	to := archive.OSDisk{Dir: t.TempDir()}
	var want named
	d := &Download{Store: s, To: to, Trim: func(b []byte) ([]byte, Needs, error) {
		mustJSON(t, b, &want)
		want.Files = want.Files[1:]
		b, err := json.Marshal(want)
		return b, Needs{Files: want.Files, Epochs: want.Epochs, From: map[uint32]archive.Position{1: want.At}}, err
	}}
	if _, err := d.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	x, y := read{}, read{}
	if _, _, err := archive.ReadLog(l.disk, l.id, x); err != nil {
		t.Fatal(err)
	}
	from, end, err := archive.ReadLog(to, l.id, y)
	if err != nil {
		t.Fatal(err)
	}
	if want.At.Before(from) || end != l.log.End() {
		t.Errorf("it goes from %s to %s, and the base backup is at %s", from, end, want.At)
	}
	first := want.At
	for file, b := range x {
		if file < first.File {
			continue
		}
		at := int64(0)
		if file == first.File {
			at = first.Offset
		}
		if !bytes.Equal(b[at:], y[file][at:]) {
			t.Errorf("file %d differs", file)
		}
	}
	if segments, _ := l.id.Segments(to); len(segments) > 3 {
		t.Errorf("it has the segments %v", segments)
	}
	if names, _ := to.Names("base"); len(names) != 1 || names[0] != "000002.pack" {
		t.Errorf("it has the files %v", names)
	}
}

// TestTrimOfDamaged: a part that is damaged, and that a restore looks at to find where to begin, is in the way of nothing that is
// behind it.
func TestTrimOfDamaged(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	s := newMemory()
	l.base(map[string][]byte{"base/000001.pack": pack(l, 1000)})
	grow(l, 68<<20)
	l.base(map[string][]byte{"base/000001.pack": nil, "base/000002.pack": pack(l, 1000)})
	grow(l, 17<<20)
	if err := l.mirror(s).Catch(t.Context()); err != nil {
		t.Fatal(err)
	}
	fetched := func(acceptLoss bool) ([]uint64, archive.Position, error) {
		to := archive.OSDisk{Dir: t.TempDir()}
		d := &Download{Store: s, To: to, AcceptLoss: acceptLoss, Trim: func(b []byte) ([]byte, Needs, error) {
			n, err := needsOf(b)
			var is named
			mustJSON(t, b, &is)
			n.From = map[uint32]archive.Position{1: is.At}
			return b, n, err
		}}
		if _, err := d.Run(t.Context()); err != nil {
			return nil, archive.Position{}, err
		}
		segments, err := l.id.Segments(to)
		if err != nil {
			t.Fatal(err)
		}
		end, _, err := archive.EndOf(to, l.id)
		return segments, end, err
	}
	segments, _, err := fetched(false)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range s.names(logPrefix) {
		p, _ := parseSpan(name)
		whole := s.objects[name]
		s.objects[name] = whole[:len(whole)/2]
		needed := p.segment >= segments[0]
		var damaged *DamagedError
		if _, end, err := fetched(false); needed != errors.As(err, &damaged) || !needed && end != l.log.End() {
			t.Errorf("%s: the log ends at %s, %v", name, end, err)
		}
		if _, end, err := fetched(true); err != nil || !needed && end != l.log.End() {
			t.Errorf("%s, with a loss accepted: the log ends at %s, %v", name, end, err)
		}
		s.objects[name] = whole
	}
}

// TestDownloadPowerCut cuts the power in a download, at each of its calls: what is there then is not
// taken for an archive, and the next one goes on.
func TestDownloadPowerCut(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	s := newMemory()
	l.append(5000)
	l.base(map[string][]byte{"base/000001.pack": pack(l, 9000), "base/000001.index": pack(l, 10)})
	for range 3 {
		l.append(5000)
		if err := l.mirror(s).Catch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l.epoch(2)
	l.append(100)
	if err := l.mirror(s).Catch(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole := func(m *archivetest.Model) error {
		names, err := m.Names("base")
		if err != nil || len(names) != 2 {
			return errors.Join(err, errors.New("there are no files"))
		}
		for _, name := range names {
			x, err := readFile(l.disk, "base/"+name)
			if err != nil {
				return err
			}
			if y, err := readFile(m, "base/"+name); err != nil || !bytes.Equal(x, y) {
				return errors.Join(err, errors.New(name+" differs"))
			}
		}
		for epoch := range uint32(2) {
			if err := sameLog(archive.LogID{Archive: testArchive, Epoch: epoch + 1}, l.disk, m); err != nil {
				return err
			}
		}
		return nil
	}
	for n := 0; ; n++ {
		m := archivetest.New(uint64(n))
		m.Left = n
		_, err := (&Download{Store: s, To: m}).Run(t.Context())
		cut := errors.Is(err, archivetest.ErrCut)
		if err != nil && !cut {
			t.Fatal(err)
		}
		m.Restart()
		names, err := m.Names(".")
		if err != nil {
			t.Fatal(err)
		}
		restoring, complete := false, false
		for _, name := range names {
			restoring = restoring || name == restoringName
			complete = complete || name == manifestName
		}
		if complete {
			if err := whole(m); err != nil {
				t.Fatalf("cut in call %d, it seems to be complete: %v", n, err)
			}
		}
		if complete && !restoring {
			if !cut {
				break
			}
			continue
		}
		if _, err := (&Download{Store: s, To: m}).Run(t.Context()); err != nil {
			t.Fatalf("cut in call %d, once more: %v", n, err)
		}
		if err := whole(m); err != nil {
			t.Fatalf("cut in call %d, once more: %v", n, err)
		}
	}
}
