package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// files uploads what the manifest names, and then the manifest.
type files struct {
	*Mirror
	// up is the manifest in the bucket, and stale that there may be objects that it does not need.
	up    *manifest
	stale bool
}

// atOnce is how many chunks are uploaded, or objects removed, at the same time.
const (
	chunksAtOnce  = 2
	removesAtOnce = 8
)

// followFiles brings each manifest to the bucket, until ctx ends.
func (m *Mirror) followFiles(ctx context.Context) error {
	f := &files{Mirror: m}
	for {
		if err := f.sync(ctx); err != nil {
			return err
		}
		m.set(func(s *state) { s.errs[atFiles] = nil })
		if err := pause(ctx, lookAfter); err != nil {
			return err
		}
	}
}

// sync makes the bucket's manifest equal to the local one, and removes what that does not need.
func (f *files) sync(ctx context.Context) error {
	if f.up == nil {
		if err := f.load(ctx); err != nil {
			return fmt.Errorf("mirror the manifest: %w", err)
		}
	}
	next, err := f.next()
	if err != nil {
		return fmt.Errorf("mirror the manifest: %w", err)
	}
	if next == nil {
		return nil
	}
	if !bytes.Equal(next.Manifest, f.up.Manifest) || !slices.Equal(next.Logs, f.up.Logs) {
		if done, err := f.publish(ctx, next); err != nil || !done {
			return err
		}
	}
	if f.stale {
		if err := f.prune(ctx); err != nil {
			return fmt.Errorf("prune the bucket: %w", err)
		}
		f.stale = false
	}
	return nil
}

// load reads the manifest that is in the bucket.
func (f *files) load(ctx context.Context) error {
	up, err := loadManifest(ctx, f.Store)
	if errors.Is(err, fs.ErrNotExist) {
		up, err = &manifest{}, nil
	}
	if err != nil {
		return err
	}
	f.published(up)
	return nil
}

// published notes what is in the bucket now.
func (f *files) published(up *manifest) {
	f.up, f.stale = up, true
	f.set(func(s *state) {
		s.starts = map[uint32]uint64{}
		for _, l := range up.Logs {
			s.starts[l.Epoch] = l.Segment
		}
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
	m := &manifest{Format: jsonFormat, Archive: hexID(f.Archive), Manifest: raw, Files: []file{}, Logs: []logStart{}}
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
	b, err := seal(manifestName, next)
	if err != nil {
		return false, fmt.Errorf("mirror the manifest: %w", err)
	}
	if err := f.again(ctx, atFiles, func(ctx context.Context) error { return f.Store.Put(ctx, manifestName, b) }); err != nil {
		return false, err
	}
	f.set(func(s *state) { s.up.FileBytes += int64(len(b)) })
	f.published(next)
	return true, nil
}

// still reports whether a manifest is still the local one.
func (f *files) still(next *manifest) (bool, error) {
	raw, err := f.manifest()
	return err == nil && bytes.Equal(raw, next.Manifest), err
}

// upload uploads the chunks of a file that are not in the bucket yet, and writes down their sums.
func (f *files) upload(ctx context.Context, to *file) (err error) {
	for _, have := range f.up.Files {
		if have.Name == to.Name {
			*to = have // a file never changes
			return nil
		}
	}
	there := map[string]int64{}
	for o, err := range f.Store.List(ctx, to.Name+"/", "") {
		if err != nil {
			return err
		}
		there[o.Name] = o.Size
	}
	local, err := f.Local.Open(to.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, local.Close()) }()
	if to.Size, err = local.Size(); err != nil {
		return err
	}
	to.Chunk = chunkSize
	to.Sums = make([]string, (to.Size+to.Chunk-1)/to.Chunk)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(chunksAtOnce)
	for n := range to.Sums {
		g.Go(func() error {
			if err := f.after(ctx); err != nil {
				return err
			}
			b := make([]byte, min(to.Chunk, to.Size-int64(n)*to.Chunk))
			if _, err := local.ReadAt(b, int64(n)*to.Chunk); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			to.Sums[n] = hexSum(b)
			name := chunkName(to.Name, n, to.Sums[n])
			if size, ok := there[name]; ok && size == int64(len(b)) {
				return nil
			}
			if err := f.again(ctx, atFiles, func(ctx context.Context) error { return f.Store.Put(ctx, name, b) }); err != nil {
				return err
			}
			f.set(func(s *state) { s.up.FileBytes += int64(len(b)) })
			return nil
		})
	}
	return g.Wait()
}

// after lets the log go first: chunks wait, for a while, as long as it is behind.
func (f *files) after(ctx context.Context) error {
	for range 20 {
		if f.Status().Lag <= 2*f.Linger {
			break
		}
		if err := pause(ctx, f.Linger); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// prune removes what the manifest in the bucket does not need.
func (f *files) prune(ctx context.Context) error {
	if f.up.Format == 0 {
		return nil
	}
	keep := map[string]bool{}
	dirs := map[string]bool{}
	for _, file := range f.up.Files {
		dir, _, _ := strings.Cut(file.Name, "/")
		dirs[dir+"/"] = true
		for n, sum := range file.Sums {
			keep[chunkName(file.Name, n, sum)] = true
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(removesAtOnce)
	remove := func(name string) {
		g.Go(func() error { return f.Store.Remove(ctx, name) })
	}
	for dir := range dirs {
		for o, err := range f.Store.List(ctx, dir, "") {
			if err != nil {
				return errors.Join(err, g.Wait())
			}
			if !keep[o.Name] {
				remove(o.Name)
			}
		}
	}
	for o, err := range f.Store.List(ctx, logPrefix, "") {
		if err != nil {
			return errors.Join(err, g.Wait())
		}
		s, ok := parseSpan(o.Name)
		if !ok {
			continue
		}
		if f.up.needs(s) {
			if i := len(f.up.Logs); i == 0 || s.epoch >= f.up.Logs[i-1].Epoch {
				break // all that comes is later
			}
			continue
		}
		remove(o.Name)
	}
	return g.Wait()
}

// needs reports whether a part is needed. Logs that begin after the manifest are.
func (m *manifest) needs(s span) bool {
	for _, l := range m.Logs {
		if l.Epoch == s.epoch {
			return s.segment >= l.Segment
		}
	}
	return len(m.Logs) == 0 || s.epoch > m.Logs[len(m.Logs)-1].Epoch
}
