package software

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// listRetries and listTimeout are for package lists: how often apt asks a source
	// again that does not answer, and how long it waits for an answer, or the next
	// bytes. A third party's source that is down holds up every fetch, and one
	// of ours that is down for longer than that leaves the other methods.
	listRetries = 1
	listTimeout = 10 * time.Second
	// listsTimeout bounds all lists together, so that a source that drips leaves time
	// for the other methods. Ubuntu's 24 MB come in time at 80 kB/s.
	listsTimeout = 5 * time.Minute
	// packageRetries is for the packages, which are all needed; they may bring no
	// byte for StallTimeout.
	packageRetries = 2
)

// aptConf is read after what is kept of the machine's own configuration. %[1]s is the work
// directory, %[2]s the machine's architecture, %[3]d and %[4]d are listRetries and
// listTimeout in seconds. Source of the names: apt.conf(5),
// /usr/share/doc/apt/examples and /usr/share/doc/apt/acquire-additional-files.md.
//   - Lists of sources, translations, icons or contents may be switched on under
//     any name, so that all are taken out and the lists of packages put back.
//   - Lists of a foreign architecture double the work: 27 MB instead of 9 MB with
//     i386 and arm64 on Debian 12.
//   - The first of apt's two indexes serves to make the second again; it is as
//     large, and here the second is made once.
//   - As root, apt downloads as the user _apt, and tells so itself if it cannot.
const aptConf = `Dir::State "%[1]s/state";
Dir::State::Lists "%[1]s/lists";
Dir::State::status "%[1]s/status";
Dir::Cache "%[1]s/cache";
Dir::Cache::archives "%[1]s/archives";
Dir::Cache::pkgcache "pkgcache.bin";
Dir::Cache::srcpkgcache "";
Dir::Log "%[1]s/log";
APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Get::Assume-Yes "true";
APT::Keep-Downloaded-Packages "true";
#clear APT::Architectures;
APT::Architectures { "%[2]s"; };
#clear Acquire::Languages;
Acquire::Languages "none";
#clear Acquire::IndexTargets;
Acquire::IndexTargets::deb::Packages {
	MetaKey "$(COMPONENT)/binary-$(ARCHITECTURE)/Packages";
	flatMetaKey "Packages";
	ShortDescription "Packages";
	Description "$(RELEASE)/$(COMPONENT) $(ARCHITECTURE) Packages";
	flatDescription "$(RELEASE) Packages";
	Optional "false";
};
Acquire::GzipIndexes "false";
Acquire::Retries "%[3]d";
Acquire::http::Timeout "%[4]d";
Acquire::https::Timeout "%[4]d";
`

// packageLimits are added where packages are downloaded.
func packageLimits() []string {
	seconds := strconv.Itoa(int(StallTimeout.Seconds()))
	return []string{
		"-o", "Acquire::Retries=" + strconv.Itoa(packageRetries),
		"-o", "Acquire::http::Timeout=" + seconds,
		"-o", "Acquire::https::Timeout=" + seconds,
	}
}

// present is what the package status says of a package that apt shall not bring. The
// version satisfies whatever others ask of it. Fields: deb822(5), dpkg-query(1).
const present = `Package: %s
Status: install ok installed
Version: 999:1
Architecture: %s
Multi-Arch: allowed
Maintainer: ramaria <ramaria@localhost>
Description: stands for a package that is not needed

`

// newApt makes the state in work for a request, with a status that says that the
// packages it leaves out, which need not exist, are there.
func (f *Finder) newApt(ctx context.Context, work string, r aptRequest) (*apt, error) {
	a := &apt{conf: filepath.Join(work, "apt.conf"), archives: filepath.Join(work, "archives"), from: cmp.Or(r.from, "the distribution")}
	var dpkg string
	for name, path := range map[string]*string{"apt-get": &a.get, "apt-cache": &a.cache, "dpkg": &dpkg} {
		found, err := f.lookCommand(name)
		if err != nil {
			return nil, err
		}
		*path = found
	}
	for _, dir := range []string{"state", "lists/partial", "cache", "archives/partial", "log", "none"} {
		if err := makeOpenDir(filepath.Join(work, dir)); err != nil { // open, for the user _apt
			return nil, err
		}
	}
	system, err := f.writeAptSystem(ctx, work)
	if err != nil {
		return nil, err
	}
	a.env = append(aptEnv(), system)
	arch, talk, err := command{argv: []string{dpkg, "--print-architecture"}, env: aptEnv()}.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask for the architecture: %w %s", err, firstLine(talk))
	}
	arch = strings.TrimSpace(arch)
	var status strings.Builder
	for _, name := range r.without {
		fmt.Fprintf(&status, present, name, arch)
	}
	if err := writeFile(filepath.Join(work, "status"), []byte(status.String())); err != nil {
		return nil, err
	}
	conf := fmt.Sprintf(aptConf, work, arch, listRetries, int(listTimeout.Seconds()))
	conf += f.apt
	if r.source != "" {
		conf += fmt.Sprintf(suiteConf, work)
		if err := writeFile(filepath.Join(work, "suite.list"), []byte(r.source+"\n")); err != nil {
			return nil, err
		}
	}
	return a, writeFile(a.conf, []byte(conf))
}

// lookCommand finds a program of the distribution on PATH.
func (f *Finder) lookCommand(name string) (string, error) {
	look := f.look
	if look == nil {
		look = exec.LookPath
	}
	path, err := look(name)
	if err != nil {
		return "", fmt.Errorf("%w: %s is not on PATH", errUnsuited, name)
	}
	return path, nil
}

// aptEnv is what apt may need of our environment: a search path for its own
// helpers, the proxy, and where the machine's owner has put its configuration.
func aptEnv() []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "APT_CONFIG", "http_proxy", "https_proxy", "no_proxy",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "all_proxy", "ALL_PROXY"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
