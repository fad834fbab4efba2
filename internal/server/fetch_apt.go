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
	// (87 MB on Debian 12), packages, and the unpacked files.
	aptNeeds = 200_000_000
)

// fetchApt fetches the distribution's packages, without root and without touching
// what is installed, and unpacks them. apt checks them against its keys.
func (f *Finder) fetchApt(ctx context.Context, w want, work string, p *progress) (*Server, error) {
	dpkg, err := f.lookTool("dpkg-deb")
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(f.Places.Servers(), ":;$\"\n") {
		return nil, fmt.Errorf("%w: the cache's path %s has a character that the loader's library path cannot have", errUnsuited, f.Places.Servers())
	}
	state := filepath.Join(work, "apt")
	if err := makeOpenDir(state); err != nil {
		return nil, err
	}
	a, err := f.newApt(ctx, state)
	if err != nil {
		return nil, err
	}
	if err := checkRoom(work, aptNeeds); err != nil {
		return nil, err
	}
	debs, err := a.bring(ctx, w, work, p)
	if err != nil {
		return nil, aptCause(err, work)
	}
	p.phase("unpacking", 0.8, 1)
	root := filepath.Join(work, "root")
	if err := unpackDebs(ctx, dpkg, debs, root, p.at); err != nil {
		return nil, fmt.Errorf("unpack packages: %w", err)
	}
	if err := os.RemoveAll(state); err != nil {
		return nil, err
	}
	return aptServer(root)
}

// bring downloads the packages and returns their paths.
func (a *apt) bring(ctx context.Context, w want, work string, p *progress) ([]string, error) {
	p.phase("package lists", 0, 0.3)
	complaint := a.update(ctx, listsTimeout, p.at)
	packages, err := a.candidate(ctx, w)
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
