package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ramaria-db/ramaria/tests"
)

// event is a line of `go test -json`; see `go doc test2json`, and `go help buildjson`.
type event struct {
	Action     string
	ImportPath string // of what is built
	Package    string
	Test       string
	Output     string
	Elapsed    float64 // seconds

	Key, Value string // of an attribute
}

// secondsAttr is the attribute of a test that says what took it so long elsewhere.
const secondsAttr = "seconds"

// name is a test by package and name, as reports show it; a package, where there is no test.
type name struct{ pkg, test string }

func (n name) String() string { return strings.TrimSpace(n.pkg + " " + n.test) }

// short leaves out the module.
func (n name) short() string { return strings.TrimPrefix(n.String(), module) }

// ending is how a test ended, and after how many seconds.
type ending struct {
	action  string
	seconds float64
}

// failure is how a test failed, or a package where no test says so.
type failure struct {
	tail  []string // the last lines that it printed
	first []string // those that say what was wrong
	// said tells that it printed something itself: the failure need not be that of a subtest.
	said bool
	// victim is a test that had not ended when the program of its package did.
	victim bool
}

// summary knows how tests ended.
type summary struct {
	out     io.Writer
	verbose bool
	table   []tests.Package

	lock sync.Mutex // of what follows: two go tests are read at once

	output   map[name][]string // of tests that have not ended, and of packages
	running  map[string][]name // by package
	skips    map[name]string   // with the reason
	fails    map[name]failure  // tests, and packages
	ended    map[name]ending   // tests
	seconds  map[name]float64  // that a test said itself
	whole    map[string]bool   // packages whose program came to its end
	verdicts map[string]string // of packages: pass or fail

	flaky map[name]failure // what failed, and passed when it ran again
	notes []string         // on what did not run again
}

func newSummary(out io.Writer, verbose bool, table []tests.Package) *summary {
	return &summary{
		out: out, verbose: verbose, table: table,
		output: map[name][]string{}, running: map[string][]name{}, skips: map[name]string{}, fails: map[name]failure{}, ended: map[name]ending{},
		seconds: map[name]float64{}, whole: map[string]bool{}, verdicts: map[string]string{}, flaky: map[name]failure{},
	}
}

// read takes in all events. A line that is none is shown as it is.
func (t *summary) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				e = event{Action: "build-output", Output: string(line)}
			}
			t.take(e)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read events of go test: %w", err)
		}
	}
}

func (t *summary) take(e event) {
	t.lock.Lock()
	defer t.lock.Unlock()
	n := name{e.Package, e.Test}
	switch {
	case e.Action == "build-output":
		pkg, _, _ := strings.Cut(e.ImportPath, " ") // "x [x.test]"
		t.takeOfPackage(strings.TrimSuffix(pkg, "_test"), e.Output)
	case e.Action == "output" && e.Test == "":
		t.takeOfPackage(e.Package, e.Output)
	case e.Action == "output":
		t.takeOutput(n, e.Output)
	case e.Test == "":
		if e.Action == "fail" || e.Action == "pass" { // skip: it has no tests
			t.endPackage(e)
		}
	case e.Action == "run":
		t.running[e.Package] = append(t.running[e.Package], n)
	case e.Action == "attr" && e.Key == secondsAttr:
		t.seconds[n], _ = strconv.ParseFloat(e.Value, 64)
	case e.Action == "pass" || e.Action == "fail" || e.Action == "skip":
		t.end(n, ending{e.Action, e.Elapsed}, false)
	}
}

// takeOfPackage: the program of a package that comes to its end says so in one word.
func (t *summary) takeOfPackage(pkg, text string) {
	fmt.Fprint(t.out, text)
	if text == "PASS\n" || text == "FAIL\n" {
		t.whole[pkg] = true
	}
	t.output[name{pkg, ""}] = append(t.output[name{pkg, ""}], text)
}

func (t *summary) takeOutput(n name, text string) {
	for _, frame := range []string{"=== RUN", "=== PAUSE", "=== CONT", "=== NAME", "=== ATTR"} {
		if strings.HasPrefix(text, frame) {
			return
		}
	}
	if t.verbose {
		fmt.Fprint(t.out, text)
	}
	t.output[n] = append(t.output[n], text)
}

func (t *summary) end(n name, e ending, victim bool) {
	t.ended[n] = e
	t.running[n.pkg] = slices.DeleteFunc(t.running[n.pkg], func(m name) bool { return m == n })
	switch e.action {
	case "fail":
		t.fails[n] = newFailure(t.output[n], victim)
	case "skip":
		t.skips[n] = reason(t.output[n])
	}
	if e.action != "pass" && !t.verbose {
		fmt.Fprint(t.out, strings.Join(t.output[n], ""))
	}
	delete(t.output, n)
}

// endPackage fails what a package's end leaves open: tests that a panic or a time-out ended, and
// a failure that is no test's (it does not build, its program did not come to its end, or its
// TestMain says so).
func (t *summary) endPackage(e event) {
	t.verdicts[e.Package] = e.Action
	n := name{e.Package, ""}
	said := t.output[n]
	delete(t.output, n)
	if e.Action != "fail" {
		return
	}
	open := slices.Clone(t.running[e.Package])
	for _, test := range open {
		said = append(said, t.output[test]...)
		t.end(test, ending{action: "fail"}, true)
	}
	if len(open) > 0 || !t.failedWithin(e.Package) {
		t.fails[n] = newFailure(said, false)
	}
}

// failedWithin reports whether a test of a package failed.
func (t *summary) failedWithin(pkg string) bool {
	for n := range t.fails {
		if n.pkg == pkg && n.test != "" {
			return true
		}
	}
	return false
}

// ran are the tests that ended, by package.
func (t *summary) ran() map[string]int {
	ran := map[string]int{}
	for n := range t.ended {
		ran[n.pkg]++
	}
	return ran
}

// counts are the tests by how they ended. A package that failed counts where no test of it did.
func (t *summary) counts() (passed, failed, skipped int) {
	for _, e := range t.ended {
		switch e.action {
		case "pass":
			passed++
		case "fail":
			failed++
		case "skip":
			skipped++
		}
	}
	for n := range t.fails {
		if n.test == "" && !t.failedWithin(n.pkg) {
			failed++
		}
	}
	return passed, failed, skipped
}
