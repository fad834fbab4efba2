package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// resume finds where the log in the bucket ends, and makes sure that the local one goes on there.
func (u *logUp) resume(ctx context.Context) error {
	segments, err := u.id.Segments(u.Local)
	if err != nil {
		return err
	}
	last, err := u.lastPart(ctx, segments)
	if err != nil {
		return err
	}
	switch {
	case last == nil:
		u.begin(archive.Place{})
		return nil
	case len(segments) == 0 || last.segment > segments[len(segments)-1]:
		return fmt.Errorf("object %s is behind the end of it: %w", last.name(), ErrOther)
	case last.segment < segments[0]:
		return u.restart(ctx)
	}
	b, err := u.Store.Get(ctx, last.name())
	if err != nil {
		return err
	}
	p, err := decodePart(*last, u.Archive, b)
	if err != nil {
		return err
	}
	return u.compare(p)
}

// begin reads the local log from a place on; the log in the bucket begins with it.
func (u *logUp) begin(at archive.Place) {
	if u.tail != nil {
		_ = u.tail.Close() // it was only read
	}
	u.tail, u.after, u.sum = archive.NewTail(u.Local, u.id, at), archive.Place{}, 0
}

// lastPart is the last part in the bucket; nil if there is none. Parts without a gap follow each other,
// so segments need not be listed one after the other.
func (u *logUp) lastPart(ctx context.Context, segments []uint64) (*span, error) {
	from := ""
	for lo, hi := 0, len(segments); lo < hi; {
		mid := (lo + hi) / 2
		some, err := u.behind(ctx, segmentPrefix(u.id.Epoch, segments[mid]))
		if err != nil {
			return nil, err
		}
		if some == nil {
			hi = mid
		} else {
			lo, from = mid+1, segmentPrefix(u.id.Epoch, segments[mid])
		}
	}
	var last *span
	for o, err := range u.Store.List(ctx, logDir(u.id.Epoch), from) {
		if err != nil {
			return nil, err
		}
		if s, ok := parseSpan(o.Name); ok && (last == nil || last.end().Before(s.end())) {
			last = &s
		}
	}
	return last, nil
}

// behind is the first part of the epoch behind a name; nil if there is none.
func (u *logUp) behind(ctx context.Context, name string) (*span, error) {
	for o, err := range u.Store.List(ctx, logDir(u.id.Epoch), name) {
		if err != nil {
			return nil, err
		}
		if s, ok := parseSpan(o.Name); ok {
			return &s, nil
		}
	}
	return nil, nil
}

// compare holds the last part in the bucket, and by its checksum all of the segment before it,
// against the local log.
func (u *logUp) compare(p *part) error {
	var before uint32
	if p.from > archive.BlockSize {
		s, err := u.local(span{u.id.Epoch, p.segment, archive.BlockSize, p.from})
		if err != nil {
			return err
		}
		if before = archive.Sum(0, s.Blocks); before != p.before {
			return fmt.Errorf("what object %s follows is not in segment %d: %w", p.name(), p.segment, ErrOther)
		}
	}
	s, err := u.local(p.span)
	if err != nil {
		return err
	}
	if !bytes.Equal(s.Blocks, p.blocks) {
		return fmt.Errorf("what object %s holds is not in segment %d: %w", p.name(), p.segment, ErrOther)
	}
	end := s.End
	u.begin(p.end())
	u.after, u.last, u.sum = p.end(), p.name(), archive.Sum(before, s.Blocks)
	u.set(func(s *state) {
		s.up.Epoch, s.up.Uploaded = u.id.Epoch, end
		if s.flying.IsZero() { // if there is more, it has waited since then, at the longest
			s.flying = p.made
		}
	})
	u.reach(end, p.made)
	return nil
}

// restart begins the log in the bucket again with the oldest local segment. First the manifest must
// be one that does not need what was pruned: a reader looks at nothing before its starts.
func (u *logUp) restart(ctx context.Context) error {
	segments, err := u.id.Segments(u.Local)
	if err != nil {
		return err
	}
	if len(segments) == 0 {
		u.begin(archive.Place{})
		return nil
	}
	if _, err := u.manifest(); err == nil {
		u.set(func(s *state) { s.gap = &logStart{u.id.Epoch, segments[0]} })
		if err := u.until(ctx, func(s *state) bool { return !s.waits() }); err != nil {
			return err
		}
		u.set(func(s *state) { s.gap = nil })
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	u.begin(archive.Place{Segment: segments[0]})
	return nil
}
