package archive

import (
	"fmt"
	"time"
)

// MissingError says that the log of an archive does not go as far as it went: a part of its end is missing, or all of
// it is an older copy.
type MissingError struct {
	// From is when the last that is there was written, and To is up to when it went at least. Each is zero if that is not
	// known.
	From, To time.Time
	// File is the segment in which the log ends, or its directory.
	File string
	// Ends is where the log of an epoch ends, and Went up to where that of an epoch went.
	EndsEpoch, WentEpoch uint32
	Ends, Went           Position
}

// Error says what is missing: from when to when, and where.
func (e *MissingError) Error() string {
	const layout = "2006-01-02 15:04:05"
	when := ""
	if !e.From.IsZero() {
		when = " from " + e.From.Local().Format(layout)
	}
	if e.To.IsZero() {
		when += " on"
	} else {
		when += " to " + e.To.Local().Format(layout)
	}
	return fmt.Sprintf("what was committed%s is missing: the log ends at %d:%s, in %s, and went on to %d:%s",
		when, e.EndsEpoch, e.Ends, e.File, e.WentEpoch, e.Went)
}

// Missing is what the log of the last epoch of a manifest, or of an earlier one that an extent speaks of, lacks of
// what that says was there; nil for nothing. An extent of another archive says nothing, nor does one of an epoch that
// was pruned, or whose loss was accepted.
func (x Extent) Missing(d Disk, m *Manifest) (*MissingError, error) {
	last := m.Last()
	if x.Archive != m.ID || last == nil {
		return nil, nil
	}
	e := m.epoch(x.Epoch)
	switch {
	case x.Epoch > last.Number:
		e = last // all of a later one is missing
	case e == nil || e.Lost || x.Place == (Place{}):
		return nil, nil
	}
	id := m.LogID(e.Number)
	list, err := id.Segments(d)
	if err != nil {
		return nil, err
	}
	r, err := readEnd(d, id, list)
	if err != nil {
		return nil, err
	}
	if x.Epoch == e.Number && !r.place.Before(x.Place) {
		return nil, nil
	}
	out := &MissingError{From: r.last.time(), To: x.Time, File: id.dir(), EndsEpoch: e.Number, Ends: r.end, WentEpoch: x.Epoch, Went: x.At}
	if r.some {
		out.File = id.segment(r.place.Segment)
	}
	if out.From.IsZero() {
		out.From = m.atLeast(e)
	}
	return out, nil
}

// atLeast is a time that the data of an epoch surely reaches: that of its last base, or when it began.
func (m *Manifest) atLeast(e *Epoch) time.Time {
	at := e.Began
	for _, b := range m.Bases {
		if b.Epoch == e.Number && b.Time.After(at) {
			at = b.Time
		}
	}
	return at
}
