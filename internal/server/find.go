package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/memo"
)

// EnvNoFetch switches fetching off when it is 1.
const EnvNoFetch = "RAMARIA_NO_FETCH"

// ErrNoServer says that there is no usable server software and that none could be
// fetched.
var ErrNoServer = errors.New("no usable server software")

// daemonNames are the daemon's names, new one first: MariaDB before 10.5 and
// MySQL say mysqld, and MariaDB keeps that as a link.
var daemonNames = []string{"mariadbd", "mysqld"}

// clientNames are the command line client's names.
var clientNames = []string{"mariadb", "mysql"}

// extraDirs are searched after PATH, since ordinary users' PATH has no sbin.
var extraDirs = []string{"/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/usr/local/bin", "/usr/local/mysql/bin"}

// Finder finds server software on this machine, and fetches it when there is none.
// It may be used by one goroutine at a time.
type Finder struct {
	// Host tells about security profiles; below its Root lie also the directories
	// that are searched after PATH.
	Host host.Host
	// Places.Servers() is the cache of fetched servers.
	Places host.Places
	// Memo remembers the versions of programs, so that a hot Find starts nothing.
	Memo memo.Store
	// Progress gets what people should see while they wait: a bar if it is a
	// terminal, else a line at the start and one at the end. Nil for silence.
	Progress io.Writer
	// Getenv looks up PATH, RAMARIA_NO_FETCH, RAMARIA_MAVEN; nil means os.Getenv.
	Getenv func(string) string
	// NoFetch switches fetching off, as RAMARIA_NO_FETCH=1 does.
	NoFetch bool
	// PassedOver is filled by Find and List with what was found and not taken.
	PassedOver []PassedOver

	jars  []jar         // nil means mavenJars; tests have smaller ones
	apt   string        // more apt configuration, for tests
	stall time.Duration // 0 means StallTimeout
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
	server *Server // may be nil if there is a reason
	reason string
}

// Find returns the server to use for want: "" or "mariadb" for any MariaDB,
// "mariadb:10.11" for a series, or the path of a daemon. It looks on PATH and in
// the usual directories, then in the cache (newest first), and then fetches.
// When nothing changed since the last call, it starts no process.
func (f *Finder) Find(ctx context.Context, text string) (*Server, error) {
	f.PassedOver = nil
	w, err := parseWant(text)
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

// choose takes the first candidate that can be used and is wanted.
func (f *Finder) choose(candidates iter.Seq[candidate], w want) *Server {
	for c := range candidates {
		if c.reason == "" && !w.matches(c.server.Version) {
			c.reason = fmt.Sprintf("it is version %s, not %s", c.server.Version, w.text)
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

// installed goes through the daemons on PATH and in the usual directories, each
// file once whatever its names.
func (f *Finder) installed(ctx context.Context) iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		seen := map[string]bool{}
		for _, name := range daemonNames {
			for _, dir := range f.searchDirs() {
				path := filepath.Join(dir, name)
				if !executable(path) {
					continue
				}
				real, err := filepath.EvalSymlinks(path)
				if err != nil || seen[real] {
					continue
				}
				seen[real] = true
				if !yield(f.inspect(ctx, path, real)) {
					return
				}
			}
		}
	}
}

func (f *Finder) searchDirs() []string {
	var dirs []string
	for _, dir := range filepath.SplitList(f.getenv("PATH")) {
		if filepath.IsAbs(dir) { // "." on PATH is nothing to run servers from
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range extraDirs {
		dirs = append(dirs, filepath.Join(f.Host.Root, dir))
	}
	return dirs
}

// inspect looks at the daemon at path, a link to real.
func (f *Finder) inspect(ctx context.Context, path, real string) candidate {
	s, err := f.describe(ctx, path, real)
	if err != nil {
		return candidate{path: path, reason: err.Error()}
	}
	c := candidate{path: path, server: s}
	if profile, confined := Confinement(f.Host, real); confined {
		c.reason = profile + " keeps it out of ramaria's volumes"
	}
	return c
}

// describe makes the Server of a daemon that belongs to the system.
func (f *Finder) describe(ctx context.Context, path, real string) (*Server, error) {
	s := &Server{Flavour: MariaDB, Origin: "path", Dir: filepath.Dir(path), Daemon: Program{Argv: []string{path}}}
	var err error
	if s.Version, err = probe(ctx, f.Memo, s.Daemon); err != nil {
		return nil, err
	}
	if s.Version.Compare(Oldest) < 0 {
		return nil, fmt.Errorf("version %s is older than %s", s.Version, Oldest.Series())
	}
	if err := s.findParts(filepath.Dir(filepath.Dir(real))); err != nil {
		return nil, err
	}
	dirs := append([]string{filepath.Dir(path), filepath.Join(filepath.Dir(filepath.Dir(real)), "bin")}, f.searchDirs()...)
	s.Client = findProgram(dirs, clientNames)
	return s, nil
}

func findProgram(dirs, names []string) Program {
	for _, dir := range dirs {
		for _, name := range names {
			if path := filepath.Join(dir, name); executable(path) {
				return Program{Argv: []string{path}}
			}
		}
	}
	return Program{}
}

// atPath returns the server whose daemon the user named. A security profile is no
// reason to refuse, since the user may have taught it about our volumes.
func (f *Finder) atPath(ctx context.Context, text string) (*Server, error) {
	path, err := filepath.Abs(text)
	if err != nil {
		return nil, fmt.Errorf("find server %s: %w", text, err)
	}
	if !executable(path) {
		return nil, fmt.Errorf("find server %s: there is no program at that path\nhint: ramaria server ls shows the servers of this machine", text)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("find server %s: %w", text, err)
	}
	for c := range f.cached() { // those run through their own loader only
		if c.server != nil && c.reason == "" && sameFile(c.server.Daemon.path(), real) {
			return c.server, nil
		}
	}
	s, err := f.describe(ctx, path, real)
	if err != nil {
		return nil, fmt.Errorf("find server %s: %w\nhint: use --server mariadb", text, err)
	}
	if profile, confined := Confinement(f.Host, real); confined {
		f.say("warning: %s may keep %s out of ramaria's volumes", profile, path)
	}
	return s, nil
}

func sameFile(a, b string) bool {
	fa, errA := os.Stat(a)
	fb, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(fa, fb)
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
func (f *Finder) passedOverText() string {
	var b strings.Builder
	for _, p := range f.PassedOver {
		fmt.Fprintf(&b, "\n  passed over %s: %s", p.Path, p.Reason)
	}
	return b.String()
}
