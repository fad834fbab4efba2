package bucket

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
)

const (
	// compactFrom is from how many parts of a segment on they become one.
	compactFrom = 16
	// mostSent is how many bytes go up for a hundred of the log, at most, with what was sent before.
	mostSent = 110
	// smallWhole is what may always go up once more, in bytes: it is less than the headers of the
	// requests for so many parts.
	smallWhole = 1 << 20
)

// ended notes that a segment is in the bucket, all of it.
func (m *Mirror) ended(id archive.LogID, segment uint64) {
	m.set(func(s *state) { s.whole = append(s.whole, span{epoch: id.Epoch, segment: segment}) })
}

// compact puts one part in the place of the many of a segment that has filled slowly: what was
// uploaded twice a second for an hour would be fetched, listed and removed as thousands of objects.
func (f *files) compact(ctx context.Context) error {
	var list []span
	f.set(func(s *state) { list, s.whole = s.whole, nil })
	for _, s := range list {
		if err := f.compactOne(ctx, s); err != nil {
			return fmt.Errorf("put parts of the log together: %w", err)
		}
	}
	return nil
}

func (f *files) compactOne(ctx context.Context, s span) error {
	var parts []piece
	var sent int64
	for o, err := range f.Store.List(ctx, segmentPrefix(s.epoch, s.segment), "") {
		if err != nil {
			return err
		}
		if p, ok := parseSpan(o.Name); ok {
			parts = append(parts, piece{p, o.Size})
			sent += o.Size
		}
	}
	if len(parts) < compactFrom {
		return nil
	}
	chosen, err := chain(parts)
	if err != nil {
		return err
	}
	first := chosen[0].span
	s.from, s.to = archive.BlockSize, chosen[len(chosen)-1].to
	sl, err := f.local(s)
	if err != nil {
		return err
	}
	if sl.To != s.to {
		return nil
	}
	b, err := f.Store.Get(ctx, first.name())
	if err != nil {
		return err
	}
	head, err := decodePart(first, f.Archive, b)
	if err != nil {
		return err
	}
	p := part{span: s, after: head.after, before: head.before, made: time.Now(), blocks: sl.Blocks}
	if b = p.encode(f.Archive); len(b) > smallWhole && sent+int64(len(b)) > sl.Bytes*mostSent/100 {
		return nil
	}
	if err := f.again(ctx, atFiles, func(ctx context.Context) error { return f.Store.Put(ctx, s.name(), b) }); err != nil {
		return err
	}
	f.set(func(st *state) { st.up.SentBytes += int64(len(b)) })
	for _, p := range parts {
		if p.span == s {
			continue
		}
		if err := f.again(ctx, atFiles, func(ctx context.Context) error { return f.Store.Remove(ctx, p.name()) }); err != nil {
			return err
		}
	}
	return nil
}

// local reads blocks of a local segment; fewer if there are not as many, whole, or none if it was
// pruned.
func (m *Mirror) local(s span) (archive.Slice, error) {
	t := archive.NewTail(m.Local, archive.LogID{Archive: m.Archive, Epoch: s.epoch}, archive.Place{Segment: s.segment, Offset: s.from})
	sl, err := t.Next(s.end())
	err = errors.Join(err, t.Close())
	var damaged *archive.DamagedError
	if errors.As(err, &damaged) || errors.Is(err, archive.ErrPruned) {
		err = nil
	}
	return sl, err
}
