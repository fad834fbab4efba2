package durable

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// TestOtherLogIsSeen: a log of the same name, as there is one after RESET MASTER, is not taken for the one that
// the archive has, however long it is.
func TestOtherLogIsSeen(t *testing.T) {
	dir := t.TempDir()
	i := &instance.Instance{Record: instance.Record{Dir: dir}}
	a := &Archive{Dir: dir, Disk: archive.OSDisk{Dir: dir}, Manifest: &archive.Manifest{ID: archive.NewID()}}
	id := a.Manifest.LogID(1)
	log, err := archive.CreateLog(a.Disk, id)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	text := make([]byte, 3*headSize)
	for n := range text {
		text[n] = byte(n % 251)
	}
	if err := log.Append(archive.Position{File: 1}, text[:2*headSize]); err != nil {
		t.Fatal(err)
	}
	changed := func(at int) []byte {
		out := append([]byte(nil), text...)
		out[at] ^= 1
		return out
	}
	for _, c := range []struct {
		name string
		has  []byte // nil for no file
		want bool
	}{
		{"all that was archived", text[:2*headSize], true},
		{"more", text, true},
		{"a flag of its first event", changed(4 + 17), true},
		{"another first event", changed(4), false},
		{"another event", changed(4000), false},
		{"too short", text[:1000], false},
		{"none", nil, false},
	} {
		path := filepath.Join(i.DataDir(), "ramaria-bin.000001")
		if err := os.RemoveAll(i.DataDir()); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(i.DataDir(), 0o700); err != nil {
			t.Fatal(err)
		}
		if c.has != nil {
			if err := os.WriteFile(path, c.has, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := a.sameLog(i, id, log.End()); err != nil || got != c.want {
			t.Errorf("%s: the same is %v, %v", c.name, got, err)
		}
	}
}
