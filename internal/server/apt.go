package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// apt is one private state of apt: the machine's own sources, keys, mirrors and
// preferences, with lists, archives and a package status of its own. The status is
// empty, so that apt resolves everything down to the C library.
type apt struct {
	conf     string // path of the configuration
	archives string // where the packages come to lie
	get      string // path of apt-get
	cache    string // path of apt-cache
}

// aptConf is read after the machine's own configuration. %[1]s is the work
// directory. Source of the names: apt.conf(5) and /usr/share/doc/apt/examples.
//   - Hooks of the machine have no business here: docker-clean's would empty the
//     archives, others would tell a desktop about new packages.
//   - As root, apt downloads as the user _apt, and tells so itself if it cannot.
const aptConf = `Dir::State "%[1]s/state";
Dir::State::Lists "%[1]s/lists";
Dir::State::status "%[1]s/status";
Dir::Cache "%[1]s/cache";
Dir::Cache::archives "%[1]s/archives";
Dir::Cache::pkgcache "pkgcache.bin";
Dir::Cache::srcpkgcache "srcpkgcache.bin";
Dir::Log "%[1]s/log";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
#clear AptCli::Hooks;
APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Get::Assume-Yes "true";
APT::Keep-Downloaded-Packages "true";
Acquire::Languages "none";
Acquire::GzipIndexes "false";
Acquire::Retries "2";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::DEP-11-icons-small::DefaultEnabled "false";
Acquire::IndexTargets::deb::DEP-11-icons::DefaultEnabled "false";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Acquire::IndexTargets::deb::CNF::DefaultEnabled "false";
Acquire::IndexTargets::deb-src::Sources::DefaultEnabled "false";
`

// newApt makes the state in work.
func (f *Finder) newApt(work string) (*apt, error) {
	a := &apt{conf: filepath.Join(work, "apt.conf"), archives: filepath.Join(work, "archives")}
	for name, path := range map[string]*string{"apt-get": &a.get, "apt-cache": &a.cache} {
		found, err := f.lookTool(name)
		if err != nil {
			return nil, err
		}
		*path = found
	}
	for _, dir := range []string{"state", "lists/partial", "cache", "archives/partial", "log"} {
		if err := makeOpenDir(filepath.Join(work, dir)); err != nil { // open, for the user _apt
			return nil, err
		}
	}
	if err := writeFile(filepath.Join(work, "status"), nil); err != nil {
		return nil, err
	}
	return a, writeFile(a.conf, []byte(fmt.Sprintf(aptConf, work)+f.apt))
}

// lookTool finds a program of the distribution on PATH.
func (f *Finder) lookTool(name string) (string, error) {
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

// update fetches the package lists. Its failure is no failure yet: a source of
// somebody else's may be broken while ours works. What apt complained about is
// returned for the case that the packages are not found.
func (a *apt) update(ctx context.Context, at func(float64)) (complaint string, err error) {
	_, talk, err := a.tool(at, a.get, "update").run(ctx)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return talk, nil //nolint:nilerr // see above
}

// candidate returns the first pair of packages that has a version that is wanted.
func (a *apt) candidate(ctx context.Context, w want) (packages [2]string, err error) {
	args := []string{"policy"}
	for _, p := range aptPackages {
		args = append(args, p[0])
	}
	out, talk, err := a.tool(nil, a.cache, args...).run(ctx)
	if err != nil {
		return packages, fmt.Errorf("ask apt for its version: %w: %s", err, complaints(talk))
	}
	offered := parsePolicy(out)
	var others []string
	for _, p := range aptPackages {
		v, ok := offered[p[0]]
		if ok && w.matches(v) && v.Compare(Oldest) >= 0 {
			return p, nil
		}
		if ok {
			others = append(others, v.String())
		}
	}
	if len(others) > 0 {
		return packages, fmt.Errorf("%w: the distribution has %s, not %s", errUnsuited, strings.Join(others, " and "), w.text)
	}
	return packages, errNoCandidate
}

// errNoCandidate says that apt knows none of the packages.
var errNoCandidate = errors.New("apt knows no package " + aptPackages[0][0])

// policyVersion matches "1:10.11.19-0+deb12u1": an epoch, the version, the rest.
var policyVersion = regexp.MustCompile(`^(?:\d+:)?(\d+\.\d+\.\d+)`)

// parsePolicy reads the candidates that apt-cache policy tells.
func parsePolicy(out string) map[string]Version {
	found := map[string]Version{}
	name := ""
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, " ") {
			name = strings.TrimSuffix(line, ":")
			continue
		}
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "Candidate: ")
		if !ok {
			continue
		}
		if m := policyVersion.FindStringSubmatch(text); m != nil {
			if v, err := ParseVersion(m[1]); err == nil {
				found[name] = v
			}
		}
	}
	return found
}

