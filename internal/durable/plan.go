package durable

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
)

// Plan is what a recovery does: a base to restore, and parts of the log to replay onto it.
type Plan struct {
	Base  archive.Base
	Parts []archive.Part
	// Until ends it early.
	Until Until
	// exact says that the log must have the position of Until.
	exact bool
}

// Until is where a recovery is to end: with the last transaction that was committed no later than a
// time, or no further than a position of an epoch's log. The zero value is the end of the log.
type Until struct {
	Time  time.Time
	Epoch uint32
	At    archive.Position
	// loose says that the log need not have a transaction that ends at At.
	loose bool
}

// Open reports whether it is the end of the log.
func (u Until) Open() bool { return u.Time.IsZero() && u.Epoch == 0 }

// passed reports whether a group of an epoch's log is behind the end.
func (u Until) passed(epoch, file uint32, g binlog.Group) bool {
	switch {
	case !u.Time.IsZero():
		return g.Time.After(u.Time)
	case u.Epoch != 0:
		return epoch > u.Epoch || epoch == u.Epoch && u.At.Before(archive.Position{File: file, Offset: g.End})
	}
	return false
}

// EarlyError says that an archive does not go back as far as was asked for.
type EarlyError struct {
	// Earliest is when its oldest base was made, and Epoch and At are its position.
	Earliest time.Time
	Epoch    uint32
	At       archive.Position
}

func (e *EarlyError) Error() string {
	return fmt.Sprintf("it begins at %s, position %s\nhint: --at '%s', or any later time",
		e.Earliest.Local().Format(time.DateTime), FormatPosition(e.Epoch, e.At), e.Earliest.Local().Format(time.DateTime))
}

// ahead are the statements that the base has and the log behind it. Some older bases that an epoch begins with name statements
// of the log before, which is no part of it.
func (p Plan) ahead() []string {
	if p.Base.At == (archive.Position{}) {
		return nil
	}
	return p.Base.Ahead
}

// NoPositionError says that the log has no position as was asked for.
type NoPositionError struct{ Reason string }

func (e *NoPositionError) Error() string { return e.Reason }

// Latest plans to recover all that was acknowledged.
func Latest(m *archive.Manifest) (Plan, error) {
	b, parts, err := m.Newest()
	return Plan{Base: b, Parts: parts}, err
}

// Plans are the ways to where a recovery is to end, the shortest first; each later one begins with an older
// base. The error is an *EarlyError where none leads there, or a *NoPositionError.
func Plans(m *archive.Manifest, until Until) ([]Plan, error) {
	if len(m.Bases) == 0 {
		_, err := Latest(m)
		return nil, err
	}
	if until.Epoch != 0 && !slices.ContainsFunc(m.Epochs, func(e archive.Epoch) bool { return e.Number == until.Epoch }) {
		return nil, &NoPositionError{fmt.Sprintf("it has no epoch %d, but %s", until.Epoch, epochs(m))}
	}
	var list []Plan
	for _, b := range slices.Backward(m.Bases) {
		p := Plan{Base: b, Parts: m.From(b), Until: until, exact: !until.loose}
		if len(list) > 0 && !goesOnTo(p, list[0].Base) || !p.leads(m) {
			continue
		}
		list = append(list, p)
	}
	if len(list) > 0 {
		return list, nil
	}
	if until.Open() {
		_, err := Latest(m)
		return nil, err
	}
	oldest := m.Bases[0]
	for _, b := range m.Bases {
		if until.Epoch == 0 && b.Time.Before(oldest.Time) {
			oldest = b
		}
	}
	return nil, &EarlyError{Earliest: oldest.Time, Epoch: oldest.Epoch, At: oldest.At}
}

// goesOnTo reports whether the log that follows a plan's base leads to another base.
func goesOnTo(p Plan, b archive.Base) bool {
	return slices.ContainsFunc(p.Parts, func(part archive.Part) bool { return part.Epoch.Number == b.Epoch })
}

// leads reports whether the log that follows a plan's base leads to its end; it leaves out what of the log is
// behind that.
func (p *Plan) leads(m *archive.Manifest) bool {
	switch {
	case !p.Until.Time.IsZero():
		// A base that was made before has no transaction that came later.
		return len(p.Parts) > 0 && !p.Base.Time.After(p.Until.Time)
	case p.Until.Epoch != 0:
		if p.Base.Epoch == p.Until.Epoch && p.Until.At.Before(p.Base.At) {
			return false
		}
		i := slices.IndexFunc(p.Parts, func(part archive.Part) bool { return part.Epoch.Number == p.Until.Epoch })
		p.Parts = p.Parts[:i+1]
		return i >= 0
	}
	n := len(p.Parts)
	return n > 0 && p.Parts[n-1].Epoch.Number == m.Last().Number
}

func epochs(m *archive.Manifest) string {
	list := make([]string, len(m.Epochs))
	for i, e := range m.Epochs {
		list[i] = strconv.Itoa(int(e.Number))
	}
	return strings.Join(list, ", ")
}

// Room is how many bytes a plan takes: the files of its base, and the log, at most.
func (a *Archive) Room(p Plan) (int64, error) {
	need := p.Base.Size
	for _, part := range p.Parts {
		if t := p.Until.Time; !t.IsZero() && part.Epoch.Number != p.Base.Epoch && part.Epoch.Began.After(t) {
			break
		}
		total := part.Epoch.Total
		if part.Epoch.End == nil {
			var err error
			_, total, err = archive.EndOf(a.Disk, a.Manifest.LogID(part.Epoch.Number))
			var damaged *archive.DamagedError
			if err != nil && !errors.As(err, &damaged) { // reading it tells where, and what is before
				return 0, err
			}
		}
		// What is wanted is before any base that was made later.
		for _, b := range a.Manifest.Bases {
			if b.Epoch == part.Epoch.Number && p.Until.before(b) {
				total = min(total, b.Total)
			}
		}
		if part.Epoch.Number == p.Base.Epoch {
			total -= p.Base.Total
		}
		need += max(0, total)
	}
	return need, nil
}

// before reports whether the end is before a base.
func (u Until) before(b archive.Base) bool {
	if !u.Time.IsZero() {
		return b.Time.After(u.Time)
	}
	return u.Epoch == b.Epoch && u.At.Before(b.At)
}

// FormatPosition is how a position in the log of an epoch is written: 2:1:4096.
func FormatPosition(epoch uint32, at archive.Position) string { return fmt.Sprintf("%d:%s", epoch, at) }

// ParsePosition is the reverse of FormatPosition.
func ParsePosition(text string) (epoch uint32, at archive.Position, err error) {
	parts := strings.Split(text, ":")
	var n [3]uint64
	for i := range n {
		if len(parts) != len(n) {
			return 0, at, fmt.Errorf("%q is no position, which is EPOCH:FILE:OFFSET", text)
		}
		if n[i], err = strconv.ParseUint(parts[i], 10, []int{32, 32, 63}[i]); err != nil {
			return 0, at, fmt.Errorf("%q is no position: %q is no number", text, parts[i])
		}
	}
	if n[0] == 0 {
		return 0, at, fmt.Errorf("%q is no position: epochs count from 1", text)
	}
	return uint32(n[0]), archive.Position{File: uint32(n[1]), Offset: int64(n[2])}, nil
}
