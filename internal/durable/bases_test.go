package durable

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/shipper"
)

// TestAddBaseBehindEnd: a base with more than the log has is not named: with the power cut then, no recovery gets from
// the log that there is to where the base begins.
func TestAddBaseBehindEnd(t *testing.T) {
	l := newArchiveLife(t, 1)
	a := &Archive{Disk: l.m, Manifest: &archive.Manifest{ID: l.id, Created: time.Now(), NextBase: 1}}
	if err := l.begin(a); err != nil {
		t.Fatal(err)
	}
	log, err := archive.OpenLog(l.m, a.Manifest.LogID(l.epoch), archive.Position{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := log.Append(archive.Position{File: 1}, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	k := &Keeper{Archive: a, Instance: l.inst, Log: slog.New(slog.DiscardHandler), log: log, fences: &fences{}, ship: &shipper.Shipper{Log: log}}
	for _, at := range []int64{1001, 1000} {
		b, err := l.base(a)
		if err != nil {
			t.Fatal(err)
		}
		b.At = archive.Position{File: 1, Offset: at}
		b, err = k.AddBase(b)
		if want := at <= 1000; (err == nil) != want || named(a.Manifest, b.ID) != want {
			t.Errorf("a base at %d, where the log ends at 1000: %v, and it is named: %t", at, err, named(a.Manifest, b.ID))
		}
	}
}

// TestAwait: it waits for what the server has written, and no longer than it is asked to.
func TestAwait(t *testing.T) {
	l := newArchiveLife(t, 1)
	l.inst.Dir = t.TempDir()
	if err := os.MkdirAll(l.inst.DataDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.inst.DataDir(), serverLog(1)), make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := archive.CreateLog(l.m, archive.LogID{Archive: l.id, Epoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	k := &Keeper{
		Archive: &Archive{Disk: l.m}, Instance: l.inst, Log: slog.New(slog.DiscardHandler), log: log, ship: &shipper.Shipper{Log: log},
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := k.Await(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with nothing archived: %v", err)
	}
	if err := log.Append(archive.Position{File: 1}, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if err := k.Await(t.Context()); err != nil {
		t.Errorf("with all archived: %v", err)
	}
}

// TestBaseBesideDamage: a base that follows a damaged one needs nothing of that.
func TestBaseBesideDamage(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(dir string) error
		packs  []uint32 // of the base that follows
	}{
		{"none", func(string) error { return nil }, []uint32{1}},
		{"an index that ends early", func(dir string) error { return os.Truncate(filepath.Join(dir, "000001.index"), 60) }, []uint32{2}},
		{"no index", func(dir string) error { return os.Remove(filepath.Join(dir, "000001.index")) }, []uint32{2}},
		{"a pack that ends early", func(dir string) error { return os.Truncate(filepath.Join(dir, "000001.pack"), 60) }, []uint32{2}},
		{"no pack", func(dir string) error { return os.Remove(filepath.Join(dir, "000001.pack")) }, []uint32{2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, id := t.TempDir(), archive.NewID()
			s := &Snapshot{DataDir: t.TempDir()}
			if err := os.WriteFile(filepath.Join(s.DataDir, "u.ibd"), []byte("not zeros"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Base(t.Context(), dir, BaseOrder{Archive: id, Number: 1}); err != nil {
				t.Fatal(err)
			}
			if err := c.damage(filepath.Join(dir, "base")); err != nil {
				t.Fatal(err)
			}
			b, err := s.Base(t.Context(), dir, BaseOrder{Archive: id, Number: 2, Prev: 1})
			if err != nil || !slices.Equal(b.Packs, c.packs) {
				t.Errorf("it needs packs %v, not %v: %v", b.Packs, c.packs, err)
			}
		})
	}
}