// aptPlan is what apt would do.
type aptPlan struct {
	download, unpacked int64    // bytes
	local              []string // packages of file: sources, which stay where they are
}

var (
	planDownload = regexp.MustCompile(`(?m)^Need to get (?:[\d.,]+ [kMG]?B/)?([\d.,]+) ([kMG]?)B of archives`)
	planUnpacked = regexp.MustCompile(`(?m)^After this operation, ([\d.,]+) ([kMG]?)B of additional disk space`)
	planURI      = regexp.MustCompile(`(?m)^'file:([^']+)' `)
)

func (a *apt) plan(ctx context.Context, packages [2]string) (aptPlan, error) {
	out, talk, err := a.tool(nil, a.get, "install", "--print-uris", packages[0], packages[1]).run(ctx)
	if err != nil {
		return aptPlan{}, fmt.Errorf("plan packages: %w: %s", err, complaints(talk))
	}
	return parsePlan(out), nil
}

func parsePlan(out string) aptPlan {
	p := aptPlan{download: bytesOf(planDownload, out), unpacked: bytesOf(planUnpacked, out)}
	for _, m := range planURI.FindAllStringSubmatch(out, -1) {
		if path, err := url.PathUnescape(m[1]); err == nil {
			p.local = append(p.local, filepath.Clean(path))
		}
	}
	return p
}

// bytesOf reads apt's way to write sizes, which counts in powers of 1000.
func bytesOf(re *regexp.Regexp, text string) int64 {
	m := re.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
	if err != nil {
		return 0
	}
	return int64(n * map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[m[2]])
}

// download brings the packages and all that they need, and returns their paths.
func (a *apt) download(ctx context.Context, packages [2]string, local []string, at func(float64)) ([]string, error) {
	_, talk, err := a.tool(at, a.get, "install", "--download-only", packages[0], packages[1]).run(ctx)
	if err != nil {
		return nil, fmt.Errorf("download packages: %w: %s", err, complaints(talk))
	}
	debs, err := filepath.Glob(filepath.Join(a.archives, "*.deb"))
	if debs = append(debs, local...); err == nil && len(debs) == 0 {
		err = fmt.Errorf("download packages: apt brought none: %s", complaints(talk))
	}
	return debs, err
}

func (a *apt) tool(at func(float64), program string, args ...string) tool {
	argv := append([]string{program, "-q", "-c", a.conf}, args...)
	t := tool{argv: argv, env: aptEnv()}
	if at != nil {
		t.argv = append([]string{program, "-o", "APT::Status-Fd=3"}, argv[1:]...)
		t.status = func(line []byte) {
			if done, ok := parseStatus(line); ok {
				at(done)
			}
		}
	}
	return t
}

// parseStatus reads "dlstatus:28:64.2722:Retrieving file 28 of 28" as 0.642722.
func parseStatus(line []byte) (done float64, ok bool) {
	parts := bytes.SplitN(line, []byte(":"), 4)
	if len(parts) < 3 || string(parts[0]) != "dlstatus" {
		return 0, false
	}
	percent, err := strconv.ParseFloat(string(parts[2]), 64)
	return percent / 100, err == nil
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

// maxComplaints is how many lines of apt's are shown.
const maxComplaints = 4

// complaints returns the errors in what apt said or, if there is none, the warnings.
func complaints(talk string) string {
	for _, prefix := range []string{"E: ", "W: "} {
		var lines []string
		for line := range strings.Lines(talk) {
			if strings.HasPrefix(line, prefix) && len(lines) < maxComplaints {
				lines = append(lines, strings.TrimSpace(strings.TrimPrefix(line, prefix)))
			}
		}
		if len(lines) > 0 {
			return strings.Join(lines, "; ")
		}
	}
	return firstLine(talk)
}
