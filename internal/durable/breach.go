package durable

import (
	"errors"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/shipper"
)

const (
	// sameBreach is within what time another breach of the same kind is the same one going on.
	sameBreach = time.Minute
	// mostBreaches is how many the manifest names.
	mostBreaches = 100
)

// Breach notes a time at which the server did not keep the promise. A base is due then.
func (k *Keeper) Breach(from, to time.Time, what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := len(k.breaches); n > 0 && !k.breaches[n-1].Open && k.breaches[n-1].What == what && from.Sub(k.breaches[n-1].To) < sameBreach {
		k.breaches[n-1].To = to
		return
	}
	k.breached++
	k.breaches = append(k.breaches, archive.Breach{From: from, To: to, What: what})
}

// hasBreaches reports whether there are some that the manifest does not have, and that are over.
func (k *Keeper) hasBreaches() bool {
	return slices.ContainsFunc(k.newBreaches(), func(b archive.Breach) bool { return !b.Open })
}

func (k *Keeper) newBreaches() []archive.Breach {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]archive.Breach(nil), k.breaches...)
}

// savedBreaches forgets the first n breaches, which the manifest has now.
func (k *Keeper) savedBreaches(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.breaches = k.breaches[n:]
}

// SaveBreaches has the manifest know of the breaches, before the base is there that is made after them.
func (k *Keeper) SaveBreaches() error {
	k.manifest.Lock()
	defer k.manifest.Unlock()
	noted := k.newBreaches()
	if len(noted) == 0 {
		return nil
	}
	err := k.Archive.save(func(m *archive.Manifest) {
		for _, b := range noted {
			m.Note(b)
		}
		m.Breaches = m.Breaches[max(0, len(m.Breaches)-mostBreaches):]
	})
	if err == nil {
		k.savedBreaches(len(noted))
	}
	return err
}

// Lost is why the archive does not follow the server's log any more, nil if it does: the log is another
// one.
func (k *Keeper) Lost() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if errors.Is(k.ended, shipper.ErrRemoved) || errors.Is(k.ended, shipper.ErrOther) {
		return k.ended
	}
	return nil
}
