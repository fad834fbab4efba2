// Command gotest runs the tests of the table of package tests by `go test -json`, shows what go
// test says, and counts. What failed runs once more, alone (see again.go): what passes then has passed,
// and is told as flaky. It fails where go test would not: when a suite vanished unseen (a
// package that has tests ran none, fewer than the least number of its row, or has no row) and,
// on CI, when a test was skipped that must not be.
//
//	gotest [-race] [-v] [-root] [-ci] [-end SECONDS] [-below DIR [-snapshot FILE]]
//	       [-report FILE] [-output FILE] [-results FILE] [-profile FILE] [PACKAGE...]
//
// Without packages (internal/dump) it runs all.
// RAMARIA_TEST_QUICK=1 leaves out what the table leaves for later. Packages whose row says so run
// under the race detector where -race says that there is one; they run beside the others.
//
// The first attempt has DIR/1 for its TMPDIR, the second one DIR/2; between them tests/leftovers adds
// what the first left to the snapshot. Nothing runs later than -end, and the first attempt leaves the
// second some time before that.
//
// The results are a line "ACTION PACKAGE TEST SECONDS" for each test that ended, for
// tests/matrix, below one that tells a quick run. The profile says where the time of the first attempt
// went: packages with their processor time, and the slowest tests. The output is that of both attempts,
// as it is shown. The report lists the failed tests, with the end of what they printed, and
// the skipped ones, then failures in short and "flaky: NAME", and ends with the line "N passed, N failed,
// N skipped"; it goes to stdout, or to the file, so that a caller that still has work to do can show it
// last. Subtests count as tests.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/tests"
)

type options struct {
	quick, race, verbose, root, ci bool

	end             int64 // in seconds since 1970; 0 for none
	below, snapshot string

	report, output, results, profile string
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
	flag.Int64Var(&o.end, "end", 0, "run nothing after this moment, in `seconds` since 1970")
	flag.StringVar(&o.below, "below", "", "give the tests directories below this `directory` for their files")
	flag.StringVar(&o.snapshot, "snapshot", "", "add to this `file` of tests/leftovers what a first attempt left")
	flag.StringVar(&o.report, "report", "", "write the report to this `file`")
	flag.StringVar(&o.output, "output", "", "write what both attempts printed to this `file` too")
	flag.StringVar(&o.results, "results", "", "write how each test ended to this `file`")
	flag.StringVar(&o.profile, "profile", "", "write where the time went to this `file`")
	flag.Parse()
	if err := run(o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
}

func run(o options, only []string) (err error) {
	table, packages := slices.Clone(tests.Packages), []string(nil)
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
	r, err := newRunner(o, usage)
	if err != nil {
		return err
	}
	out, err := openOutput(o.output)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()

	t := newSummary(out, o.verbose, table)
	testErr := r.attempts(t, func() error { return excuse(t, o) })
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
	if testErr == nil && (len(problems) > 0 || len(t.fails) > 0) {
		return errors.New("the tests failed")
	}
	return testErr
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

// output is stdout, and a file.
type output struct {
	io.Writer
	file *os.File // nil for none
}

func openOutput(path string) (*output, error) {
	if path == "" {
		return &output{Writer: os.Stdout}, nil
	}
	f, err := os.Create(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("write output: %w", err)
	}
	return &output{io.MultiWriter(os.Stdout, f), f}, nil
}

// Close ends the file.
func (o *output) Close() error {
	if o.file == nil {
		return nil
	}
	if err := o.file.Close(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}
