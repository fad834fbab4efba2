package durable

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/archive/archivetest"
	"github.com/ramaria-db/ramaria/internal/basebackup"
)

// TestPruneKeepsTheGood: nothing is given up for a base that cannot be read.
func TestPruneKeepsTheGood(t *testing.T) {
	l, d := newArchiveLife(t, 1), archive.OSDisk{Dir: t.TempDir()}
	a := &Archive{Dir: d.Dir, Disk: d, Manifest: &archive.Manifest{ID: l.id, Created: time.Now(), NextBase: 1}}
	for range 2 {
		b, err := a.writeBase(t.Context(), l.dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.save(func(m *archive.Manifest) {
			b.Epoch = m.Begin(archive.Epoch{Base: b.ID}, archive.Position{}, 0)
			m.Add(b)
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(filepath.Join(d.Dir, "base", "000002.index"), 100); err != nil {
		t.Fatal(err)
	}
	_, err := a.prune(a.Manifest.Bases[1:])
	var damaged *archive.DamagedError
	if !errors.As(err, &damaged) {
		t.Errorf("got %v", err)
	}
	if is, err := archive.ReadManifest(d); err != nil || !named(is, 1) {
		t.Errorf("the base that can be read is not named any more: %v, %v", is, err)
	}
}

// TestPruneAfterKill: a process is killed when the manifest has its name, and before that lasts. The next one goes on
// with what it reads, and the power is cut.
func TestPruneAfterKill(t *testing.T) {
	for seed := range uint64(20) {
		l := newArchiveLife(t, seed)
		a := &Archive{Disk: l.m, Manifest: &archive.Manifest{ID: l.id, Created: time.Now(), NextBase: 1}}
		if err := errors.Join(l.begin(a), l.begin(a)); err != nil {
			t.Fatal(err)
		}
		l.m.Fail = func(call, name string) error {
			if call == "syncdir" && name == "." {
				return archivetest.ErrCut
			}
			return nil
		}
		if _, err := a.prune(a.Manifest.Bases[1:]); !errors.Is(err, archivetest.ErrCut) {
			t.Fatal(err)
		}
		l.m.Fail = nil
		l.m.Resume()
		next, err := archive.SettledManifest(l.m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (&Archive{Disk: l.m, Manifest: next}).prune(next.Bases); err != nil {
			t.Fatal(err)
		}
		l.m.Restart()
		is, err := archive.ReadManifest(l.m)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range is.Bases {
			if _, err := basebackup.ReadIndex(l.m, l.id, b.ID); err != nil {
				t.Fatalf("seed %d: the manifest names base %d: %v", seed, b.ID, err)
			}
		}
	}
}

// TestPruneAfterError: the sync fails by which the manifest would last, and the same process prunes again. Then the power is cut.
func TestPruneAfterError(t *testing.T) {
	for seed := range uint64(20) {
		l := newArchiveLife(t, seed)
		a := &Archive{Disk: l.m, Manifest: &archive.Manifest{ID: l.id, Created: time.Now(), NextBase: 1}}
		if err := errors.Join(l.begin(a), l.begin(a)); err != nil {
			t.Fatal(err)
		}
		failed := errors.New("an error of the disk")
		l.m.Fail = func(call, name string) error {
			if call == "syncdir" && name == "." {
				return failed
			}
			return nil
		}
		if _, err := a.prune(a.Manifest.Bases[1:]); !errors.Is(err, failed) {
			t.Fatal(err)
		}
		if _, err := a.prune(a.Manifest.Bases); !errors.Is(err, failed) {
			t.Errorf("seed %d: removed what a manifest may name: %v", seed, err)
		}
		l.m.Fail = nil
		l.m.Restart()
		is, err := archive.ReadManifest(l.m)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range is.Bases {
			if _, err := basebackup.ReadIndex(l.m, l.id, b.ID); err != nil {
				t.Fatalf("seed %d: the manifest names base %d: %v", seed, b.ID, err)
			}
		}
	}
}
