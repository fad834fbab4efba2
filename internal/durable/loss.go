package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// accepts reports whether a recovery that has failed is to be done once more, up to where the log is good: the loss
// of the rest is accepted. It is the one place that decides so, whatever is wrong with the rest: that it is missing,
// damaged, or refused by the server.
func (a *Archive) accepts(err error) bool {
	var broken *BrokenError
	if !a.AcceptLoss || !errors.As(err, &broken) {
		return false
	}
	if l := a.lost; l != nil && (broken.Epoch > l.Epoch || broken.Epoch == l.Epoch && !broken.At.Before(l.At)) {
		return false // it was tried with less
	}
	a.lost = broken
	return true
}

// GivenUp says from when to when what was committed was given up; from is zero if that is not known, and to is the
// time up to which the archive is known to have gone, or now.
func (a *Archive) GivenUp() (from, to time.Time) {
	from = a.lostFrom
	var missing *archive.MissingError
	if a.lost != nil && errors.As(a.lost, &missing) {
		from, to = missing.From, missing.To
	}
	for _, x := range a.extents {
		if x.Time.After(to) {
			to = x.Time
		}
	}
	if to.IsZero() {
		to = time.Now()
	}
	return from, to
}

// lostWhat is what the manifest says was wrong where a loss was accepted.
const lostWhat = "what was committed in that time was given up by --accept-loss: %s"

// noteLoss has a manifest whose next epoch begins with a base say what was given up before.
func (a *Archive) noteLoss(m *archive.Manifest, b archive.Base) {
	if a.lost == nil {
		return
	}
	for i := range m.Epochs {
		m.Epochs[i].Lost = m.Epochs[i].Lost || m.Epochs[i].Number >= a.lost.Epoch
	}
	from, to := a.GivenUp()
	m.Breaches = append(m.Breaches, archive.Breach{From: from, To: to, What: fmt.Sprintf(lostWhat, a.lost.Err), Base: b.ID})
}

// totalBefore is how many bytes an epoch's log has before a place, at least: as many as the last base before it had.
func (a *Archive) totalBefore(at *BrokenError) (n int64) {
	for _, b := range a.Manifest.Bases {
		if b.Epoch == at.Epoch && !at.At.Before(b.At) {
			n = max(n, b.Total)
		}
	}
	return n
}

// GoOnAs has an instance that was recovered go on with the archive: in an epoch that goes on from the one before, or in one
// that begins with a base of its data. That is where what is behind the end of the recovery is not to come back, and where
// statements were replayed that need not give the same again: another recovery is to give what this one has given. keys is
// the directory of keys that all servers of the user share.
func (a *Archive) GoOnAs(ctx context.Context, i *instance.Instance, keys string, r Recovered) error {
	if err := a.loseHidden(r); err != nil {
		return err
	}
	if r.Lost != nil || r.More || len(r.Fences) > 0 || r.Epoch != a.Manifest.Last().Number {
		return a.Begin(ctx, i, keys, r.GTIDState)
	}
	return a.GoOn(i, r)
}
