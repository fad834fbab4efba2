package durable

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
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
	k := &Keeper{Archive: a, Instance: l.inst, Log: slog.New(slog.DiscardHandler), log: log, ship: &shipper.Shipper{Log: log}}
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
