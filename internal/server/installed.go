package server

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
)

// daemonNames are the daemon's names, new one first: MariaDB before 10.5 and
// MySQL say mysqld, and MariaDB keeps that as a link.
var daemonNames = []string{"mariadbd", "mysqld"}

// clientNames are the command line client's names.
var clientNames = []string{"mariadb", "mysql"}

// extraDirs are searched after PATH, since ordinary users' PATH has no sbin.
var extraDirs = []string{"/sbin", "/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/usr/local/bin", "/usr/local/mysql/bin"}

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
