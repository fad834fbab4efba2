package durable

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/archive/archivetest"
)

// TestMakeLast: an archive that was copied without a sync is there after a power cut, as a whole.
func TestMakeLast(t *testing.T) {
	for seed := range uint64(20) {
		m := archivetest.New(seed)
		var err error
		for _, dir := range []string{"base", "log", "log/000001", "log/000003"} {
			err = errors.Join(err, m.Mkdir(dir))
		}
		text := bytes.Repeat([]byte("copied"), 5000)
		names := strings.Fields("manifest.json instance.json extent base/000002.index base/000001.pack base/000002.pack log/000001/000000000001.segment log/000003/000000000007.segment")
		for _, name := range names {
			f, cerr := m.Create(name)
			if cerr != nil {
				t.Fatal(cerr)
			}
			_, werr := f.WriteAt(text, 0)
			err = errors.Join(err, werr, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		a := &Archive{Dir: t.TempDir(), Disk: m, Manifest: &archive.Manifest{
			Epochs: []archive.Epoch{{Number: 1}, {Number: 3}}, Bases: []archive.Base{{ID: 2, Epoch: 1, Packs: []uint32{1, 2}}},
		}}
		if err := a.MakeLast(); err != nil {
			t.Fatal(err)
		}
		m.Restart()
		for _, name := range names {
			f, err := m.Open(name)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			b := make([]byte, len(text))
			if _, err := f.ReadAt(b, 0); err != nil || !bytes.Equal(b, text) {
				t.Fatalf("seed %d: %s is not as it was: %v", seed, name, err)
			}
		}
	}
}
