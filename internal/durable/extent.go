package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// readExtent reads how far the archive itself says that its log goes. It comes before the manifest is read of an
// archive that others write to: an extent is never ahead of what was read after it.
func readExtent(d archive.Disk) (known []archive.Extent, err error) {
	x, err := archive.ReadExtent(d, archive.ExtentName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []archive.Extent{x}, nil
}

// know takes over what was read of how far the log goes. What says so and is damaged, or not there any more, does not
// keep the archive from being opened: a recovery to the end of its log finds out.
func (a *Archive) know(known []archive.Extent, err error) error {
	var damaged *archive.DamagedError
	a.unsaid = nil
	switch {
	case errors.As(err, &damaged):
		a.unsaid = err
	case err != nil:
		return explain(a.Dir, err)
	case len(known) == 0 && a.Manifest.Extent:
		a.unsaid = &archive.DamagedError{File: archive.ExtentName, Reason: "it is missing, and says how far the log goes"}
	}
	a.extents = known
	return nil
}

// KnowFrom takes into account how far the archive went by what is outside of it: a file, which need not be there, and
// an epoch that had begun; both are its instance's, in the state directory. By it an older copy in the archive's place
// is found.
func (a *Archive) KnowFrom(path string, begun *instance.Durable) error {
	defer func() { // behind what says more
		if begun != nil && begun.Archive == a.Manifest.ID.String() {
			a.extents = append(a.extents, archive.Extent{Archive: a.Manifest.ID, Epoch: begun.Epoch})
		}
	}()
	x, err := archive.ReadExtent(archive.OSDisk{Dir: filepath.Dir(path), ReadOnly: true}, filepath.Base(path))
	var damaged *archive.DamagedError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &damaged) { // then the archive's own word counts
		return nil
	}
	if err != nil {
		return err
	}
	if last := a.Manifest.Last(); last != nil && x.Epoch > last.Number && a.lock == nil {
		m, err := archive.ReadManifest(a.Disk) // it may have begun since
		if err != nil {
			return explain(a.Dir, err)
		}
		a.Manifest = m
	}
	a.extents = append(a.extents, x)
	return nil
}

// lacks is an error if an epoch's log does not go as far as it is known to have gone: a *archive.MissingError or a
// *archive.DamagedError.
func (a *Archive) lacks(epoch uint32) error {
	last := a.Manifest.Last().Number
	for _, x := range a.extents {
		if x.Epoch != epoch && (epoch != last || x.Epoch < last) {
			continue
		}
		missing, err := x.Missing(a.Disk, a.Manifest)
		if err != nil {
			return err
		}
		if missing != nil {
			return missing
		}
	}
	if epoch == last {
		return a.unsaid
	}
	return nil
}

// lacksOf is lacks for a part of a plan, whose epoch's log ends at a position. The part may begin with a base that is
// behind that, which says by itself that the log went farther.
func (a *Archive) lacksOf(p Plan, part archive.Part, end archive.Position) error {
	e := part.Epoch
	err := a.lacks(e.Number)
	behind := end.Before(part.From)
	var missing *archive.MissingError
	if !errors.As(err, &missing) && behind && !e.Lost {
		missing = &archive.MissingError{File: fmt.Sprintf("log/%06d", e.Number), EndsEpoch: e.Number, Ends: end, WentEpoch: e.Number, Went: part.From}
		err = missing
	}
	// From the base on what was committed is missing, or from where the epoch began. Of a later base this plan has nothing.
	if missing != nil && (behind || end == archive.Position{}) {
		if missing.From = e.Began; p.Base.Epoch == e.Number {
			missing.From = p.Base.Time
		}
	}
	return err
}

// CheckExtent is an error if the log does not go as far as it is known to have gone.
func (a *Archive) CheckExtent() error {
	last := a.Manifest.Last()
	if last == nil {
		return nil
	}
	return a.lacks(last.Number)
}

// above is the first number for an epoch that no epoch had which an extent knows of.
func (a *Archive) above() uint32 {
	n := uint32(0)
	for _, x := range a.extents {
		if x.Archive == a.Manifest.ID {
			n = max(n, x.Epoch+1)
		}
	}
	return n
}

