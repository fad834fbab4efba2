// Command tally runs `go test -json` with the arguments that it is given, shows
// what go test says, and counts. It fails where go test would not: when a suite
// vanished unseen (a package that has tests ran none, or a group of packages fewer
// than its floor) and, on CI, when a test was skipped that must not be.
//
//	tally [-v] [-floors FILE] [-must-not-skip FILE] [-report FILE] [-results FILE] -- GO-TEST-ARGUMENTS...
//
// The results are a line "ACTION PACKAGE TEST SECONDS" for each test that ended, for
// tests/matrix, and for whoever wonders what takes so long (sort -nrk4).
// The report lists the failed tests, with the end of what they printed, and the skipped
// ones, and ends with the line "N passed, N failed, N skipped"; it goes to stdout, or to
// the file, so that a caller that still has work to do can show it last. Subtests count
// as tests.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
)

// everything is the pattern for all packages; only with it can one be missed.
const everything = "./..."

type options struct {
	verbose     bool
	floors      string
	mustNotSkip string
	report      string
	results     string
}

func main() {
	var o options
	flag.BoolVar(&o.verbose, "v", false, "show every test, not only failed and skipped ones")
	flag.StringVar(&o.floors, "floors", "", "`file` of lines \"COUNT PACKAGE\", least numbers of tests; PACKAGE may end in /...")
	flag.StringVar(&o.mustNotSkip, "must-not-skip", "", "`file` of regular expressions for \"PACKAGE TEST\"")
	flag.StringVar(&o.report, "report", "", "write the report to this `file`")
	flag.StringVar(&o.results, "results", "", "write how each test ended to this `file`")
	flag.Parse()
	if err := run(o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(1)
	}
}

func run(o options, args []string) error {
	guards, err := readGuards(o.floors, o.mustNotSkip)
	if err != nil {
		return err
	}
	var packages []string
	if slices.Contains(args, everything) {
		if packages, err = packagesWithTests(); err != nil {
			return err
		}
	}
	t := newTally(os.Stdout, o.verbose)
	testErr := goTest(t, args)
	problems := append(t.vanished(packages), guards.problems(t)...)

	if o.results != "" {
		if err := os.WriteFile(o.results, []byte(t.results()), 0o644); err != nil { // #nosec G306 -- no secrets
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

// goTest feeds the events of go test to t.
func goTest(t *tally, args []string) error {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
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
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("write report: %w", err)
	}
	return f, nil
}
