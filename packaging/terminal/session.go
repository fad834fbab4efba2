package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/fixture"
)

// dumpRows is the size of the dump that is loaded: about 6.6 MB.
const dumpRows = 100_000

// testScript is what the README calls ./test.sh.
const testScript = "#!/bin/sh\nramaria sql -e 'DELETE FROM page_view' && echo 'ok: deleted every page view of a private server'\n"

// A step is one command of a session: what it printed, and how long it took.
type step struct {
	command string
	output  []string
	took    time.Duration
}

// A session is the steps of one run.
type session []step

// total returns how long the whole session took.
func (s session) total() time.Duration {
	var sum time.Duration
	for _, step := range s {
		sum += step.took
	}
	return sum
}

// readCommands returns the commands of the second block of a page, without comments:
// the first builds ramaria.
func readCommands(page string) ([]string, error) {
	blocks := strings.Split(page, "```sh\n")
	if len(blocks) < 3 {
		return nil, fmt.Errorf("%d blocks of commands, want at least 2", len(blocks)-1)
	}
	block, _, _ := strings.Cut(blocks[2], "```")
	var commands []string
	for _, line := range strings.Split(strings.TrimSpace(block), "\n") {
		command, _, _ := strings.Cut(line, " # ")
		commands = append(commands, strings.TrimSpace(command))
	}
	return commands, nil
}

// fastest runs a number of sessions, each with nothing left of the one before, and
// returns the one that took the least time.
func fastest(ctx context.Context, o options, commands []string) (session, error) {
	var best session
	for range o.runs {
		s, err := runSession(ctx, o, commands)
		if err != nil {
			return nil, err
		}
		if best == nil || s.total() < best.total() {
			best = s
		}
	}
	return best, nil
}

// runSession runs the commands in a directory and a home of their own. An empty data
// directory of the server is made before the clock starts; the session loads the dump.
func runSession(ctx context.Context, o options, commands []string) (_ session, err error) {
	dir, err := os.MkdirTemp("", "terminal-")
	if err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// Servers that root starts run under an account of their own, which must get here.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open directory: %w", err)
	}
	if err := writeFiles(dir); err != nil {
		return nil, err
	}
	home := filepath.Join(dir, "home")
	if err := linkServers(home, o.servers); err != nil {
		return nil, err
	}
	sh := shell{dir: dir, env: append(os.Environ(), "RAMARIA_HOME="+home, "PATH="+filepath.Dir(o.ramaria)+":"+os.Getenv("PATH"))}
	defer func() { err = errors.Join(err, sh.clean(context.WithoutCancel(ctx))) }()
	if out, err := sh.run(ctx, "ramaria image build"); err != nil {
		return nil, fmt.Errorf("make the empty image: %w\n%s", err, out)
	}
	var s session
	for _, command := range commands {
		start := time.Now()
		out, err := sh.run(ctx, command)
		took := time.Since(start)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w\n%s", command, err, out)
		}
		s = append(s, step{command, shown(out), took})
	}
	return s, nil
}

// linkServers makes the servers that were fetched for another home known to this one.
func linkServers(home, servers string) error {
	if servers == "" {
		return nil
	}
	cache := filepath.Join(home, "cache")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return fmt.Errorf("link servers: %w", err)
	}
	if err := os.Symlink(servers, filepath.Join(cache, "servers")); err != nil {
		return fmt.Errorf("link servers: %w", err)
	}
	return nil
}

func writeFiles(dir string) error {
	f, err := os.Create(filepath.Join(dir, "shop.sql"))
	if err != nil {
		return fmt.Errorf("make dump: %w", err)
	}
	err = fixture.Shop{Rows: dumpRows}.WriteDump(f, fixture.Extended)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("make dump: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "test.sh"), []byte(testScript), 0o700); err != nil {
		return fmt.Errorf("make script: %w", err)
	}
	return nil
}

// A shell runs commands in a directory.
type shell struct {
	dir string
	env []string
}

func (s shell) run(ctx context.Context, command string) (string, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// clean removes what a session leaves: the image in RAM, and the volume with it.
func (s shell) clean(ctx context.Context) error {
	for _, command := range []string{"ramaria down --all --rm", "ramaria volume ls | awk 'NR > 1 { print $1 }' | xargs -r -n 1 ramaria volume rm"} {
		if out, err := s.run(ctx, command); err != nil {
			return fmt.Errorf("run %s: %w\n%s", command, err, out)
		}
	}
	return nil
}

// hideTimes returns a session without times, of a run on a machine that was busy with
// other work.
func (s session) hideTimes() session {
	hidden := make(session, len(s))
	for i, st := range s {
		hidden[i] = step{command: st.command}
		for _, line := range st.output {
			hidden[i].output = append(hidden[i].output, lasted.ReplaceAllString(line, "…"))
		}
	}
	return hidden
}

var (
	lasted = regexp.MustCompile(`\b[0-9.]+(ms|s)\b`)
	secret = regexp.MustCompile(`(mysql://\w+):\w+@`)
	place  = regexp.MustCompile(`(?m)^(volume \w+: in RAM), at .*$`)
)

// shown returns the lines of an output with passwords and long paths cut short.
func shown(output string) []string {
	output = secret.ReplaceAllString(output, "$1:…@")
	output = place.ReplaceAllString(output, "$1, …")
	return strings.Split(strings.TrimRight(strings.ReplaceAll(output, "\t", "  "), "\n"), "\n")
}
