package software

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
)

// suite is one of Debian's, which holds a series that few distributions have yet. Its
// packages run beside their own C library, so that any Linux with apt may use them.
type suite struct {
	name    string // as Debian has it: sid
	flavour server.Flavour
	// series is what it holds. One that moves holds that or a newer one.
	series server.Version
	moves  bool
	size   int64 // of lists and packages, in bytes
}

// suites are those that are fetched from, in the order of trial.
var suites = []suite{
	{name: "trixie", flavour: server.MariaDB, series: server.Version{Major: 11, Minor: 8}, size: 31_000_000},
	// Debian's stable suites have no MySQL.
	{name: "sid", flavour: server.MySQL, series: server.Version{Major: 9, Minor: 7}, moves: true, size: 67_000_000},
}

const (
	// debianMirror is where suites come from on a machine that has no mirror of its own.
	debianMirror = "http://deb.debian.org/debian"
	// debianKeys are the keys of Debian, in the package that brings them.
	debianKeys        = "/usr/share/keyrings/debian-archive-keyring.gpg"
	debianKeysPackage = "debian-archive-keyring"
)

// suitesOf returns those that have servers of a family.
func suitesOf(fam *server.Family) []suite {
	return slices.DeleteFunc(slices.Clone(suites), func(d suite) bool { return d.flavour != fam.Flavour })
}

// method is the name of the way to fetch from it.
func (d suite) method() string { return "debian-" + d.name }

// refuses says why it is no use to look into its list for what is wanted, or "".
func (d suite) refuses(w want) string {
	has := d.series.Series()
	if d.moves {
		has += " or newer"
	}
	series := server.Version{Major: w.version.Major, Minor: w.version.Minor}
	old := w.parts > 0 && w.version.Major < d.series.Major || w.parts > 1 && series.Compare(d.series) < 0
	young := w.parts > 0 && w.version.Major > d.series.Major || w.parts > 1 && series.Compare(d.series) > 0
	if old || young && !d.moves {
		return fmt.Sprintf("Debian's %s has %s, not %s", d.name, has, w.text)
	}
	return ""
}

// suiteConf is read last: nothing of the machine's sources, and nothing that it
// prefers among them, is about this suite. %[1]s is apt's work directory.
const suiteConf = `Dir::Etc::SourceList "%[1]s/suite.list";
Dir::Etc::SourceParts "%[1]s/none";
Dir::Etc::Preferences "%[1]s/none/preferences";
Dir::Etc::PreferencesParts "%[1]s/none";
APT::Default-Release "";
`

// fetchSuite fetches from a suite of Debian's, of the machine's mirror if it can, whatever
// the machine's own suites are.
func (f *Finder) fetchSuite(ctx context.Context, d suite, w want, work string, p *progress) (*server.Server, error) {
	if why := d.refuses(w); why != "" {
		return nil, fmt.Errorf("%w: %s", errUnsuited, why)
	}
	get, err := f.lookCommand("apt-get")
	if err != nil {
		return nil, err
	}
	keys := cmp.Or(f.keys, debianKeys)
	if _, err := os.Stat(keys); err != nil {
		return nil, fmt.Errorf("%w: Debian's keys are not on this machine (%s, of the package %s)", errUnsuited, keys, debianKeysPackage)
	}
	mirrors, err := f.debianMirrors(ctx, get, work)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, mirror := range mirrors {
		s, err := f.fetchPackages(ctx, w, aptRequest{
			source: fmt.Sprintf("deb [signed-by=%s] %s %s main", keys, mirror, d.name), from: "Debian's " + d.name,
		}, work, p)
		if err == nil {
			return s, nil
		}
		failed = errors.Join(failed, err)
		var room *NoRoomError
		// A mirror need not have all suites, and need not be up.
		if errors.As(err, &room) || ctx.Err() != nil || !errors.Is(err, errNoCandidate) && !errors.Is(err, errUnsuited) && !isNetwork(err) {
			return nil, failed
		}
	}
	return nil, failed
}

// targets asks apt for the site, origin, component and label of each source whose list
// the machine has. Source: /usr/share/doc/apt/examples, acquire-additional-files.md.
const targets = "$(SITE)\t$(ORIGIN)/$(COMPONENT)/$(LABEL)"

// debianMirrors returns the mirror that the machine has Debian from, if there is one, and
// Debian's own.
func (f *Finder) debianMirrors(ctx context.Context, get, work string) ([]string, error) {
	conf := filepath.Join(work, "machine.conf")
	if err := writeFile(conf, []byte(f.apt)); err != nil {
		return nil, err
	}
	defer os.Remove(conf)
	// Sources that apt cannot read are no reason to fetch nothing.
	ask := func(args ...string) string {
		out, _, _ := command{argv: append([]string{get, "-c", conf}, args...), env: aptEnv()}.run(ctx)
		return out
	}
	site := listedSite(ask("indextargets", "--format", targets, "Created-By: Packages"))
	if site == "" {
		site = guessedSite(ask("update", "--print-uris"))
	}
	own := cmp.Or(f.mirror, debianMirror)
	if site != "" && site != own {
		return []string{site, own}, nil
	}
	return []string{own}, nil
}

// listedSite returns the site of Debian's main archive among apt's targets, or "".
func listedSite(out string) string {
	for line := range strings.Lines(out) {
		site, what, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if what == "Debian/main/Debian" && oneWord.MatchString(site) {
			return site
		}
	}
	return ""
}

var (
	oneWord    = regexp.MustCompile(`^[^\s\[\]]+$`)
	debianPath = regexp.MustCompile(`(?m)^'([^\s\[\]']+/debian(?:\.list)?)/dists/`)
)

// guessedSite is for machines without package lists, as most containers are: it takes
// the first of the addresses that apt would fetch whose path looks as on most mirrors,
// or as in the list of mirrors of Debian's cloud images. What comes from there is
// checked against Debian's keys, so that a wrong guess costs a try and no more.
func guessedSite(out string) string {
	if m := debianPath.FindStringSubmatch(out); m != nil {
		return m[1]
	}
	return ""
}
