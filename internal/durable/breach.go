package durable

import (
	"errors"
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
	if n := len(k.breaches); n > 0 && k.breaches[n-1].What == what && from.Sub(k.breaches[n-1].To) < sameBreach {
		k.breaches[n-1].To = to
		return
	}
	k.breached++
	k.breaches = append(k.breaches, archive.Breach{From: from, To: to, What: what})
}

// newBreaches are those that are over, and that the manifest does not have.
func (k *Keeper) newBreaches() []archive.Breach {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]archive.Breach(nil), k.breaches...)
}

// savedBreaches forgets the first n breaches, which the manifest has now; more is as of untold.
func (k *Keeper) savedBreaches(n int, more bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.breaches = k.breaches[n:]
	if more {
		k.breached++
	}
}

// SaveBreaches has the manifest know of the breaches, before the base is there that is made after them, and that a session may
// still hide commits, if one may: a power cut takes all else that knows of it.
func (k *Keeper) SaveBreaches() error {
	k.manifest.Lock()
	defer k.manifest.Unlock()
	noted, blind := k.newBreaches(), k.Blind()
	untold, more := blind.untold(k.Archive.Manifest)
	if len(noted) == 0 && !untold {
		return nil
	}
	err := k.Archive.save(func(m *archive.Manifest) {
		noteAll(m, noted, blind)
		m.Breaches = m.Breaches[max(0, len(m.Breaches)-mostBreaches):]
	})
	if err == nil {
		k.savedBreaches(len(noted), more)
	}
	return err
}

// noteAll has a manifest know of breaches that are over, and of the one that goes on.
func noteAll(m *archive.Manifest, over []archive.Breach, blind Blind) {
	for _, b := range over {
		m.Note(b)
	}
	blind.note(m)
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
