package durable

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/bucket"
)

// Needs says what a manifest names, for a bucket.Mirror.
func Needs(text []byte) (bucket.Needs, error) {
	m, err := archive.ParseManifest(text)
	if err != nil {
		return bucket.Needs{}, err
	}
	return needs(m), nil
}

// Mirror is what keeps a bucket equal to the archive while its log is being written.
func (k *Keeper) Mirror(s bucket.Store) *bucket.Mirror {
	id := k.Archive.Manifest.ID
	return &bucket.Mirror{
		Archive: id, Local: archive.OSDisk{Dir: k.Archive.Dir, ReadOnly: true}, Store: s, Extra: madeName, Lasts: k.lasts,
		Needs: func(text []byte) (bucket.Needs, error) {
			m, err := archive.ParseManifest(text)
			if err != nil {
				return bucket.Needs{}, err
			}
			if m.ID != id { // it was moved, and another put in its place
				return bucket.Needs{}, fmt.Errorf("the archive in %s is another one now: %s", k.Archive.Dir, m.ID)
			}
			return needs(m), nil
		},
	}
}

// lasts is how far the log of an epoch may be read.
func (k *Keeper) lasts(epoch uint32) archive.Place {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case epoch == k.epoch:
		return k.log.Lasts()
	case epoch > k.epoch:
		return archive.Place{}
	}
	return archive.All
}

// Download is how an archive comes from a bucket to a directory: what it takes to restore by a plan that choose
// makes, or all of it if that is nil. acceptLoss is that of the Archive.
func Download(s bucket.Store, dir string, acceptLoss bool, choose func(*archive.Manifest) (archive.Base, error), progress func(done, total int64)) *bucket.Download {
	d := &bucket.Download{Store: s, To: archive.OSDisk{Dir: dir}, Extra: madeName, AcceptLoss: acceptLoss, Progress: progress}
	if choose != nil {
		d.Trim = From(choose)
	}
	return d
}

func needs(m *archive.Manifest) (n bucket.Needs) {
	files := map[string]bool{}
	for _, b := range m.Bases {
		if b.Dir != "" {
			continue
		}
		files[fmt.Sprintf("base/%06d.index", b.ID)] = true
		for _, id := range b.Packs {
			files[fmt.Sprintf("base/%06d.pack", id)] = true
		}
	}
	n.Files = slices.Sorted(maps.Keys(files))
	for _, e := range m.Epochs {
		n.Epochs = append(n.Epochs, e.Number)
	}
	return n
}

// From keeps of a manifest what it takes to restore from the base that is chosen, for a
// bucket.Download: that base, and the log from the file on that it ends in.
func From(choose func(*archive.Manifest) (archive.Base, error)) func(text []byte) ([]byte, bucket.Needs, error) {
	return func(text []byte) ([]byte, bucket.Needs, error) {
		m, err := archive.ParseManifest(text)
		if err != nil {
			return nil, bucket.Needs{}, err
		}
		b, err := choose(m)
		if err != nil {
			return nil, bucket.Needs{}, err
		}
		m.Bases = []archive.Base{b}
		m.Epochs = slices.DeleteFunc(m.Epochs, func(e archive.Epoch) bool { return e.Number < b.Epoch })
		n := needs(m)
		n.From = map[uint32]archive.Position{b.Epoch: {File: b.At.File}}
		text, err = m.Text()
		return text, n, err
	}
}
