package software

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
)

const (
	// aptDownload is about what apt brings of MariaDB: 10 MB of lists, 20 MB of packages
	// (Debian 12); aptDownloadMySQL is it of MySQL, with Ubuntu's 24 MB of lists.
	aptDownload      = 30_000_000
	aptDownloadMySQL = 60_000_000
	// aptNeeds is the least room that is worth beginning with: lists and their index
	// (87 MB on Debian 12), packages, and the unpacked files. Tools need a little less.
	aptNeeds = 200_000_000
)

// aptRequest is what apt shall bring, and what is kept of it.
type aptRequest struct {
	pick    func(context.Context, *apt) ([]string, error) // chooses the packages, once there are lists
	without []string                                      // packages that are left out though others depend on them
	needed  func(name string) bool                        // whether a file is kept, by its name in a package

	source string // the only line of the list of sources; "" for the machine's own
	from   string // what that is, for people; "" for the distribution
}

// fetchApt fetches the packages of the distribution that make a server.
func (f *Finder) fetchApt(ctx context.Context, w want, work string, p *progress) (*server.Server, error) {
	return f.fetchPackages(ctx, w, aptRequest{}, work, p)
}

// fetchPackages fetches the packages that make a server from where the request says.
func (f *Finder) fetchPackages(ctx context.Context, w want, r aptRequest, work string, p *progress) (*server.Server, error) {
	r.pick = func(ctx context.Context, a *apt) ([]string, error) { return a.candidate(ctx, w) }
	r.without = w.packages().without
	r.needed = neededOfPackage
	root, err := f.unpackApt(ctx, f.Places.Servers(), r, work, p)
	if err != nil {
		return nil, err
	}
	return aptServer(root, w.family)
}

// unpackApt fetches packages of the distribution, without root and without touching
// what is installed, unpacks them in work for the cache, and returns the directory
// that stands for their root. apt checks them against its keys. It may be called again
// after an error.
func (f *Finder) unpackApt(ctx context.Context, cache string, r aptRequest, work string, p *progress) (root string, err error) {
	dpkg, err := f.lookCommand("dpkg-deb")
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(cache, ":;$\"\n") {
		return "", fmt.Errorf("%w: the cache's path %s has a character that the loader's library path cannot have", errUnsuited, cache)
	}
	state := filepath.Join(work, "apt")
	if err := os.RemoveAll(state); err != nil {
		return "", err
	}
	if err := makeOpenDir(state); err != nil {
		return "", err
	}
	a, err := f.newApt(ctx, state, r)
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

// aptServer describes the server of a family whose packages were unpacked into root.
func aptServer(root string, fam *server.Family) (*server.Server, error) {
	prefix := filepath.Join(root, "usr")
	s := &server.Server{Flavour: fam.Flavour, Dir: root}
	bin := filepath.Join(prefix, "bin")
	s.Daemon = findProgram([]string{filepath.Join(prefix, "sbin"), bin}, fam.Daemons)
	if s.Daemon.Argv == nil {
		return nil, fmt.Errorf("the packages hold no %s", fam.Daemons[0])
	}
	findPrograms(s, []string{bin})
	for _, p := range s.Programs() {
		if p.Argv == nil {
			continue
		}
		var err error
		if *p, err = ownLoader(root, *p); err != nil {
			return nil, err
		}
		// The system's configuration may name modules of the system's OpenSSL.
		p.Env = []string{"OPENSSL_CONF=/dev/null"}
	}
	// The built-in plugin directory may hold the plugins of an installed server.
	if err := makeOpenDir(filepath.Join(prefix, pluginDirs[0])); err != nil {
		return nil, err
	}
	if err := findParts(s, prefix); err != nil {
		return nil, err
	}
	return s, nil
}
