package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	// aptDownload is about what apt brings: 10 MB of lists, 17 MB of packages (Debian 12).
	aptDownload = 27_000_000
	// aptNeeds is the least room that is worth beginning with: lists and their index
	// (87 MB on Debian 12), packages, and the unpacked files. Tools need a little less.
	aptNeeds = 200_000_000
)

// aptRequest is what apt shall bring, and what is kept of it.
type aptRequest struct {
	pick    func(context.Context, *apt) ([]string, error) // chooses the packages, once there are lists
	without []string                                      // packages that are left out though others depend on them
	needed  func(name string) bool                        // whether a file is kept, by its name in a package
}

// fetchApt fetches the packages of the distribution that make a server.
func (f *Finder) fetchApt(ctx context.Context, w want, work string, p *progress) (*Server, error) {
	root, err := f.unpackApt(ctx, f.Places.Servers(), aptRequest{
		pick:   func(ctx context.Context, a *apt) ([]string, error) { return a.candidate(ctx, w) },
		needed: neededOfPackage,
	}, work, p)
	if err != nil {
		return nil, err
	}
	return aptServer(root)
}

// unpackApt fetches packages of the distribution, without root and without touching
// what is installed, unpacks them in work for the cache, and returns the directory
// that stands for their root. apt checks them against its keys.
func (f *Finder) unpackApt(ctx context.Context, cache string, r aptRequest, work string, p *progress) (root string, err error) {
	dpkg, err := f.lookCommand("dpkg-deb")
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(cache, ":;$\"\n") {
		return "", fmt.Errorf("%w: the cache's path %s has a character that the loader's library path cannot have", errUnsuited, cache)
	}
	state := filepath.Join(work, "apt")
	if err := makeOpenDir(state); err != nil {
		return "", err
	}
	a, err := f.newApt(ctx, state, r.without...)
	if err != nil {
		return "", err
	}
	if err := checkRoom(work, aptNeeds); err != nil {
		return "", err
	}
	debs, err := a.bring(ctx, r.pick, work, p)
	if err != nil {
		return "", aptCause(err, work)
	}
	p.phase("unpacking", 0.8, 1)
	root = filepath.Join(work, "root")
	if err := unpackDebs(ctx, dpkg, debs, r.needed, root, p.at); err != nil {
		return "", fmt.Errorf("unpack packages: %w", err)
	}
	return root, os.RemoveAll(state)
}

// bring downloads the packages and returns their paths.
func (a *apt) bring(ctx context.Context, pick func(context.Context, *apt) ([]string, error), work string, p *progress) ([]string, error) {
	p.phase("package lists", 0, 0.3)
	complaint := a.update(ctx, listsTimeout, p.at)
	packages, err := pick(ctx, a)
	switch {
	case errors.Is(err, errNoCandidate) && complaint != nil:
		return nil, fmt.Errorf("%w: %w", err, complaint)
	case errors.Is(err, errNoCandidate):
		return nil, fmt.Errorf("%w: %w", errUnsuited, err)
	case err != nil:
		return nil, err
	}
	plan, err := a.plan(ctx, packages)
	if err != nil {
		return nil, err
	}
	if err := checkRoom(work, plan.download+plan.unpacked); err != nil {
		return nil, err
	}
	p.phase("downloading "+megabytes(plan.download), 0.3, 0.8)
	return a.download(ctx, packages, plan.local, p.at)
}

var (
	aptNoRoom    = regexp.MustCompile(`(?i)no space left on device|enough free space|disk quota exceeded`)
	aptNoNetwork = regexp.MustCompile(`(?i)temporary failure resolving|could not resolve|could not connect|unable to connect|cannot initiate the connection|connection (refused|timed out|failed)|network is unreachable`)
)

// aptCause recognises a full disk and a missing network in apt's words.
func aptCause(err error, work string) error {
	switch {
	case aptNoRoom.MatchString(err.Error()):
		free, _ := freeBytes(work)
		return &NoRoomError{Dir: work, Need: aptNeeds, Free: free}
	case aptNoNetwork.MatchString(err.Error()):
		return fmt.Errorf("%w: %w", errNetwork, err)
	}
	return err
}

// aptServer describes the server whose packages were unpacked into root.
func aptServer(root string) (*Server, error) {
	prefix := filepath.Join(root, "usr")
	daemon := findProgram([]string{filepath.Join(prefix, "sbin"), filepath.Join(prefix, "bin")}, daemonNames)
	if daemon.Argv == nil {
		return nil, errors.New("the packages hold no mariadbd")
	}
	s := &Server{Flavour: MariaDB, Dir: root}
	var err error
	if s.Daemon, err = ownLoader(root, daemon); err != nil {
		return nil, err
	}
	if client := findProgram([]string{filepath.Join(prefix, "bin")}, clientNames); client.Argv != nil {
		if s.Client, err = ownLoader(root, client); err != nil {
			return nil, err
		}
	}
	// The built-in plugin directory may hold the plugins of an installed server.
	if err := makeOpenDir(filepath.Join(prefix, pluginDirs[0])); err != nil {
		return nil, err
	}
	if err := s.findParts(prefix); err != nil {
		return nil, err
	}
	return s, nil
}
