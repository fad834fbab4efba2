// Command gotest runs the tests of the table of package tests by `go test -json`, shows what go
// test says, and counts. It fails where go test would not: when a suite vanished unseen (a
// package that has tests ran none, fewer than the least number of its row, or has no row) and,
// on CI, when a test was skipped that must not be.
//
//	gotest [-race] [-v] [-root] [-ci] [-report FILE] [-results FILE] [-profile FILE] [PACKAGE...]
//
// Without packages (internal/dump) it runs all.
// RAMARIA_TEST_QUICK=1 leaves out what the table leaves for later. Packages whose row says so run
// under the race detector where -race says that there is one; they run beside the others.
//
// The results are a line "ACTION PACKAGE TEST SECONDS" for each test that ended, for
// tests/matrix, below one that tells a quick run. The profile says where the time went: packages with their processor time, and
// the slowest tests. The report lists the failed tests, with the end of what they printed, and
// the skipped ones, and ends with the line "N passed, N failed, N skipped"; it goes to stdout,
// or to the file, so that a caller that still has work to do can show it last. Subtests count
// as tests.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/tests"
)

// timeout is that of a package.
const timeout = "75m"

// beside is how many packages each of the two go tests runs at once: tests wait for servers
// more than they compute.
const beside = 2

type options struct {
	quick, race, verbose, root, ci bool

	report, results, profile string
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == executeArg {
		os.Exit(execute(os.Args[2:]))
	}
	o := options{quick: servertest.Quick()}
	flag.BoolVar(&o.race, "race", false, "there is a race detector")
	flag.BoolVar(&o.verbose, "v", false, "show every test, not only failed and skipped ones")
	flag.BoolVar(&o.root, "root", false, "hold the numbers of tests against the table, which is about runs as root")
	flag.BoolVar(&o.ci, "ci", false, "fail if a test was skipped that the table says is needed")
	flag.StringVar(&o.report, "report", "", "write the report to this `file`")
	flag.StringVar(&o.results, "results", "", "write how each test ended to this `file`")
	flag.StringVar(&o.profile, "profile", "", "write where the time went to this `file`")
	flag.Parse()
	if err := run(o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
}

func run(o options, only []string) error {
	table, packages := slices.Clone(tests.Packages), []string(nil)
	var err error
	if len(only) > 0 {
		table = slices.DeleteFunc(table, func(p tests.Package) bool { return !slices.Contains(only, p.Path) })
	} else if packages, err = packagesWithTests("./..."); err != nil {
		return err
	}
	guards, err := newGuards(table, o)
	if err != nil {
		return err
	}
	usage, err := os.MkdirTemp("", "gotest-")
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	defer os.RemoveAll(usage)

	t := newSummary(os.Stdout, o.verbose)
	testErr := goTests(t, o, table, usage)
	problems := append(t.vanished(packages), guards.problems(t)...)

	for path, text := range map[string]string{o.results: t.results(o.quick), o.profile: t.profile(usage)} {
		if path == "" {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { // #nosec G306 -- no secrets
			return fmt.Errorf("write results: %w", err)
		}
	}
	report, err := openReport(o.report)
	if err != nil {
		return err
	}
	t.writeReport(report, problems)
	if err := report.Close(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if testErr == nil && (len(problems) > 0 || t.failed > 0) {
		return errors.New("the tests failed")
	}
	return testErr
}

// goTests runs the packages with the race detector, and beside them those without.
func goTests(t *summary, o options, table []tests.Package, usage string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	here, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find this directory: %w", err)
	}
	var lists [2][]string
	for _, p := range table {
		i := 0
		if o.race && p.Race {
			i = 1
		}
		lists[i] = append(lists[i], "./"+p.Path)
	}
	env := append(os.Environ(), envRoot+"="+here, envUsage+"="+usage)
	var errs [len(lists)]error
	var group sync.WaitGroup
	for i, list := range lists {
		if len(list) == 0 {
			continue
		}
		args := []string{"test", "-json", "-count=1", "-timeout=" + timeout, "-p=" + strconv.Itoa(beside), "-exec=" + strconv.Quote(self) + " " + executeArg}
		if i == 1 {
			args = append(args, "-race")
		}
		group.Go(func() { errs[i] = goTest(t, env, append(args, list...)) })
	}
	group.Wait()
	return errors.Join(errs[:]...)
}

// goTest feeds the events of go test to t.
func goTest(t *summary, env, args []string) error {
	cmd := exec.Command("go", args...)
	cmd.Env, cmd.Stderr = env, os.Stderr
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

func openReport(path string) (io.WriteCloser, error) {
	if path == "" {
		return os.Stdout, nil
	}
	f, err := os.Create(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("write report: %w", err)
	}
	return f, nil
}
