package software

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/server"
)

// ProbeTimeout is how long a program may take to tell its version; it takes
// milliseconds, but tens of megabytes may have to come from a slow disk first.
const ProbeTimeout = 30 * time.Second

// versionText matches "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for ..." and
// "mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)". MariaDB's old clients say
// "Ver 15.1 Distrib 10.11.19-MariaDB", which it does not match.
var versionText = regexp.MustCompile(`\bVer (\d+\.\d+\.\d+(?:\.\d+)?)(\S*)`)

// parseVersionText reads what a daemon says to --version.
func parseVersionText(text string) (*server.Family, server.Version, error) {
	m := versionText.FindStringSubmatch(text)
	if m == nil {
		return nil, server.Version{}, fmt.Errorf("no version in %q", firstLine(text))
	}
	v, err := server.ParseVersion(m[1])
	for _, f := range server.Families {
		if err == nil && strings.Contains(m[2], f.VersionMark) {
			return f, v, nil
		}
	}
	return nil, v, err
}

// probe asks the daemon at the end of program what it is, or remembers it.
func probe(ctx context.Context, m memo.Store, program server.Program) (*server.Family, server.Version, error) {
	binary := program.Path()
	text, err := m.Get("server-version", binary, func() (string, error) { return askVersion(ctx, program) })
	if err != nil {
		return nil, server.Version{}, fmt.Errorf("ask %s for its version: %w", binary, err)
	}
	f, v, err := parseVersionText(text)
	if err != nil {
		return nil, v, fmt.Errorf("ask %s for its version: %w", binary, err)
	}
	return f, v, nil
}

// askVersion runs the daemon. --no-defaults comes first, as the daemon demands, so
// that a broken /etc/mysql is no concern of ours.
func askVersion(ctx context.Context, program server.Program) (string, error) {
	return answer(ctx, program, "--no-defaults", "--version")
}

// answer runs the program in an environment that says nothing else and returns the
// first line of what it says.
func answer(ctx context.Context, p server.Program, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, ProbeTimeout)
	defer cancel()
	argv := append(append([]string{}, p.Argv...), args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "LC_ALL=C"}, p.Env...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err == nil {
		return firstLine(string(out)), nil
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return "", fmt.Errorf("%w: %s", err, firstLine(string(exit.Stderr)))
	}
	return "", notRun(argv[0], err)
}

func firstLine(s string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(first)
}