// renewEvery is how often it is said how far the log goes, while that changes: of what came since nobody notices that
// it is missing.
const renewEvery = time.Second

// extents says how far the log of a Keeper goes, in the archive and beside.
type extents struct {
	mu    sync.Mutex // guards the next three
	files []*archive.ExtentFile
	said  archive.Extent
	err   error // of the last attempt

	// end ends what followExtent has begun, and done is closed then; nil before.
	end  context.CancelFunc
	done chan struct{}
}

// openExtents begins to say how far the log goes.
func (k *Keeper) openExtents() (err error) {
	x, _ := k.log.Extent()
	k.extents = &extents{}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.extents.close())
		}
	}()
	f, err := archive.OpenExtent(k.Archive.Disk, archive.ExtentName, x)
	if err != nil {
		return err
	}
	k.extents.files = append(k.extents.files, f)
	if path := k.Archive.Beside; path != "" {
		f, err := archive.OpenExtent(archive.OSDisk{Dir: filepath.Dir(path)}, filepath.Base(path), x)
		if err != nil { // an older copy in the archive's place would not be noticed; that is no reason not to run
			k.Log.Warn("it cannot be said beside the archive how far that goes", "error", err)
		} else {
			k.extents.files = append(k.extents.files, f)
		}
	}
	k.noteExtent()
	if k.Archive.Manifest.Extent {
		return nil
	}
	return k.Archive.save(func(m *archive.Manifest) { m.Extent = true })
}

// noteExtent is sayExtent where that may fail: the log is archived all the same.
func (k *Keeper) noteExtent() {
	if err := k.sayExtent(); err != nil {
		k.Log.Warn(cannotSay, "error", err)
	}
}

// cannotSay is what a log says where it could not be said how far the archive goes.
const cannotSay = "it cannot be said how far the archive goes: if the end of its log is missing some day, nobody notices"

// sayExtent says how far the log goes now, unless that has been said.
func (k *Keeper) sayExtent() error {
	k.mu.Lock()
	x, known := k.log.Extent()
	k.mu.Unlock()
	x.Work = k.work()
	if !known || k.extents == nil {
		return nil
	}
	return k.extents.say(x)
}

func (e *extents) say(x archive.Extent) (err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if was := e.said; e.err == nil && was.Epoch == x.Epoch && was.Place == x.Place && was.Work == x.Work {
		return nil
	}
	for _, f := range e.files {
		err = errors.Join(err, f.Renew(x))
	}
	e.said, e.err = x, err
	return err
}

func (e *extents) close() (err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.files {
		err = errors.Join(err, f.Close())
	}
	e.files = nil
	return err
}

// followExtent begins to say how far the log goes until endExtent, unless that has begun. No commit waits for it.
func (k *Keeper) followExtent() {
	e := k.extents
	if e == nil || e.done != nil {
		return
	}
	ctx, end := context.WithCancel(context.Background())
	e.end, e.done = end, make(chan struct{})
	go func() {
		defer close(e.done)
		tick := time.NewTicker(renewEvery)
		defer tick.Stop()
		for failed := false; ; {
			select {
			case <-ctx.Done():
				k.noteExtent()
				return
			case <-tick.C:
			}
			err := k.sayExtent()
			if err != nil && !failed {
				k.Log.Warn(cannotSay, "error", err)
			}
			failed = err != nil
		}
	}()
}

// endExtent says how far the log goes at the end, and waits for that until ctx ends: a disk may hang. It may be called
// twice. Its error is ErrHangs.
func (k *Keeper) endExtent(ctx context.Context) error {
	e := k.extents
	if e == nil {
		return nil
	}
	if e.done != nil {
		e.end()
		select {
		case <-e.done:
		case <-ctx.Done():
			k.hung = true
			return ErrHangs
		}
	}
	if err := e.close(); err != nil {
		k.Log.Warn(cannotSay, "error", err)
	}
	return nil
}
