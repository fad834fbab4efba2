// Package software finds database servers, and the few tools that Ramaria runs beside them, on this
// machine, and fetches what is missing: packages of the distribution by apt, those of a Debian suite,
// jars from a Maven repository. What was fetched is checked, unpacked beside its own loader and
// libraries, and appears in the cache whole or not at all.
package software

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/server"
)

// EnvServer names the server that is wanted where nothing else is said.
const EnvServer = "RAMARIA_SERVER"

// EnvNoFetch switches fetching off when it is 1.
const EnvNoFetch = "RAMARIA_NO_FETCH"

// ErrNoServer says that there is no usable server software and that none could be
// fetched.
var ErrNoServer = errors.New("no usable server software")

// Finder finds server software and tools on this machine, and fetches what is missing.
// It may be used by one goroutine at a time.
type Finder struct {
	// Host tells about security profiles; below its Root lie also the directories
	// that are searched after PATH.
	Host host.Host
	// Places.Servers() is the cache of fetched servers; tools lie beside it.
	Places host.Places
	// Memo remembers the versions of programs, so that a hot Find starts nothing.
	Memo memo.Store
	// Progress gets what people should see while they wait: a bar if it is a
	// terminal, else a line at the start and one at the end. Nil for silence.
	Progress io.Writer
	// Getenv looks up PATH, RAMARIA_SERVER, RAMARIA_NO_FETCH, RAMARIA_MAVEN; nil means os.Getenv.
	Getenv func(string) string
	// NoFetch switches fetching off, as RAMARIA_NO_FETCH=1 does.
	NoFetch bool
	// PassedOver is filled by Find and List with what was found and not taken.
	PassedOver []PassedOver

	jars  []jar         // nil means mavenJars; tests have smaller ones
	apt   string        // more apt configuration, for tests
	stall time.Duration // 0 means StallTimeout
	// keys and mirror stand for debianKeys and debianMirror, for tests.
	keys, mirror string
	// look finds a program of the distribution; nil means exec.LookPath.
	look func(name string) (string, error)
}

// PassedOver is a server that was found and cannot be used, or not for what was wanted.
type PassedOver struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// candidate is a server at path; if reason is not empty, it cannot be used.
type candidate struct {
	path   string
	server *server.Server // may be nil if there is a reason
	reason string
}

// Find returns the server to use for want: "" or "mariadb" for any MariaDB,
// "mysql:8.4" for a series, or the path of a daemon. It looks on PATH and in
// the usual directories, then in the cache (the distribution's first), and then fetches.
// When nothing changed since the last call, it starts no process.
func (f *Finder) Find(ctx context.Context, text string) (*server.Server, error) {
	f.PassedOver = nil
	w, err := f.want(text)
	if err != nil {
		return nil, err
	}
	if w.path != "" {
		return f.atPath(ctx, w.path)
	}
	if s := f.choose(f.installed(ctx), w); s != nil {
		return s, nil
	}
	if s := f.choose(f.cached(), w); s != nil {
		return s, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("find server %s: %w", w.text, err)
	}
	return f.fetch(ctx, w)
}

// want parses what is wanted; the default is that of RAMARIA_SERVER.
func (f *Finder) want(text string) (want, error) { return parseWant(cmp.Or(text, f.getenv(EnvServer))) }

// choose takes the first candidate that can be used and is wanted.
func (f *Finder) choose(candidates iter.Seq[candidate], w want) *server.Server {
	for c := range candidates {
		if c.reason == "" {
			c.reason = w.refuses(c.server)
		}
		if c.reason == "" {
			return c.server
		}
		// The cache is looked through again once its lock is held.
		if p := (PassedOver{c.path, c.reason}); !slices.Contains(f.PassedOver, p) {
			f.PassedOver = append(f.PassedOver, p)
		}
	}
	return nil
}

func (f *Finder) getenv(name string) string {
	if f.Getenv == nil {
		return os.Getenv(name)
	}
	return f.Getenv(name)
}

// say writes a line for people.
func (f *Finder) say(format string, args ...any) {
	if f.Progress != nil {
		fmt.Fprintf(f.Progress, "ramaria: "+format+"\n", args...)
	}
}

// passedOverText lists what was found and not taken, a line each, or "".
func passedOverText(list []PassedOver) string {
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintf(&b, "\n  passed over %s: %s", p.Path, p.Reason)
	}
	return b.String()
}
