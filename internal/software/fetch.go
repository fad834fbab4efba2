package software

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/server"
)

// The ways to fetch a server, beside the suites; they are also the Origin of what was
// fetched.
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
// It ignores servers that are installed on the machine.
func (f *Finder) Fetch(ctx context.Context, text string) (*server.Server, error) {
	f.PassedOver = nil
	w, err := f.want(text)
	if err != nil {
		return nil, err
	}
	if w.path != "" {
		return nil, fmt.Errorf("fetch server %s: that is a path\nhint: ramaria server fetch mariadb or mysql", text)
	}
	if s := f.choose(f.cached(), w); s != nil {
		return s, nil
	}
	return f.fetch(ctx, w)
}

// fetch fetches it unless that is switched off.
func (f *Finder) fetch(ctx context.Context, w want) (*server.Server, error) {
	if !f.fetching() {
		return nil, f.notFetching(w)
	}
	verified := func(name string, fetch func(context.Context, want, string, *progress) (*server.Server, error)) method[fetched] {
		return method[fetched]{name, func(ctx context.Context, work string, p *progress) (none fetched, err error) {
			s, err := fetch(ctx, w, work, p)
			if err != nil {
				return none, err
			}
			s.Origin = name
			return fetched{s}, verify(ctx, s, w)
		}}
	}
	methods := []method[fetched]{verified(methodApt, f.fetchApt)}
	for _, d := range suitesOf(w.family) {
		methods = append(methods, verified(d.method(), func(ctx context.Context, w want, work string, p *progress) (*server.Server, error) {
			return f.fetchSuite(ctx, d, w, work, p)
		}))
	}
	methods = append(methods, verified(methodMaven, f.fetchMaven))
	got, err := fetchJob[fetched]{
		text: w.text, kind: "server", dir: f.Places.Servers(),
		cached: func() (fetched, bool) {
			s := f.choose(f.cached(), w)
			return fetched{s}, s != nil
		},
		methods: methods,
		slow:    "try again, or name a nearer mirror in " + EnvMaven,
		failed:  func(why fetchFailure) error { return f.noServer(w, why) },
	}.fill(ctx, f)
	return got.Server, err
}

// verify starts the daemon once, with the paths that it has now: what was fetched
// must run on this machine and be what it was said to be.
func verify(ctx context.Context, s *server.Server, w want) error {
	fam, version, err := probe(ctx, memo.Store{Dir: os.DevNull}, s.Daemon) // nothing is remembered
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	s.Flavour, s.Version = fam.Flavour, version
	if why := w.refuses(s); why != "" {
		return fmt.Errorf("verify: %s: %w", why, errUnsuited)
	}
	if err := fam.TooOld(version); err != nil {
		return fmt.Errorf("verify: %w: %w", err, errUnsuited)
	}
	return nil
}
