package bucket

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/sync/errgroup"
)

// removesAtOnce is how many objects are removed at the same time: not all services can remove many
// by one call.
const removesAtOnce = 8

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
