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

func needs(m *archive.Manifest) (n bucket.Needs) {
	files := map[string]bool{}
	for _, b := range m.Bases {
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
