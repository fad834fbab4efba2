package bucket

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// log makes the segments again.
func (d *Download) log(ctx context.Context, id [16]byte, m *manifest, pieces []piece) error {
	if err := d.clearLogs(id); err != nil {
		return err
	}
	list := make([]Object, len(pieces))
	for n, p := range pieces {
		list[n] = Object{p.name(), p.size}
	}
	l := &logDown{Download: d, manifest: m}
	err := fetch(ctx, d.Store, list, func(n int, b []byte) error {
		p, err := decodePart(pieces[n].span, id, b)
		if err != nil {
			return err
		}
		d.progress(int64(len(b)))
		return l.take(archive.LogID{Archive: id, Epoch: p.epoch}, p)
	})
	var damaged *DamagedError
	if err == nil || d.AcceptLoss && errors.As(err, &damaged) {
		return l.finish()
	}
	if l.segment != nil {
		err = errors.Join(err, l.segment.Abort())
	}
	return err
}

// trim leaves out the segments that hold nothing of what is needed: those before one that begins
// where that does, or before it.
func (d *Download) trim(ctx context.Context, id [16]byte, m *manifest, pieces []piece, from map[uint32]archive.Position) ([]piece, error) {
	var out []piece
	for len(pieces) > 0 {
		epoch := pieces[0].epoch
		n := slices.IndexFunc(pieces, func(p piece) bool { return p.epoch != epoch })
		if n < 0 {
			n = len(pieces)
		}
		keep := pieces[:n]
		if p, ok := from[epoch]; ok {
			start, err := d.start(ctx, archive.LogID{Archive: id, Epoch: epoch}, keep, p)
			if err != nil {
				return nil, err
			}
			keep = keep[start:]
			m.Logs = slices.DeleteFunc(m.Logs, func(l logStart) bool { return l.Epoch == epoch })
			m.Logs = append(m.Logs, logStart{epoch, keep[0].segment})
		}
		out = append(out, keep...)
		pieces = pieces[n:]
	}
	return out, nil
}

// start is the first piece of the last segment that begins at a position or before it. What the
// log holds from the position on is in that segment and those after it: whatever a cut took back, the
// log says again behind the cut. Positions may go back there, so that it need not be the last one.
func (d *Download) start(ctx context.Context, id archive.LogID, list []piece, from archive.Position) (int, error) {
	var firsts []int // of the segments
	for i, p := range list {
		if p.from == archive.BlockSize {
			firsts = append(firsts, i)
		}
	}
	start := 0
	for lo, hi := 1, len(firsts); lo < hi; {
		mid := (lo + hi) / 2
		at, err := d.begins(ctx, id, list[firsts[mid]].span)
		var damaged *DamagedError
		if errors.As(err, &damaged) { // what is wanted may all be behind it; if not, who reads it finds out
			firsts = slices.Delete(firsts, mid, mid+1)
			hi--
			continue
		}
		if err != nil {
			return 0, err
		}
		if from.Before(at) {
			hi = mid
		} else {
			lo, start = mid+1, firsts[mid]
		}
	}
	return start, nil
}

// begins is where in the server's log a part begins.
func (d *Download) begins(ctx context.Context, id archive.LogID, s span) (at archive.Position, err error) {
	b, err := Get(ctx, d.Store, s.name())
	if err != nil {
		return at, err
	}
	p, err := decodePart(s, id.Archive, b)
	if err != nil {
		return at, err
	}
	if at, err = id.Begins(p.blocks, s.segment); err != nil {
		err = &DamagedError{s.name(), err.Error()}
	}
	return at, err
}

// clearLogs removes what an earlier attempt has left: the bucket may have pruned it since.
func (d *Download) clearLogs(id [16]byte) error {
	ids, err := archive.Logs(d.To, id)
	if err != nil {
		return err
	}
	for _, id := range ids {
		dir := logPrefix + fmt.Sprintf("%06d", id.Epoch)
		names, err := d.To.Names(dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := d.To.Remove(dir + "/" + name); err != nil {
				return err
			}
		}
	}
	return nil
}

// logDown takes the parts of logs in their order.
type logDown struct {
	*Download
	manifest *manifest
	id       archive.LogID
	segment  *archive.Rebuild // nil before the first
	// end is the end of the log so far, and blocks are those of its segment.
	end    archive.Place
	blocks []byte
}

// take puts a part into its segment.
func (l *logDown) take(id archive.LogID, p *part) error {
	if l.segment == nil || id != l.id || p.segment != l.end.Segment {
		if err := l.turn(id, p); err != nil {
			return err
		}
	}
	before := p.from - archive.BlockSize
	if before > int64(len(l.blocks)) {
		return &DamagedError{p.name(), fmt.Sprintf("the parts before it end at %s", l.end)}
	}
	if before > 0 && archive.Sum(0, l.blocks[:before]) != p.before {
		return &DamagedError{p.name(), "the parts before it are of another log: two machines have written to this prefix"}
	}
	if err := l.segment.Put(p.blocks, p.from); errors.Is(err, archive.ErrFrames) {
		return &DamagedError{p.name(), err.Error()}
	} else if err != nil {
		return err
	}
	l.blocks = append(l.blocks[:before], p.blocks...)
	l.end = p.end()
	return nil
}

// turn goes to another segment, or another log. What stands before the part must be what it says.
func (l *logDown) turn(id archive.LogID, p *part) error {
	next := p.segment
	switch {
	case p.from != archive.BlockSize:
		return &DamagedError{p.name(), "the beginning of its segment is missing"}
	case l.segment != nil && id == l.id:
		if p.after != l.end || p.before != archive.Sum(0, l.blocks) {
			return &DamagedError{p.name(), fmt.Sprintf("it goes on at %s, and the parts before it end at %s", p.after, l.end)}
		}
		next = l.end.Segment + 1
	case p.after != archive.Place{} && !l.manifest.starts(p.span):
		return &DamagedError{p.name(), fmt.Sprintf("it goes on at %s, and there is nothing before it", p.after)}
	}
	if err := l.finish(); err != nil {
		return err
	}
	// Segments without a frame are there too: their numbers follow each other.
	for ; ; next++ {
		r, err := archive.NewRebuild(l.To, id, next)
		if err != nil {
			return err
		}
		l.segment = r
		if next == p.segment {
			break
		}
		if err := l.finish(); err != nil {
			return err
		}
	}
	l.id, l.end, l.blocks = id, archive.Place{Segment: p.segment, Offset: archive.BlockSize}, l.blocks[:0]
	return nil
}

// starts reports whether a segment is the first one of its log that is needed.
func (m *manifest) starts(s span) bool {
	return slices.Contains(m.Logs, logStart{s.epoch, s.segment})
}

// finish ends the segment.
func (l *logDown) finish() error {
	if l.segment == nil {
		return nil
	}
	err := l.segment.Finish()
	l.segment = nil
	return err
}
