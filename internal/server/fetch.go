package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// The ways to fetch a server; they are also the Origin of what was fetched.
const (
	methodApt   = "apt"
	methodMaven = "maven"
)

const (
	// FetchTimeout bounds one fetch in all, for networks that are slow and never
	// quite stall: 150 MB in half an hour is 80 kB/s.
	FetchTimeout = 30 * time.Minute
	// FetchLockTimeout bounds the wait for another process that fetches.
	FetchLockTimeout = FetchTimeout + time.Minute

	fetchLock     = ".lock"     // in the cache, held while fetching
	partialPrefix = ".partial-" // of directories that are not finished, or are to be removed
)

// Fetch returns the server for want from the cache, and fetches it if it is not
// there. Any number of processes may call it at once: one fetches, the others wait.
// What is installed on the machine is not looked at.
func (f *Finder) Fetch(ctx context.Context, text string) (*Server, error) {
	f.PassedOver = nil
	w, err := parseWant(text)
	if err != nil {
		return nil, err
	}
	if w.path != "" {
		return nil, fmt.Errorf("fetch server %s: that is a path\nhint: ramaria server fetch mariadb", text)
	}
	if s := f.choose(f.cached(), w); s != nil {
		return s, nil
	}
	return f.fetch(ctx, w)
}

// fetch takes the lock of the cache, looks again, and tries the methods in turn.
func (f *Finder) fetch(ctx context.Context, w want) (*Server, error) {
	if f.NoFetch || f.getenv(EnvNoFetch) == "1" {
		return nil, f.notFetching(w)
	}
	dir := f.Places.Servers()
	if err := makeOpenDir(dir); err != nil {
		return nil, fmt.Errorf("make cache: %w", roomOr(err, dir, 0))
	}
	waitCtx, cancel := context.WithTimeout(ctx, FetchLockTimeout)
	defer cancel()
	lock, err := sys.Lock(waitCtx, filepath.Join(dir, fetchLock), sys.Exclusive, func() {
		f.say("another ramaria is fetching a server; waiting for it")
	})
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", w.text, err)
	}
	defer lock.Unlock()
	if s := f.choose(f.cached(), w); s != nil {
		return s, nil
	}
	if err := removePartials(dir); err != nil {
		return nil, fmt.Errorf("fetch %s: clear what another fetch left: %w", w.text, err)
	}
	fetchCtx, cancel := context.WithTimeout(ctx, FetchTimeout)
	defer cancel()
	return f.tryMethods(fetchCtx, w, dir)
}

// tryMethods returns the server of the first method that works. The directory in
// which a method worked is gone when it returns.
func (f *Finder) tryMethods(ctx context.Context, w want, dir string) (*Server, error) {
	methods := []struct {
		name  string
		fetch func(ctx context.Context, w want, work string, p *progress) (*Server, error)
	}{
		{methodApt, f.fetchApt},
		{methodMaven, f.fetchMaven},
	}
	var failed fetchFailure
	for _, m := range methods {
		s, err := f.inPartial(dir, func(work string) (*Server, error) {
			p := newProgress(f.Progress, fmt.Sprintf("fetching %s (%s)", w.text, m.name), dir)
			s, err := m.fetch(ctx, w, work, p)
			p.end(s, err)
			if err != nil {
				return nil, err
			}
			s.Origin = m.name
			return s, verify(ctx, s, w)
		})
		if err == nil {
			return s, nil
		}
		var room *NoRoomError
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, fmt.Errorf("fetch %s (%s): not done in time (at most %s): %w\nhint: try again, or name a nearer mirror in %s",
				w.text, m.name, FetchTimeout, ctx.Err(), EnvMaven)
		}
		if errors.As(err, &room) || ctx.Err() != nil {
			return nil, fmt.Errorf("fetch %s (%s): %w", w.text, m.name, err)
		}
		failed.add(m.name, err)
	}
	return nil, f.noServer(w, failed)
}

// inPartial runs a method in a new directory and, when it worked, gives the
// server's directory its name: it is there whole, or not at all.
func (f *Finder) inPartial(dir string, method func(work string) (*Server, error)) (*Server, error) {
	work, err := os.MkdirTemp(dir, partialPrefix)
	if err != nil {
		return nil, roomOr(err, dir, 0)
	}
	defer os.RemoveAll(work)
	if err := os.Chmod(work, 0o755); err != nil {
		return nil, err
	}
	s, err := method(work)
	if err != nil {
		return nil, roomOr(err, dir, 0)
	}
	return publish(dir, s)
}

// publish moves the server's directory to its place in the cache.
func publish(dir string, s *Server) (*Server, error) {
	work, target := s.Dir, filepath.Join(dir, s.Name())
	s.rebase(target)
	if err := writeDescription(work, s); err != nil {
		return nil, roomOr(err, dir, 0)
	}
	if err := syncDirs(work); err != nil {
		return nil, fmt.Errorf("sync %s: %w", work, err)
	}
	// Whatever has the name already is not usable, or it would have been taken.
	old, err := os.MkdirTemp(dir, partialPrefix)
	if err != nil {
		return nil, roomOr(err, dir, 0)
	}
	defer os.RemoveAll(old)
	if err := os.Rename(target, filepath.Join(old, "old")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("replace %s: %w", target, err)
	}
	if err := os.Rename(work, target); err != nil {
		return nil, fmt.Errorf("publish %s: %w", target, err)
	}
	return s, syncDir(dir)
}

// verify starts the daemon once, with the paths that it has now: what was fetched
// must run on this machine and be what it was said to be.
func verify(ctx context.Context, s *Server, w want) error {
	version, err := probe(ctx, memo.Store{Dir: os.DevNull}, s.Daemon) // nothing is remembered
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	if !w.matches(version) {
		return fmt.Errorf("verify: fetched version %s, wanted %s: %w", version, w.text, errUnsuited)
	}
	if version.Compare(Oldest) < 0 {
		return fmt.Errorf("verify: version %s is older than %s: %w", version, Oldest.Series(), errUnsuited)
	}
	s.Version = version
	return nil
}

// removePartials removes what killed fetches left. The caller holds the lock.
func removePartials(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, partialPrefix+"*"))
	for _, p := range left {
		err = errors.Join(err, os.RemoveAll(p))
	}
	return err
}
