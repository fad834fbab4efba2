package archive_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/archive/archivetest"
)

// beside is a disk on which another process writes before each read.
type beside struct {
	archive.Disk
	write func()
}

func (d beside) Open(name string) (archive.File, error) {
	f, err := d.Disk.Open(name)
	return besideFile{f, d.write}, err
}

type besideFile struct {
	archive.File
	write func()
}

func (f besideFile) ReadAt(b []byte, at int64) (int, error) {
	f.write()
	return f.File.ReadAt(b, at)
}

// TestReadBesideWriter: a log that is read while it is written is a beginning of it, at least up to where it
// ended before, and is never taken for damaged.
func TestReadBesideWriter(t *testing.T) {
	small(t)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		m := archivetest.New(seed)
		log, err := archive.CreateLog(m, testID)
		if err != nil {
			t.Fatal(err)
		}
		at := archive.Position{File: 1}
		often := 1 + rng.IntN(6)
		write := func() {
			if rng.IntN(often) > 0 {
				return
			}
			for range 1 + rng.IntN(6) {
				b := content(at.File, at.Offset, 1+rng.IntN(5*archive.BlockSize))
				if err := log.Append(at, b); err != nil {
					t.Fatal(err)
				}
				if at.Offset += int64(len(b)); rng.IntN(20) == 0 {
					at = archive.Position{File: at.File + 1}
				}
			}
		}
		for range 20 {
			write()
		}
		least := log.End()
		var got files
		_, end, err := archive.ReadLog(beside{m, write}, testID, &got)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if end.Before(least) {
			t.Fatalf("seed %d: it ends at %s, and ended at %s before", seed, end, least)
		}
		for file, b := range got.m {
			if !bytes.Equal(b, content(file, 0, len(b))) || file == end.File && int64(len(b)) != end.Offset {
				t.Fatalf("seed %d: file %d is not as it was written", seed, file)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
