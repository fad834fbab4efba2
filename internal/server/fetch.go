package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

// errUnsuited says that a method is not for this machine or this want; it says
// nothing about the network.
var errUnsuited = errors.New("not available")

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

// fetchFailure collects why no method worked.
type fetchFailure struct {
	lines   []string
	causes  []error
	network bool // every method that suits this machine failed on the network
	suited  bool // some method did
}

func (x *fetchFailure) add(method string, err error) {
	x.lines = append(x.lines, "\n  "+method+": "+err.Error())
	x.causes = append(x.causes, err)
	if errors.Is(err, errUnsuited) {
		return
	}
	lost := isNetwork(err)
	x.network = lost && (x.network || !x.suited)
	x.suited = true
}

// noServer is the error when everything failed.
func (f *Finder) noServer(w want, failed fetchFailure) error {
	text := "could be fetched"
	if failed.network {
		text = "could be fetched, since there seems to be no network"
	}
	hint := fmt.Sprintf("%s; or name one with --server /path/to/mariadbd; or set %s to a Maven mirror that can be reached", f.installHint(), EnvMaven)
	if !failed.suited {
		text = "can be fetched"
	}
	if !failed.suited && w.parts > 0 {
		hint = "use --server mariadb, or name one with --server /path/to/mariadbd; what can be fetched is " + offerText()
	}
	return &fetchError{
		text: fmt.Sprintf("find server %s: none is installed, and none %s:%s%s\nhint: %s",
			w.text, text, f.passedOverText(), strings.Join(failed.lines, ""), hint),
		causes: append([]error{ErrNoServer}, failed.causes...),
	}
}

// notFetching is the error when nothing was found and fetching is switched off.
func (f *Finder) notFetching(w want) error {
	return &fetchError{
		text: fmt.Sprintf("find server %s: none is installed, and fetching is switched off%s\nhint: %s; or name one with --server /path/to/mariadbd; or unset %s",
			w.text, f.passedOverText(), f.installHint(), EnvNoFetch),
		causes: []error{ErrNoServer},
	}
}

// fetchError is a message for people with all that errors.Is may want to know.
type fetchError struct {
	text   string
	causes []error
}

func (e *fetchError) Error() string   { return e.text }
func (e *fetchError) Unwrap() []error { return e.causes }

// errNetwork marks errors that a tool reported as text.
var errNetwork = errors.New("the network cannot be reached")

func isNetwork(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) || errors.As(err, &dns) || errors.Is(err, errNetwork) || errors.Is(err, ErrStalled) ||
		errors.Is(err, syscall.ECONNREFUSED)
}

// removePartials removes what killed fetches left. The caller holds the lock.
func removePartials(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, partialPrefix+"*"))
	for _, p := range left {
		err = errors.Join(err, os.RemoveAll(p))
	}
	return err
}
