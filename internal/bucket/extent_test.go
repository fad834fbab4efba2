package bucket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// lacks is what a downloaded archive lacks of what it is known to have had.
func lacks(t *testing.T, to archive.OSDisk) *archive.MissingError {
	t.Helper()
	raw, err := readFile(to, manifestName)
	if err != nil {
		t.Fatal(err)
	}
	var is named
	if err := json.Unmarshal(raw, &is); err != nil {
		t.Fatal(err)
	}
	m := &archive.Manifest{ID: testArchive}
	for _, n := range is.Epochs {
		m.Epochs = append(m.Epochs, archive.Epoch{Number: n})
	}
	x, err := archive.ReadExtent(to, archive.ExtentName)
	if err != nil {
		t.Fatal(err)
	}
	missing, err := x.Missing(to, m)
	if err != nil {
		t.Fatal(err)
	}
	return missing
}

// bucketOf is a bucket with a log in several parts, of two segments.
func bucketOf(t *testing.T) (*local, *memory) {
	t.Helper()
	l, s := newLocal(t), newMemory()
	l.base(map[string][]byte{})
	for range 5 {
		grow(l, 5<<20)
		if err := l.mirror(s).Catch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return l, s
}

// TestMissingEnd: whatever of the last parts is missing, what is downloaded says so; of a bucket that is whole it does
// not. The manifest knows as much as when it was written.
func TestMissingEnd(t *testing.T) {
	l, s := bucketOf(t)
	if to := restored(t, l, s); lacks(t, to) != nil {
		t.Errorf("a false alarm: %v", lacks(t, to))
	}
	parts := s.names(logPrefix)
	whole := s.objects[extentName]
	for n := len(parts) - 1; n >= 0; n-- {
		delete(s.objects, parts[n])
		to, err := download(t, s)
		if err != nil {
			t.Fatal(err)
		}
		if err := beginning(l, to); err != nil {
			t.Error(err)
		}
		if lacks(t, to) == nil {
			t.Errorf("%d of %d parts are missing, and nothing said so", len(parts)-n, len(parts))
		}
	}
	delete(s.objects, extentName)
	if to, err := download(t, s); err != nil || lacks(t, to) == nil {
		t.Errorf("the manifest, of when there was less, says how far the log went: %v", err)
	}
	s.objects[extentName] = whole
	l.base(map[string][]byte{}) // the same, of now
	if err := l.mirror(s).Catch(t.Context()); err != nil {
		t.Fatal(err)
	}
	delete(s.objects, extentName)
	if to := restored(t, l, s); lacks(t, to) != nil {
		t.Error("a false alarm")
	}
	parts = s.names(logPrefix)
	delete(s.objects, parts[len(parts)-1])
	if to, err := download(t, s); err != nil || lacks(t, to) == nil {
		t.Errorf("the manifest says how far the log goes: %v", err)
	}
}

// TestAcceptLoss: a part that is missing or damaged in the middle is an error, or, if that is asked for, the end of what
// comes.
func TestAcceptLoss(t *testing.T) {
	l, s := bucketOf(t)
	parts := s.names(logPrefix)
	for n, name := range parts {
		whole := s.objects[name]
		for what, b := range map[string][]byte{"missing": nil, "cut": whole[:len(whole)/2], "flipped": append(bytes.Clone(whole[:len(whole)-1]), whole[len(whole)-1]^1)} {
			if s.objects[name] = b; b == nil {
				delete(s.objects, name)
			}
			var damaged *DamagedError
			if _, err := download(t, s); n+1 < len(parts) && !errors.As(err, &damaged) {
				t.Errorf("%s %s: %v", name, what, err)
			}
			to := archive.OSDisk{Dir: t.TempDir()}
			if _, err := (&Download{Store: s, To: to, AcceptLoss: true}).Run(context.Background()); err != nil {
				t.Errorf("%s %s: %v", name, what, err)
				continue
			}
			if err := beginning(l, to); err != nil {
				t.Errorf("%s %s: %v", name, what, err)
			}
			if lacks(t, to) == nil {
				t.Errorf("%s %s: nothing says that the end is missing", name, what)
			}
		}
		s.objects[name] = whole
	}
	restored(t, l, s)
}
