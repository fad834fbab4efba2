package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/basebackup"
)

// Pruned is what was removed from an archive.
type Pruned struct {
	Bases, Epochs int
}

// PruneDir prunes the archive in a directory, of an instance that does not run.
func PruneDir(ctx context.Context, dir string, p Policy) (out Pruned, err error) {
	a, err := Open(ctx, dir)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return a.prune(p.Keep(a.Manifest, time.Now()))
}

// prune removes all bases but those that are kept, and the log that none of these needs. The manifest
// comes first: what it does not name is not missed.
func (a *Archive) prune(keep []archive.Base) (out Pruned, err error) {
	if len(keep) == 0 {
		return out, nil
	}
	// What is kept must be good for something before anything else is given up.
	var indexes []*basebackup.Index
	for _, b := range keep {
		if b.Dir != "" {
			continue
		}
		x, err := basebackup.ReadIndex(a.Disk, a.Manifest.ID, b.ID)
		if err != nil {
			return out, fmt.Errorf("prune the archive: %w", err)
		}
		indexes = append(indexes, x)
	}
	before := a.Manifest
	oldest := keep[0].Epoch
	gone := func(e archive.Epoch) bool { return e.Number < oldest }
	if len(keep) < len(before.Bases) || slices.ContainsFunc(before.Epochs, gone) {
		if err := a.save(func(m *archive.Manifest) {
			m.Bases = slices.Clone(keep)
			m.Epochs = slices.DeleteFunc(m.Epochs, gone)
			m.Breaches = slices.DeleteFunc(m.Breaches, func(b archive.Breach) bool { return !b.Open && b.Base != 0 && b.Base < keep[0].ID })
		}); err != nil {
			return out, err
		}
	} else if err := a.Disk.SyncDir("."); err != nil { // it may have been written, and that sync have failed
		return out, fmt.Errorf("prune the archive: %w", err)
	}
	out = Pruned{Bases: len(before.Bases) - len(a.Manifest.Bases), Epochs: len(before.Epochs) - len(a.Manifest.Epochs)}
	if err := basebackup.Remove(a.Disk, indexes); err != nil {
		return out, fmt.Errorf("prune the archive: %w", err)
	}
	if err := archive.PruneEpochs(a.Disk, oldest); err != nil {
		return out, err
	}
	// The file that the oldest base is in the middle of is needed from its beginning.
	return out, archive.Prune(a.Disk, a.Manifest.LogID(oldest), archive.Position{File: keep[0].At.File})
}
