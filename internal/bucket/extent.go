package bucket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// extentName is the object that says how far the log in the bucket goes.
const extentName = "extent.json"

// extentEvery is how often that is written while the log grows: each time costs as much as a part of the log. When the
// log rests it is written at once.
const extentEvery = 10 * time.Second

// extent is archive.Extent of what is in the bucket.
type extent struct {
	Format  int       `json:"format"`
	Archive string    `json:"archive"`
	Epoch   uint32    `json:"epoch"`
	Segment uint64    `json:"segment"`
	Offset  int64     `json:"offset"` // in the segment
	File    uint32    `json:"file"`
	At      int64     `json:"at"` // in the file
	Time    time.Time `json:"time"`
}

// place is where the log ended.
func (x *extent) place() archive.Place { return archive.Place{Segment: x.Segment, Offset: x.Offset} }

// farther reports whether an extent goes farther than another, which may be nil.
func (x *extent) farther(y *extent) bool {
	return y == nil || x.Epoch > y.Epoch || x.Epoch == y.Epoch && y.place().Before(x.place())
}

// local is how far the log goes, for the archive that is downloaded.
func (x *extent) local(id archive.ID) archive.Extent {
	if x == nil {
		return archive.Extent{Archive: id}
	}
	return archive.Extent{Archive: id, Epoch: x.Epoch, Place: x.place(), At: archive.Position{File: x.File, Offset: x.At}, Time: x.Time}
}

// reach notes that the log in the bucket goes up to its last part, which was made at a time and ends at a position.
func (u *logUp) reach(end archive.Position, made time.Time) {
	x := &extent{
		Format: jsonFormat, Archive: hexID(u.Archive), Epoch: u.id.Epoch, Segment: u.after.Segment, Offset: u.after.Offset,
		File: end.File, At: end.Offset, Time: made,
	}
	u.set(func(s *state) { s.reached = x })
}

// sayExtent writes how far the log in the bucket goes, if that is due: at once if it rests, or if somebody waits for
// that. It waits for the manifest of a new epoch, which says so itself: to a reader of the one before, an extent of a
// later epoch says that the manifest is old.
func (l *logs) sayExtent(ctx context.Context) error {
	var x *extent
	var due bool
	l.set(func(s *state) {
		x = s.reached
		rests := x == l.seen
		due = x != nil && x != l.said && x.Epoch <= s.named && (rests || s.asked > s.served || time.Since(l.saidAt) >= extentEvery)
		l.seen = x
	})
	if !due {
		return nil
	}
	b, err := seal(extentName, x)
	if err != nil {
		return fmt.Errorf("say how far the log goes: %w", err)
	}
	if err := l.again(ctx, atLog, func(ctx context.Context) error { return l.Store.Put(ctx, extentName, b) }); err != nil {
		return err
	}
	l.said, l.saidAt = x, time.Now()
	l.set(func(s *state) { s.up.SentBytes += int64(len(b)) })
	return nil
}

// newestNamed is the last epoch that a manifest in the bucket names.
func (m *Mirror) newestNamed(up *manifest) uint32 {
	if up.Format == 0 {
		return 0
	}
	n, err := m.Needs(up.Manifest)
	switch {
	case err != nil: // whoever uploads the next one says so
		return 0
	case len(n.Epochs) == 0: // of all
		return math.MaxUint32
	}
	return slices.Max(n.Epochs)
}

// loadExtent reads how far the log goes; nil if nothing says so. It is read before the manifest and the list of parts.
func loadExtent(ctx context.Context, s Store) (*extent, error) {
	b, err := Get(ctx, s, extentName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	x := &extent{}
	return x, unseal(extentName, b, x)
}
