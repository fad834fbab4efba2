package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// files uploads what the manifest names, and then the manifest.
type files struct {
	*Mirror
	// level says that the bucket had the manifest that was there when sync began, or has a later one.
	level bool
	// up is the manifest in the bucket, and stale that there may be objects that it does not need.
	up    *manifest
	stale bool
	// raw is up as the object is, and looked when it was last seen to be that.
	raw    []byte
	looked time.Time
}

// followFiles brings each manifest to the bucket, until ctx ends.
func (m *Mirror) followFiles(ctx context.Context) error {
	f := &files{Mirror: m}
	for {
		var asked int
		m.set(func(s *state) { asked = s.asked })
		f.level = false
		if err := f.sync(ctx); err != nil {
			return err
		}
		m.set(func(s *state) {
			s.errs[atFiles] = nil
			if f.level {
				s.level = max(s.level, asked)
			}
		})
		if err := m.rest(ctx); err != nil {
			return err
		}
	}
}

// rest waits until it is time to look at the manifest again.
func (m *Mirror) rest(ctx context.Context) error {
	t := time.NewTimer(lookAfter)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
	case <-m.look:
	}
	return nil
}

// sync makes the bucket's manifest equal to the local one, and removes what that does not need.
func (f *files) sync(ctx context.Context) error {
	if f.up == nil || time.Since(f.looked) >= aloneAfter {
		if _, err := f.load(ctx); err != nil {
			return fmt.Errorf("mirror the manifest: %w", err)
		}
	}
	if err := f.compact(ctx); err != nil {
		return err
	}
	next, err := f.next()
	if err != nil {
		return fmt.Errorf("mirror the manifest: %w", err)
	}
	if next == nil {
		return nil
	}
	if !bytes.Equal(next.Manifest, f.up.Manifest) || !slices.Equal(next.Logs, f.up.Logs) || !bytes.Equal(next.Extra, f.up.Extra) {
		if err := f.pend(next); err != nil {
			return fmt.Errorf("mirror the manifest: %w", err)
		}
		if done, err := f.publish(ctx, next); err != nil || !done {
			return err
		}
	}
	f.level = true
	if f.stale {
		if err := f.prune(ctx); err != nil {
			return fmt.Errorf("prune the bucket: %w", err)
		}
		f.stale = false
	}
	return nil
}

// load reads the manifest that is in the bucket, and reports whether it is another than was known. It may be: an upload may
// arrive late, and another machine that has a copy of the archive may write here before one of the two notices (ErrOther). What
// the manifest of that does not name it removes, so that what was uploaded once need not be there.
func (f *files) load(ctx context.Context) (changed bool, err error) {
	raw, err := f.Store.Get(ctx, manifestName)
	up := &manifest{}
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.up != nil && f.up.Format != 0:
		return false, fmt.Errorf("no %s: %w", manifestName, errEmptied)
	case errors.Is(err, fs.ErrNotExist):
		raw = nil
	case err != nil:
		return false, err
	case f.up != nil && bytes.Equal(raw, f.raw):
		f.looked = time.Now()
		return false, nil
	default:
		if err := unseal(manifestName, raw, up); err != nil {
			return false, err
		}
		if err := f.mine(up); err != nil {
			return false, err
		}
	}
	changed = f.up == nil || !bytes.Equal(raw, f.raw)
	f.published(up, raw)
	return changed, nil
}

// mine makes sure that a manifest in the bucket is none of a machine that has gone on with a copy of the archive: it would name
// a later epoch.
func (f *files) mine(up *manifest) error {
	raw, err := f.manifest()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	is, err := f.Needs(raw)
	if err != nil {
		return err
	}
	there, err := f.Needs(up.Manifest)
	if err != nil {
		return err
	}
	if len(is.Epochs) > 0 && len(there.Epochs) > 0 && slices.Max(there.Epochs) > slices.Max(is.Epochs) {
		return fmt.Errorf("%s there names epoch %d: %w", manifestName, slices.Max(there.Epochs), ErrOther)
	}
	return nil
}

