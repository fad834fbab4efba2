package durable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// Crossed is a statement that a recovery replays although it need not give the same again: no base has it.
type Crossed struct {
	Epoch uint32
	// At is where its event begins, and Time when it was logged.
	At   archive.Position
	Time time.Time
	// Kind and Why are as in Fence.
	Kind, Why string
}

// cross finds the fences between two offsets of a file.
func (l *logFiles) cross(path string, epoch, file uint32, from, to int64) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	s := &binlog.Stream{File: path, Whole: func(t binlog.EventType) bool { return t == binlog.QueryEvent }}
	each := func(e *binlog.Event) error {
		if e.Offset < from || e.Offset >= to {
			return nil
		}
		v, err := judged(l.judge, e)
		if err == nil && v.Fence != "" {
			l.fences = append(l.fences, Crossed{Epoch: epoch, At: archive.Position{File: file, Offset: e.Offset}, Time: time.Unix(int64(e.Timestamp), 0), Kind: v.Kind, Why: v.Fence})
		}
		return err
	}
	b := make([]byte, readSize)
	for at := int64(0); at < to; {
		n, err := f.ReadAt(b[:min(readSize, to-at)], at)
		if n == 0 {
			return err
		}
		if err := s.Write(b[:n], each); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
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
		if f.Epoch != broken.Epoch || f.At.Before(broken.At) {
			continue
		}
		last := a.Manifest.Last()
		if last == nil || last.Number != f.Epoch || !last.Fenced {
			return until, ""
		}
		return Until{Epoch: f.Epoch, At: f.At, loose: true},
			fmt.Sprintf("no base backup has a statement that cannot be repeated (%s): it is left out, and what follows it; that was not acknowledged, unless a copy of the archive lacks the newest base backup: %v", f.Why, err)
	}
	return until, ""
}

// CrossedText says which statements a recovery has replayed although they need not give the same again, "" for none.
func (r Recovered) CrossedText() string {
	if len(r.Fences) == 0 {
		return ""
	}
	f := r.Fences[0]
	return fmt.Sprintf("%d statements were replayed that need not give what they gave, and no base backup has them; the first, of %s: %s",
		len(r.Fences), f.Time.Local().Format(time.DateTime), f.Why)
}

// GoOnWith has an instance whose data was recovered go on with the archive. Where statements were replayed that need
// not give the same again, or something was left out, it begins with a base: another recovery is to give what this one
// has given. keys is the directory of keys that all servers of the user share.
func (a *Archive) GoOnWith(ctx context.Context, i *instance.Instance, r Recovered, keys string) error {
	if r.More || len(r.Fences) > 0 || r.Epoch != a.Manifest.Last().Number {
		return a.Begin(ctx, i, keys, r.GTIDState)
	}
	return a.GoOn(i, r)
}
