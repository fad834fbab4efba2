package durable_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/basebackup"
	"github.com/ramaria-db/ramaria/internal/bucket"
	"github.com/ramaria-db/ramaria/internal/bucket/storetest"
	"github.com/ramaria-db/ramaria/internal/durable"
)

// archived is an archive of two bases, the second of which rests on the first, and two epochs.
func archived(t *testing.T) (archive.OSDisk, *archive.Manifest) {
	t.Helper()
	d := archive.OSDisk{Dir: t.TempDir()}
	m := &archive.Manifest{ID: archive.NewID(), NextBase: 1}
	data := t.TempDir()
	var prev *basebackup.Index
	base := func(epoch uint32, at archive.Position, change string) {
		if err := os.WriteFile(filepath.Join(data, change), bytes.Repeat([]byte(change), 9000), 0o600); err != nil {
			t.Fatal(err)
		}
		x, _, err := basebackup.Write(t.Context(), d, m.ID, m.NextBase, data, prev, nil)
		if err != nil {
			t.Fatal(err)
		}
		prev = x
		m.Add(archive.Base{ID: m.NextBase, Epoch: epoch, At: at, Packs: x.Packs()})
		if err := m.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	log := func(epoch uint32) archive.Position {
		l, err := archive.CreateLog(d, m.LogID(epoch))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		for file := range uint32(3) {
			if err := l.Append(archive.Position{File: file + 1}, make([]byte, 9<<20)); err != nil {
				t.Fatal(err)
			}
		}
		return l.End()
	}
	m.Begin(archive.Epoch{}, archive.Position{}, 0)
	base(1, archive.Position{}, "one")
	end := log(1)
	m.Begin(archive.Epoch{}, end, 27<<20)
	log(2)
	base(2, archive.Position{File: 3, Offset: 5000}, "two")
	return d, m
}

// TestNeeds: a bucket that has what a manifest names restores every base, and all of the log.
func TestNeeds(t *testing.T) {
	d, m := archived(t)
	store := storetest.NewMemory()
	mirror := &bucket.Mirror{Archive: m.ID, Local: d, Store: store, Needs: durable.Needs}
	if err := mirror.Catch(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		trim   func([]byte) ([]byte, bucket.Needs, error)
		bases  []uint32
		epochs []uint32
		first  archive.Position // of the log of the second epoch, at most
	}{
		"all":    {bases: []uint32{1, 2}, epochs: []uint32{1, 2}},
		"newest": {durable.From(newest), []uint32{2}, []uint32{2}, archive.Position{File: 2}},
		"first":  {durable.From(first), []uint32{1}, []uint32{1, 2}, archive.Position{}},
	} {
		t.Run(name, func(t *testing.T) {
			to := archive.OSDisk{Dir: t.TempDir()}
			id, err := (&bucket.Download{Store: store, To: to, Trim: tc.trim}).Run(t.Context())
			if err != nil || id != m.ID {
				t.Fatal(id, err)
			}
			got, err := archive.ReadManifest(to)
			if err != nil {
				t.Fatal(err)
			}
			var bases, epochs []uint32
			for _, b := range got.Bases {
				bases = append(bases, b.ID)
				x, err := basebackup.ReadIndex(to, m.ID, b.ID)
				if err != nil {
					t.Fatal(err)
				}
				if err := basebackup.Check(t.Context(), to, x, nil); err != nil {
					t.Errorf("base %d: %v", b.ID, err)
				}
			}
			for _, e := range got.Epochs {
				epochs = append(epochs, e.Number)
				from, end, err := archive.ReadLog(to, m.LogID(e.Number), archive.Discard)
				if err != nil || end != (archive.Position{File: 3, Offset: 9 << 20}) {
					t.Errorf("epoch %d: to %s, %v", e.Number, end, err)
				}
				if want := (archive.Position{File: 1}); e.Number == 1 && from != want {
					t.Errorf("epoch 1 begins at %s", from)
				}
				if e.Number == 2 && (from.Before(tc.first) || (archive.Position{File: 3}).Before(from)) {
					t.Errorf("epoch 2 begins at %s", from)
				}
			}
			if fmt.Sprint(bases, epochs) != fmt.Sprint(tc.bases, tc.epochs) {
				t.Errorf("it has the bases %v and the epochs %v", bases, epochs)
			}
		})
	}
}

func newest(m *archive.Manifest) (archive.Base, error) { b, _, err := m.Newest(); return b, err }
func first(m *archive.Manifest) (archive.Base, error)  { return m.Bases[0], nil }
