package bucket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// ErrOther says that the bucket has a log that is not a beginning of the local one: that was put
// back to an earlier state, or continued on two machines. Nothing is written until a human has
// decided which one counts.
var ErrOther = errors.New("the log in the bucket is not the beginning of the one on this disk\nhint: restore from the bucket to see what it has; to keep both, give this archive another prefix in --archive")

// logs uploads the logs of all epochs.
type logs struct {
	*Mirror
	list map[uint32]*logUp
	// looked is when it was made sure that nothing else writes to the bucket.
	looked time.Time
	// said is how far the log goes by the bucket's own word, given at saidAt, and seen is how far it went a pass ago.
	said, seen *extent
	saidAt     time.Time
}

// logUp uploads the log of an epoch.
type logUp struct {
	*Mirror
	id   archive.LogID
	tail *archive.Tail
	// after is the end of the log in the bucket; zero if there is none that goes on. sum is the
	// checksum of the blocks of its segment up to there.
	after archive.Place
	sum   uint32
	// last is the name of the last part; "" if there is none.
	last string
	done bool
}

// followLog uploads what lasts, until ctx ends.
func (m *Mirror) followLog(ctx context.Context) error {
	l := &logs{Mirror: m, list: map[uint32]*logUp{}}
	defer l.close()
	m.set(func(s *state) { s.gap = nil })
	for {
		if err := l.pass(ctx); err != nil {
			return err
		}
		if err := m.linger(ctx); err != nil {
			return err
		}
	}
}

// linger waits for something to upload, and for what may go with it.
func (m *Mirror) linger(ctx context.Context) error {
	look := time.NewTimer(lookAfter)
	defer look.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-look.C:
		return nil
	case <-m.wake:
	}
	at := m.dirty.Load()
	if at == 0 {
		return nil
	}
	more := time.NewTimer(time.Until(time.Unix(0, at).Add(m.Linger)))
	defer more.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-more.C:
	case <-m.settling: // also in the middle of it
	}
	return nil
}

// pass uploads all that lasted when it began.
func (l *logs) pass(ctx context.Context) error {
	select {
	case <-l.wake:
	default:
	}
	var asked int
	dirty := l.dirty.Swap(0)
	l.set(func(s *state) {
		asked = s.asked
		if s.flying.IsZero() && dirty != 0 {
			s.flying = time.Unix(0, dirty)
		}
	})
	ids, err := archive.Logs(l.Local, l.Archive)
	if err != nil {
		return err
	}
	if err := l.alone(ctx, ids); err != nil {
		return err
	}
	for i, id := range ids {
		u := l.list[id.Epoch]
		if u == nil {
			u = &logUp{Mirror: l.Mirror, id: id}
			l.list[id.Epoch] = u
		}
		limit := l.limit(id.Epoch)
		if u.done || limit == (archive.Place{}) {
			continue
		}
		if err := u.upload(ctx, limit); err != nil {
			return err
		}
		u.done = limit == archive.All && i+1 < len(ids)
	}
	if err := l.sayExtent(ctx); err != nil {
		return err
	}
	l.set(func(s *state) {
		s.served = asked
		s.flying = time.Time{}
		s.errs[atLog] = nil
	})
	return nil
}

// aloneAfter is how often the bucket is looked at for parts that another mirror has written.
const aloneAfter = time.Minute

// alone makes sure that the place is this archive's still, and looks for parts in the bucket that are behind all that
// this mirror knows of.
func (l *logs) alone(ctx context.Context, ids []archive.LogID) error {
	late := time.Since(l.looked) >= aloneAfter
	if len(ids) == 0 {
		return nil
	}
	if l.failed.Load() || late && !l.looked.IsZero() { // else it was claimed just now
		there, err := ownerOf(ctx, l.Store)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("mirror the log: no %s: %w", ownerName, errEmptied)
		case err != nil && late:
			return fmt.Errorf("mirror the log: %w", err)
		case err != nil: // the next pass asks again
		case there != l.Archive:
			return fmt.Errorf("mirror the log: archive %s is there: %w", hexID(there), ErrForeign)
		default:
			l.failed.Store(false)
		}
	}
	if !late {
		return nil
	}
	l.looked = time.Now()
	last := ids[len(ids)-1].Epoch
	known := logDir(last) + "~" // resume looks at what is in there
	if u := l.list[last]; u != nil && u.last != "" {
		known = u.last
	}
	for o, err := range l.Store.List(ctx, logPrefix, known) {
		if err != nil {
			return fmt.Errorf("mirror the log: %w", err)
		}
		return fmt.Errorf("mirror the log: object %s is not of this disk: %w", o.Name, ErrOther)
	}
	return nil
}

// limit is how far the log of an epoch may be read.
func (m *Mirror) limit(epoch uint32) archive.Place {
	if m.Lasts == nil {
		return archive.All
	}
	return m.Lasts(epoch)
}

func (l *logs) close() {
	for _, u := range l.list {
		if u.tail != nil {
			_ = u.tail.Close() // it was only read
		}
	}
}

// upload uploads what lasts before a limit.
func (u *logUp) upload(ctx context.Context, limit archive.Place) error {
	if u.tail == nil {
		if err := u.resume(ctx); err != nil {
			return fmt.Errorf("mirror the log: %w", err)
		}
	}
	for {
		s, err := u.tail.Next(limit)
		if errors.Is(err, archive.ErrPruned) {
			// The bucket was away for longer than the local history is.
			err = u.restart(ctx)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return fmt.Errorf("mirror the log: %w", err)
		}
		if len(s.Blocks) == 0 {
			return nil
		}
		if err := u.put(ctx, s); err != nil {
			return err
		}
	}
}

// put uploads a slice, which is sealed: the object is the same at every attempt.
func (u *logUp) put(ctx context.Context, s archive.Slice) error {
	p := part{span: span{u.id.Epoch, s.Segment, s.From, s.To}, after: u.after, before: u.sum, made: time.Now(), blocks: s.Blocks}
	b := p.encode(u.Archive)
	if err := u.again(ctx, atLog, func(ctx context.Context) error { return u.Store.Put(ctx, p.name(), b) }); err != nil {
		return err
	}
	if u.after.Segment != s.Segment {
		if u.after.Segment > 0 {
			u.ended(u.id, u.after.Segment)
		}
		u.sum = 0
	}
	u.sum = archive.Sum(u.sum, s.Blocks)
	u.after, u.last = p.end(), p.name()
	u.set(func(st *state) {
		st.up.Epoch, st.up.Uploaded = u.id.Epoch, s.End
		st.up.LogBytes += s.Bytes
		st.up.SentBytes += int64(len(b))
	})
	u.reach(s.End, p.made)
	return nil
}

// caughtUp waits until all that lasts now is in the bucket, or a gap of the log waits for a manifest.
func (m *Mirror) caughtUp(ctx context.Context) error {
	var mine int
	m.set(func(s *state) {
		s.asked++
		mine = s.asked
	})
	m.Notify()
	return m.until(ctx, func(s *state) bool { return s.served >= mine || s.waits() })
}
