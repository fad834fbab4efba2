package software

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/ramaria-db/ramaria/internal/server"
)

// DaemonNames are the names of all daemons, new ones first: MariaDB's own say
// that it is one, mysqld may be either.
func DaemonNames() []string {
	var names []string
	for _, f := range server.Families {
		for _, n := range f.Daemons {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

// extraDirs are searched after PATH, since ordinary users' PATH has no sbin.
var extraDirs = []string{"/sbin", "/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/usr/local/bin", "/usr/local/mysql/bin"}

// installedDirs, if the linker sets it, are searched for daemons in place of all these, in the form of PATH:
// what a machine has installed is nothing to the tests that run the whole program.
var installedDirs string

// daemons goes through the daemons on PATH and in the usual directories, each file once whatever its names: its path,
// and what that is a link to.
func (f *Finder) daemons() iter.Seq2[string, string] {
	return func(yield func(path, real string) bool) {
		seen, dirs := map[string]bool{}, f.searchDirs()
		if installedDirs != "" {
			dirs = filepath.SplitList(installedDirs)
		}
		for _, name := range DaemonNames() {
			for _, dir := range dirs {
				path := filepath.Join(dir, name)
				if !server.Executable(path) {
					continue
				}
				real, err := filepath.EvalSymlinks(path)
				if err != nil || seen[real] {
					continue
				}
				seen[real] = true
				if !yield(path, real) {
					return
				}
			}
		}
	}
}

// installed inspects the daemons of the system.
func (f *Finder) installed(ctx context.Context) iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		for path, real := range f.daemons() {
			if !yield(f.inspect(ctx, path, real)) {
				return
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
func (f *Finder) describe(ctx context.Context, path, real string) (*server.Server, error) {
	if isScript(real) {
		return nil, errScript
	}
	daemon := server.Program{Argv: []string{path}}
	fam, version, err := probe(ctx, f.Memo, daemon)
	if err != nil {
		return nil, err
	}
	if err := fam.TooOld(version); err != nil {
		return nil, err
	}
	s := &server.Server{Flavour: fam.Flavour, Version: version, Origin: server.OriginPath, Dir: filepath.Dir(path), Daemon: daemon}
	prefix := filepath.Dir(filepath.Dir(real))
	if err := findParts(s, prefix); err != nil {
		return nil, err
	}
	dirs := append([]string{filepath.Dir(path), filepath.Join(prefix, "bin")}, f.searchDirs()...)
	findPrograms(s, dirs)
	return s, nil
}

// findPrograms fills in what there is of the programs besides the daemon.
func findPrograms(s *server.Server, dirs []string) {
	fam := s.Family()
	s.Client = findProgram(dirs, fam.Clients)
	s.Dumper = findProgram(dirs, fam.Dumpers)
	s.LogReader = findProgram(dirs, fam.LogReaders)
}

func findProgram(dirs, names []string) server.Program {
	for _, dir := range dirs {
		for _, name := range names {
			if path := filepath.Join(dir, name); server.Executable(path) {
				return server.Program{Argv: []string{path}}
			}
		}
	}
	return server.Program{}
}

// atPath returns the server whose daemon the user named. A security profile is no
// reason to refuse, since the user may have taught it about our volumes.
func (f *Finder) atPath(ctx context.Context, text string) (*server.Server, error) {
	path, err := filepath.Abs(text)
	if err != nil {
		return nil, fmt.Errorf("find server %s: %w", text, err)
	}
	if why, hint := notAProgram(path); why != "" {
		return nil, fmt.Errorf("find server %s: %s\nhint: %s", text, why, hint)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("find server %s: %w", text, err)
	}
	for c := range f.cached() { // those run through their own loader only
		if c.server != nil && c.reason == "" && sameFile(c.server.Daemon.Path(), real) {
			return c.server, nil
		}
	}
	for dir := filepath.Dir(real); dir != "/"; dir = filepath.Dir(dir) { // another home's
		if s, err := loadServer(dir); err == nil && sameFile(s.Daemon.Path(), real) {
			return s, nil
		}
	}
	s, err := f.describe(ctx, path, real)
	if err != nil {
		return nil, fmt.Errorf("find server %s: %w\nhint: use --server mariadb or --server mysql", text, err)
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
