package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

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

// runSession runs the commands. An empty data directory of the server is made before the
// clock starts; the session loads the dump.
func runSession(ctx context.Context, o options, commands []string) (s session, err error) {
	err = inHome(ctx, o, func(sh shell) error {
		if err := os.WriteFile(filepath.Join(sh.dir, "test.sh"), []byte(testScript), 0o700); err != nil {
			return fmt.Errorf("make script: %w", err)
		}
		if _, err := sh.run(ctx, "ramaria image build"); err != nil {
			return err
		}
		for _, command := range commands {
			start := time.Now()
			out, err := sh.run(ctx, command)
			took := time.Since(start)
			if err != nil {
				return err
			}
			s = append(s, step{command, shown(out), took})
		}
		return nil
	})
	return s, err
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
