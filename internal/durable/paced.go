package durable

import (
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
)

const (
	// pacedStep is how much of a base is written between two syncs, in bytes.
	pacedStep = 1 << 20
	// pacedRest is how long the disk is left to others after each, as a multiple of what it took: the
	// commits' synchronous writes wait for what the disk has to write before them.
	pacedRest = 1
	// mostRest bounds that.
	mostRest = time.Second
)

// paced is a disk that is written to in small steps, with rests.
type paced struct{ archive.Disk }

// Create implements archive.Disk.
func (p paced) Create(name string) (archive.File, error) {
	f, err := p.Disk.Create(name)
	if err != nil {
		return nil, err
	}
	return &pacedFile{File: f}, nil
}

type pacedFile struct {
	archive.File
	unsynced int
}

// WriteAt implements archive.File.
func (f *pacedFile) WriteAt(b []byte, at int64) (int, error) {
	began := time.Now()
	n, err := f.File.WriteAt(b, at)
	if f.unsynced += n; err != nil || f.unsynced < pacedStep {
		return n, err
	}
	f.unsynced = 0
	if err := f.Sync(); err != nil {
		return n, err
	}
	time.Sleep(min(mostRest, pacedRest*time.Since(began)))
	return n, nil
}
