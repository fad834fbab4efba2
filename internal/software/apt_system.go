package software

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// Of the machine's configuration apt gets how to reach the network (proxies, certificates, time
// limits), and where sources, keys and preferences lie. Whatever else is set, hooks above
// all, is about the machine's own packages.
var (
	aptKept = regexp.MustCompile(`(?i)^(Acquire|Dir::Etc|APT::Sandbox)::|^(Dir|RootDir|APT::Default-Release) `)
	// aptUnsafe are those that take what is not signed, or believe a server that is not whom it says
	// it is: for all sources or for one host.
	aptUnsafe = regexp.MustCompile(`(?i)^Acquire::(.*::)?(Allow(Insecure|Weak|DowngradeToInsecure)\w*|Verify-(Peer|Host)|gpgv|cdrom|IndexTargets|Languages|GzipIndexes)\b`)
)

// aptSystem ends what is kept: it is read first of all, and keeps apt from the rest.
const aptSystem = `Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
`

// writeAptSystem writes what apt gets of the machine's configuration into work and returns the
// variable by which apt reads it.
func (f *Finder) writeAptSystem(ctx context.Context, work string) (string, error) {
	program, err := f.lookCommand("apt-config")
	if err != nil {
		return "", err
	}
	dump, talk, err := command{argv: []string{program, "dump"}, env: aptEnv()}.run(ctx)
	if err != nil {
		return "", fmt.Errorf("read apt's configuration: %w %s", err, firstLine(talk))
	}
	var kept strings.Builder
	for line := range strings.Lines(dump) {
		if aptKept.MatchString(line) && !aptUnsafe.MatchString(line) {
			kept.WriteString(line)
		}
	}
	path := filepath.Join(work, "system.conf")
	return "APT_CONFIG=" + path, writeFile(path, []byte(kept.String()+aptSystem))
}