// published notes what is in the bucket now.
func (f *files) published(up *manifest, raw []byte) {
	f.up, f.raw, f.stale, f.looked = up, raw, true, time.Now()
	named := f.newestNamed(up)
	f.set(func(s *state) {
		s.named = named
		s.starts = map[uint32]uint64{}
		for _, l := range up.Logs {
			s.starts[l.Epoch] = l.Segment
		}
		s.pending = time.Time{}
		if up.Format != 0 {
			s.up.Manifest = time.Now()
		}
	})
}

func loadManifest(ctx context.Context, s Store) (*manifest, error) {
	b, err := s.Get(ctx, manifestName)
	if err != nil {
		return nil, err
	}
	up := &manifest{}
	return up, unseal(manifestName, b, up)
}

// next is the manifest that the bucket should have, without sums of its files; nil if there is none.
func (f *files) next() (*manifest, error) {
	// The logs first: what was pruned from them, the manifest that is read after that does not need.
	starts := map[uint32]uint64{}
	ids, err := archive.Logs(f.Local, f.Archive)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		segments, err := id.Segments(f.Local)
		if err != nil {
			return nil, err
		}
		if len(segments) > 0 {
			starts[id.Epoch] = segments[0]
		}
	}
	raw, err := f.manifest()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	needs, err := f.Needs(raw)
	if err != nil {
		return nil, err
	}
	extra, err := f.extra()
	if err != nil {
		return nil, err
	}
	m := &manifest{Format: jsonFormat, Archive: hexID(f.Archive), Manifest: raw, Extra: extra, Files: []file{}, Logs: []logStart{}}
	for _, epoch := range slices.Sorted(maps.Keys(starts)) {
		if len(needs.Epochs) == 0 || epoch >= slices.Min(needs.Epochs) {
			m.Logs = append(m.Logs, logStart{epoch, starts[epoch]})
		}
	}
	for _, name := range needs.Files {
		if err := checkFile(name); err != nil {
			return nil, err
		}
		m.Files = append(m.Files, file{Name: name})
	}
	return m, nil
}

// pend notes since when the bucket lacks the manifest of the epoch that goes on.
func (f *files) pend(next *manifest) error {
	if f.up.Format != 0 {
		was, err := f.Needs(f.up.Manifest)
		if err != nil {
			return err
		}
		now, err := f.Needs(next.Manifest)
		if err != nil {
			return err
		}
		if len(now.Epochs) == 0 || len(was.Epochs) > 0 && slices.Max(was.Epochs) == slices.Max(now.Epochs) {
			return nil
		}
	}
	f.set(func(s *state) {
		if s.pending.IsZero() {
			s.pending = time.Now()
		}
	})
	return nil
}

// publish uploads what a manifest names, and the manifest when all of that is there. It says false
// if the local one is another by then.
func (f *files) publish(ctx context.Context, next *manifest) (bool, error) {
	for i := range next.Files {
		if err := f.upload(ctx, &next.Files[i]); err != nil {
			if is, _ := f.still(next); !is {
				return false, nil // removed with the manifest that named it
			}
			return false, fmt.Errorf("mirror %s: %w", next.Files[i].Name, err)
		}
	}
	// The base backup that a manifest names goes on in the log.
	if err := f.caughtUp(ctx); err != nil {
		return false, err
	}
	if is, err := f.still(next); err != nil || !is {
		return false, err
	}
	if changed, err := f.load(ctx); err != nil || changed { // the files may not be there any more
		return false, err
	}
	f.set(func(s *state) {
		if x := s.reached; x != nil && x.Epoch <= f.newestNamed(next) {
			next.Extent = x
		}
	})
	b, err := seal(manifestName, next)
	if err != nil {
		return false, fmt.Errorf("mirror the manifest: %w", err)
	}
	if err := f.again(ctx, atFiles, func(ctx context.Context) error { return f.Store.Put(ctx, manifestName, b) }); err != nil {
		return false, err
	}
	f.set(func(s *state) { s.up.FileBytes += int64(len(b)) })
	f.published(next, b)
	return true, nil
}

// still reports whether a manifest is still the local one.
func (f *files) still(next *manifest) (bool, error) {
	raw, err := f.manifest()
	return err == nil && bytes.Equal(raw, next.Manifest), err
}
