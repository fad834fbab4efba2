package server

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/memo"
)

// ProbeTimeout is how long a program may take to tell its version; it takes
// milliseconds, but tens of megabytes may have to come from a slow disk first.
const ProbeTimeout = 30 * time.Second

// versionText matches "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for ..." and
// "mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)".
var versionText = regexp.MustCompile(`\bVer (\d+\.\d+\.\d+)(\S*)`)

// parseVersionText reads what a daemon says to --version.
func parseVersionText(text string) (*family, Version, error) {
	m := versionText.FindStringSubmatch(text)
	if m == nil {
		return nil, Version{}, fmt.Errorf("no version in %q", firstLine(text))
	}
	v, err := ParseVersion(m[1])
	for _, f := range families {
		if err == nil && strings.Contains(m[2], f.version) {
			return f, v, nil
		}
	}
	return nil, v, err
}

// probe asks the daemon at the end of program what it is, or remembers it.
func probe(ctx context.Context, m memo.Store, program Program) (*family, Version, error) {
	binary := program.Path()
	text, err := m.Get("server-version", binary, func() (string, error) { return askVersion(ctx, program) })
	if err != nil {
		return nil, Version{}, fmt.Errorf("ask %s for its version: %w", binary, err)
	}
	f, v, err := parseVersionText(text)
	if err != nil {
		return nil, v, fmt.Errorf("ask %s for its version: %w", binary, err)
	}
	return f, v, nil
}

// askVersion runs the daemon. --no-defaults comes first, as the daemon demands, so
// that a broken /etc/mysql is no concern of ours.
func askVersion(ctx context.Context, program Program) (string, error) {
	return program.answer(ctx, "--no-defaults", "--version")
}

// answer runs the program in an environment that says nothing else and returns the
// first line of what it says.
func (p Program) answer(ctx context.Context, args ...string) (string, error) {
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
	return "", err
}

// Path is the program's file, after the loader and the loader's options; "" for one that was not found.
func (p Program) Path() string {
	if len(p.Argv) == 0 {
		return ""
	}
	return p.Argv[len(p.Argv)-1]
}

func firstLine(s string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(first)
}
