package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/tests"
)

const (
	// mostFirst is how long a package may take in the first attempt, and mostAgain all of the second.
	// Where there is an end, the first leaves the second what leaveAgain says: many times what a few tests take.
	mostFirst  = 75 * time.Minute
	mostAgain  = 30 * time.Minute
	leaveAgain = 20 * time.Minute
	// leastAgain is how much time there must be to begin the second attempt of a package.
	leastAgain = time.Minute
)

// beside is how many packages each of the two go tests runs at once: tests wait for servers
// more than they compute.
const beside = 2

// runner runs go test.
type runner struct {
	race, root bool
	end        time.Time // zero for none
	below      string
	self, here string // this program, and the directory of the module
	usage      string

	first, again, leave, least time.Duration // as the constants say, but in tests
}

func newRunner(o options, usage string) (runner, error) {
	self, err := os.Executable()
	if err != nil {
		return runner{}, fmt.Errorf("find this program: %w", err)
	}
	here, err := os.Getwd()
	if err != nil {
		return runner{}, fmt.Errorf("find this directory: %w", err)
	}
	r := runner{race: o.race, root: o.root, below: o.below, self: self, here: here, usage: usage, first: mostFirst, again: mostAgain, leave: leaveAgain, least: leastAgain}
	if o.end != 0 {
		r.end = time.Unix(o.end, 0)
	}
	return r, nil
}

// attempts runs all, then calls between and runs once more what failed. An error is what no test, and no
// package, says.
func (r runner) attempts(t *summary, between func() error) error {
	err := r.all(t)
	units := t.again()
	if len(units) == 0 {
		return err
	}
	if err := between(); err != nil {
		return err
	}
	return r.units(t, units)
}

// all runs the packages with the race detector, and beside them those without.
func (r runner) all(t *summary) error {
	env, err := r.environment("1")
	if err != nil {
		return err
	}
	var end time.Time
	if !r.end.IsZero() {
		end = r.end.Add(-r.leave)
	}
	var lists [2][]string
	for _, p := range t.table {
		i := 0
		if r.race && p.Race {
			i = 1
		}
		lists[i] = append(lists[i], "./"+p.Path)
	}
	var errs [len(lists)]error
	var group sync.WaitGroup
	for i, list := range lists {
		if len(list) == 0 {
			continue
		}
		args := []string{"-p=" + strconv.Itoa(beside)}
		if i == 1 {
			args = append(args, "-race")
		}
		group.Go(func() { errs[i] = r.goTest(t, env, end, append(args, list...)) })
	}
	group.Wait()
	return errors.Join(errs[:]...)
}

// units runs units again, one after the other, and merges how they ended.
func (r runner) units(t *summary, units []unit) error {
	// testscript leaves its directory where not all of its scripts run.
	work := filepath.Join(cmp.Or(r.below, r.usage), "g")
	if err := r.makeDir(work); err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r.usage = work
	env, err := r.environment("2")
	if err != nil {
		return err
	}
	env = append(env, "GOTMPDIR="+work)
	end := time.Now().Add(r.again)
	if !r.end.IsZero() && r.end.Before(end) {
		end = r.end
	}
	for _, u := range units {
		what := strings.TrimPrefix(u.pkg, module)
		if len(u.run) > 0 {
			what += " " + strings.Join(u.run, " ")
		}
		if time.Until(end) < r.least {
			t.notes = append(t.notes, "there was no time to run again: "+what)
			continue
		}
		fmt.Fprintf(t.out, "== once more, alone: %s\n", what)
		again := newSummary(t.out, true, t.table)
		args := append([]string{"-p=1"}, u.args()...)
		if r.race && row(t.table, u.pkg).Race {
			args = append(args, "-race")
		}
		// What go test fails of, its events say; where they do not, nothing has passed.
		if err := r.goTest(again, env, end, append(args, "./"+strings.TrimPrefix(u.pkg, module))); err != nil && again.verdicts[u.pkg] == "" {
			t.notes = append(t.notes, fmt.Sprintf("could not run again: %s: %v", what, err))
		}
		t.merge(u, again)
	}
	return nil
}

// environment is that of tests, which have a directory of their own in each attempt.
func (r runner) environment(attempt string) ([]string, error) {
	env := append(os.Environ(), envRoot+"="+r.here, envUsage+"="+r.usage)
	if r.below == "" {
		return env, nil
	}
	dir := filepath.Join(r.below, attempt)
	if err := r.makeDir(dir); err != nil {
		return nil, err
	}
	return append(env, "TMPDIR="+dir), nil
}

// makeDir makes a directory for tests: those of root run servers and commands under other accounts,
// which need it too.
func (r runner) makeDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	if !r.root {
		return nil
	}
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil { // #nosec G302 -- as /tmp
		return fmt.Errorf("open directory: %w", err)
	}
	return nil
}

// goTest feeds the events of go test to t. All ends at the end, if there is one.
func (r runner) goTest(t *summary, env []string, end time.Time, args []string) error {
	longest, until := r.first.String(), "" // not that of a run which this one is a test of
	if !end.IsZero() {
		longest, until = timeout(end), strconv.FormatInt(end.UnixMilli(), 10)
	}
	env = append(env, envEnd+"="+until)
	args = append([]string{"test", "-json", "-count=1", "-timeout=" + longest, "-exec=" + strconv.Quote(r.self) + " " + executeArg}, args...)
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env, cmd.Stderr = r.here, env, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("run go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run go test: %w", err)
	}
	readErr := t.read(out)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("go test: %w", err)
	}
	return readErr
}

// timeout is the time until end as go test has it, which takes 0 for none.
func timeout(end time.Time) string { return max(time.Until(end), time.Second).String() }

func row(table []tests.Package, pkg string) tests.Package {
	for _, p := range table {
		if module+p.Path == pkg {
			return p
		}
	}
	return tests.Package{}
}
