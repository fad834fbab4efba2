package suite

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

const (
	// EnvLeaks names the file in which the tests of a suite say what they find.
	EnvLeaks = "RAMARIA_LEAKS"

	besideLeaking = "leaking tests"
	besideLooked  = "tests that looked"
	// maxLook is the longest line that a test may say.
	maxLook = 1 << 20
)

// leaks counts the tests of a suite whose leftovers the next one finds. Tests say what they find in
// the first run alone, which warms up: it is in no figure, unless there was time for that run alone.
type leaks struct {
	path string
	// done says that the tests are not asked, or not any more.
	done            bool
	leaking, looked int
}

// during runs the command, and adds the counts to what it measured.
func (l *leaks) during(env []string, run func(env []string) (runner.Sample, error)) (runner.Sample, error) {
	env, err := l.environ(env)
	if err != nil {
		return runner.Sample{}, err
	}
	sample, err := run(env)
	if err != nil {
		return sample, err
	}
	return sample, l.tell(sample.Beside)
}

// environ adds the file to the environment of the first run.
func (l *leaks) environ(env []string) ([]string, error) {
	if l.done {
		return env, nil
	}
	if err := os.WriteFile(l.path, nil, 0o600); err != nil {
		return nil, fmt.Errorf("make the file that tests say in what they find: %w", err)
	}
	return append(env, EnvLeaks+"="+l.path), nil
}

// tell adds the counts to the measures of a round, if any test looked.
func (l *leaks) tell(beside map[string]float64) error {
	if !l.done {
		file, err := os.Open(l.path)
		if err != nil {
			return err
		}
		defer file.Close()
		if l.leaking, l.looked, err = countLeaks(file); err != nil {
			return err
		}
		l.done = true
	}
	if l.looked > 0 {
		beside[besideLeaking], beside[besideLooked] = float64(l.leaking), float64(l.looked)
	}
	return nil
}

// countLeaks reads a line for each test: its database, a tab, and what the test found there. Tests of
// one database follow each other: where two find different things, the first one leaks. The first
// test of a database is held against the first of all.
func countLeaks(r io.Reader) (leaking, looked int, err error) {
	before := map[string]string{}
	first := ""
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLook)
	for lines.Scan() {
		database, found, cut := strings.Cut(lines.Text(), "\t")
		if !cut {
			return 0, 0, fmt.Errorf("count leaking tests: a line of $%s has no tab\nhint: a line is the database, a tab, and what the test found there", EnvLeaks)
		}
		if looked == 0 {
			first = found
		}
		last, seen := before[database]
		if !seen {
			last = first
		}
		if found != last {
			leaking++
		}
		before[database] = found
		looked++
	}
	if err := lines.Err(); err != nil {
		return 0, 0, errors.Join(errors.New("count leaking tests"), err)
	}
	return leaking, looked, nil
}
