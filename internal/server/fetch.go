package server

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/ramaria-db/ramaria/internal/memo"
)

// The ways to fetch a server, beside the suites; they are also the Origin of what was
// fetched.
const (
	methodApt   = "apt"
	methodMaven = "maven"
)

// originPath is the Origin of a server that was not fetched.
const originPath = "path"

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
func (f *Finder) fetch(ctx context.Context, w want) (*Server, error) {
	if !f.fetching() {
		return nil, f.notFetching(w)
	}
	verified := func(name string, fetch func(context.Context, want, string, *progress) (*Server, error)) method[*Server] {
		return method[*Server]{name, func(ctx context.Context, work string, p *progress) (*Server, error) {
			s, err := fetch(ctx, w, work, p)
			if err != nil {
				return nil, err
			}
			s.Origin = name
			return s, verify(ctx, s, w)
		}}
	}
	methods := []method[*Server]{verified(methodApt, f.fetchApt)}
	for _, d := range suitesOf(w.family) {
		methods = append(methods, verified(d.method(), func(ctx context.Context, w want, work string, p *progress) (*Server, error) {
			return f.fetchSuite(ctx, d, w, work, p)
		}))
	}
	methods = append(methods, verified(methodMaven, f.fetchMaven))
	return order[*Server]{
		text: w.text, kind: "server", dir: f.Places.Servers(),
		cached: func() (*Server, bool) {
			s := f.choose(f.cached(), w)
			return s, s != nil
		},
		methods: methods,
		slow:    "try again, or name a nearer mirror in " + EnvMaven,
		failed:  func(why fetchFailure) error { return f.noServer(w, why) },
	}.fill(ctx, f)
}

// verify starts the daemon once, with the paths that it has now: what was fetched
// must run on this machine and be what it was said to be.
func verify(ctx context.Context, s *Server, w want) error {
	fam, version, err := probe(ctx, memo.Store{Dir: os.DevNull}, s.Daemon) // nothing is remembered
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	s.Flavour, s.Version = fam.flavour, version
	if why := w.refuses(s); why != "" {
		return fmt.Errorf("verify: %s: %w", why, errUnsuited)
	}
	if err := fam.tooOld(version); err != nil {
		return fmt.Errorf("verify: %w: %w", err, errUnsuited)
	}
	return nil
}
