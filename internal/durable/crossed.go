package durable

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/repeatable"
)

// Crossed is a statement that a recovery replays although it need not give the same again: no base has it.
type Crossed struct {
	Epoch uint32
	// At is where its event begins, and Time when it was logged.
	At   archive.Position
	Time time.Time
	// Kind and Why are as in Fence.
	Kind, Why string
	// Late says that it did not wait for a base (late): what follows it was answered.
	Late bool
}

// cross finds the fences between two offsets of a file.
func (l *logFiles) cross(path string, epoch, file uint32, from, to int64) error {
	return eachEvent(path, from, to, func(e *binlog.Event) error {
		l.meter.take(e)
		v, err := l.judge.Of(e)
		if err == nil && v.Fence != "" {
			l.fences = append(l.fences, Crossed{Epoch: epoch, At: archive.Position{File: file, Offset: e.Offset}, Time: time.Unix(int64(e.Timestamp), 0), Kind: v.Kind, Why: v.Fence, Late: late(l.server, e)})
		}
		return err
	})
}

// eachEvent calls each for the events of a file, which no server writes to, that begin between two offsets. Statements
// have their bodies.
func eachEvent(path string, from, to int64, each func(*binlog.Event) error) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s := newStream(path)
	b := make([]byte, readSize)
	for at := int64(0); at < to; {
		n, err := f.ReadAt(b[:min(readSize, to-at)], at)
		if n == 0 {
			return err
		}
		if err := s.Write(b[:n], func(e *binlog.Event) error {
			if e.Offset < from || e.Offset >= to {
				return nil
			}
			return each(e)
		}); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}

// newStream gives out the events of a file, statements with their bodies, and what a meter wants.
func newStream(file string) *binlog.Stream {
	return &binlog.Stream{File: file, Whole: func(t binlog.EventType, length int64) bool { return t == binlog.QueryEvent || metered(t, length) }}
}

// unanswered says where a recovery of all that there is can end instead, whose log the server refuses to apply: before a
// statement that the log may not repeat, which waited for a base backup, as all behind it did. why says so; it is "" for
// any other error.
func (a *Archive) unanswered(until Until, out Recovered, err error) (cut Until, why string) {
	var broken *BrokenError
	if !until.Open() || !errors.As(err, &broken) {
		return until, ""
	}
	for _, f := range out.Fences {
		if f.Epoch != broken.Epoch || f.Late || f.At.Before(broken.At) {
			continue
		}
		last := a.Manifest.Last()
		if last == nil || last.Number != f.Epoch || !last.Fenced {
			return until, ""
		}
		// One that has it may be damaged, so that the recovery began with an older one: what waited for it was answered.
		if slices.ContainsFunc(a.Manifest.Bases, func(b archive.Base) bool { return b.Epoch == f.Epoch && f.At.Before(b.At) }) {
			return until, ""
		}
		return Until{Epoch: f.Epoch, At: f.At, loose: true},
			fmt.Sprintf("no base backup has a statement that cannot be repeated (%s): it is left out, and what follows it; that was not acknowledged, unless a copy of the archive lacks the newest base backup: %v", f.Why, err)
	}
	return until, ""
}

// CrossedText says which statements a recovery has replayed although they need not give the same again, "" for none.
func (r Recovered) CrossedText() string {
	list := slices.DeleteFunc(slices.Clone(r.Fences), func(f Crossed) bool { return f.Kind == repeatable.Twice })
	if len(list) == 0 {
		return ""
	}
	f := list[0]
	return fmt.Sprintf("%d statements were replayed that need not give what they gave, and no base backup has them; the first, of %s: %s",
		len(list), f.Time.Local().Format(time.DateTime), f.Why)
}
