package software

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// artifact is what a fetch brings into a cache: a directory with a description of its
// own. It is a *Server or a *toolkit.
type artifact interface {
	// Name is what the directory is called in the cache.
	Name() string
	// root is the directory; rebase gives it another, and so all paths below it.
	root() string
	rebase(dir string)
	// describe writes the description into dir, where root lies still.
	describe(dir string) error
}

// fetchJob is one fetch: what is wanted, the cache that it belongs into, and the ways
// to get it.
type fetchJob[P artifact] struct {
	text    string           // what is wanted, for people
	kind    string           // server or tool, for people
	dir     string           // the cache
	cached  func() (P, bool) // looks into it
	methods []method[P]      // in the order of trial
	slow    string           // the hint when the time is over
	// failed makes the error when no method worked.
	failed func(fetchFailure) error
}

// method is one way to get it. What fetch returns lies below work, and runs there.
type method[P artifact] struct {
	name  string
	fetch func(ctx context.Context, work string, p *progress) (P, error)
}

// fetching reports whether fetching is allowed.
func (f *Finder) fetching() bool { return !f.NoFetch && f.getenv(EnvNoFetch) != "1" }

// fill takes the lock of the cache, looks again, and tries the methods in turn.
func (o fetchJob[P]) fill(ctx context.Context, f *Finder) (none P, err error) {
	if err := makeOpenDir(o.dir); err != nil {
		return none, fmt.Errorf("make cache: %w", roomOr(err, o.dir, 0))
	}
	waitCtx, cancel := context.WithTimeout(ctx, FetchLockTimeout)
	defer cancel()
	lock, err := sys.Lock(waitCtx, filepath.Join(o.dir, fetchLock), sys.Exclusive, func() {
		f.say("another ramaria is fetching a %s; waiting for it", o.kind)
	})
	if err != nil {
		return none, fmt.Errorf("fetch %s: %w", o.text, err)
	}
	defer lock.Unlock()
	if p, ok := o.cached(); ok {
		return p, nil
	}
	if err := removePartials(o.dir); err != nil {
		return none, fmt.Errorf("fetch %s: clear what another fetch left: %w", o.text, err)
	}
	fetchCtx, cancel := context.WithTimeout(ctx, FetchTimeout)
	defer cancel()
	return o.tryMethods(fetchCtx, f)
}

// tryMethods returns what the first method that works brings. The directory in
// which a method worked is gone when it returns.
func (o fetchJob[P]) tryMethods(ctx context.Context, f *Finder) (none P, err error) {
	var failed fetchFailure
	for _, m := range o.methods {
		got, err := inPartial(o.dir, func(work string) (P, error) {
			p := newProgress(f.Progress, fmt.Sprintf("fetching %s (%s)", o.text, m.name), o.dir)
			got, err := m.fetch(ctx, work, p)
			if err != nil {
				p.end("", err)
				return none, err
			}
			p.end(got.root(), nil)
			return got, nil
		})
		if err == nil {
			return got, nil
		}
		var room *NoRoomError
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return none, fmt.Errorf("fetch %s (%s): not done in time (at most %s): %w\nhint: %s", o.text, m.name, FetchTimeout, ctx.Err(), o.slow)
		}
		if errors.As(err, &room) || ctx.Err() != nil {
			return none, fmt.Errorf("fetch %s (%s): %w", o.text, m.name, err)
		}
		failed.add(m.name, err)
	}
	return none, o.failed(failed)
}

// inPartial runs a method in a new directory and, when it worked, gives the
// directory that it brought its name: it is there whole, or not at all.
func inPartial[P artifact](dir string, method func(work string) (P, error)) (none P, err error) {
	work, err := os.MkdirTemp(dir, partialPrefix)
	if err != nil {
		return none, roomOr(err, dir, 0)
	}
	defer os.RemoveAll(work)
	if err := os.Chmod(work, 0o755); err != nil { //nolint:forbidigo // made just now, in a directory of ours
		return none, err
	}
	got, err := method(work)
	if err == nil {
		err = publish(dir, got)
	}
	if err != nil {
		return none, roomOr(err, dir, 0)
	}
	return got, nil
}

// publish moves the directory to its place in the cache.
func publish(dir string, p artifact) error {
	work, target := p.root(), filepath.Join(dir, p.Name())
	p.rebase(target)
	if err := p.describe(work); err != nil {
		return err
	}
	if err := syncDirs(work); err != nil {
		return fmt.Errorf("sync %s: %w", work, err)
	}
	// Whatever has the name already is not usable, or it would have been taken.
	old, err := os.MkdirTemp(dir, partialPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(old)
	if err := os.Rename(target, filepath.Join(old, "old")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("replace %s: %w", target, err)
	}
	if err := os.Rename(work, target); err != nil {
		return fmt.Errorf("publish %s: %w", target, err)
	}
	return syncDir(dir)
}

// removePartials removes what killed fetches left. The caller holds the lock.
func removePartials(dir string) error {
	left, err := sys.Glob(dir, partialPrefix+"*")
	for _, p := range left {
		err = errors.Join(err, os.RemoveAll(p))
	}
	return err
}
