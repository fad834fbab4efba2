package software

import (
	"bytes"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
)

// policyVersion matches "1:10.11.19-0+deb12u1": an epoch, the version, the rest.
var policyVersion = regexp.MustCompile(`^(?:\d+:)?(\d+\.\d+\.\d+)`)

// parsePolicy reads the candidates that apt-cache policy tells, with all that a
// version has in Debian.
func parsePolicy(out string) map[string]string {
	found := map[string]string{}
	name := ""
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, " ") {
			name = strings.TrimSuffix(line, ":")
			continue
		}
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "Candidate: ")
		if ok && text != "(none)" {
			found[name] = text
		}
	}
	return found
}

// packageVersion is the release in a package's version.
func packageVersion(text string) (v server.Version, ok bool) {
	m := policyVersion.FindStringSubmatch(text)
	if m == nil {
		return v, false
	}
	v, err := server.ParseVersion(m[1])
	return v, err == nil
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

// parseStatus reads "dlstatus:28:64.2722:Retrieving file 28 of 28" as 0.642722.
func parseStatus(line []byte) (done float64, ok bool) {
	parts := bytes.SplitN(line, []byte(":"), 4)
	if len(parts) < 3 || string(parts[0]) != "dlstatus" {
		return 0, false
	}
	percent, err := strconv.ParseFloat(string(parts[2]), 64)
	return percent / 100, err == nil
}

// maxComplaints is how many lines of apt's are shown.
const maxComplaints = 4

// complaints returns the errors in the output of apt or, without errors, the warnings.
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
