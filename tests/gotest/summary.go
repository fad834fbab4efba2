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

// event is a line of `go test -json`; see `go doc test2json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64 // seconds

	Key, Value string // of an attribute
}

// secondsAttr is the attribute of a test that says what took it so long elsewhere.
const secondsAttr = "seconds"

// name is a test by package and name, as reports show it.
type name struct{ pkg, test string }

func (n name) String() string { return n.pkg + " " + n.test }

// ending is how a test ended, and after how many seconds.
type ending struct {
	action  string
	seconds float64
}

// summary counts tests by how they ended.
type summary struct {
	out     io.Writer
	verbose bool

	lock sync.Mutex // of what follows: two go tests are read at once

	passed, failed, skipped int

	ran     map[string]int    // tests that ended, by package
	output  map[name][]string // of tests that have not ended
	running map[string][]name // by package
	skips   map[name]string   // with the reason
	fails   map[name][]string // with the last lines that were printed
	ended   map[name]ending
	seconds map[name]float64    // that a test said itself
	broken  map[string]struct{} // packages with a failed test
}

func newSummary(out io.Writer, verbose bool) *summary {
	return &summary{
		out: out, verbose: verbose,
		ran: map[string]int{}, output: map[name][]string{}, running: map[string][]name{},
		skips: map[name]string{}, fails: map[name][]string{}, ended: map[name]ending{}, seconds: map[name]float64{}, broken: map[string]struct{}{},
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
		fmt.Fprint(t.out, e.Output)
	case e.Action == "output" && e.Test == "":
		fmt.Fprint(t.out, e.Output)
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
		t.end(n, ending{e.Action, e.Elapsed})
	}
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

func (t *summary) end(n name, e ending) {
	t.ran[n.pkg]++
	t.ended[n] = e
	t.running[n.pkg] = slices.DeleteFunc(t.running[n.pkg], func(m name) bool { return m == n })
	switch e.action {
	case "pass":
		t.passed++
	case "fail":
		t.failed++
		t.broken[n.pkg] = struct{}{}
		t.fails[n] = lastOf(t.output[n], failLines)
	case "skip":
		t.skipped++
		t.skips[n] = reason(t.output[n])
	}
	if e.action != "pass" && !t.verbose {
		fmt.Fprint(t.out, strings.Join(t.output[n], ""))
	}
	delete(t.output, n)
}

// endPackage counts what a package's end leaves open: tests that a panic or a
// time-out ended, and a failure that is no test's (it does not build, or its
// TestMain says so).
func (t *summary) endPackage(e event) {
	for _, n := range slices.Clone(t.running[e.Package]) {
		t.end(n, ending{action: "fail"})
	}
	if _, known := t.broken[e.Package]; e.Action == "fail" && !known {
		t.failed++
	}
}

// reason is the text of a skip without the frame that go test puts around it.
func reason(output []string) string {
	text := strings.Join(output, "")
	if i := strings.Index(text, "--- SKIP"); i >= 0 && strings.Contains(text[i:], "\n    ") {
		text = text[i:] // the message follows the verdict when not verbose
	}
	var kept []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "--- ") {
			kept = append(kept, line)
		}
	}
	if len(kept) == 0 { // of a test that ran elsewhere, with a verdict of its own in the text
		for line := range strings.Lines(strings.Join(output, "")) {
			if strings.Contains(line, "SKIPPED") {
				return strings.TrimSpace(line)
			}
		}
	}
	return strings.Join(kept, " ")
}

// failLines is how much of a failed test's output the report repeats, so that a
// reader of a long log, or of its end alone, finds the cause.
const failLines = 30

func lastOf(lines []string, most int) []string {
	return slices.Clone(lines[max(0, len(lines)-most):])
}

func (t *summary) writeReport(w io.Writer, problems []string) {
	if len(t.fails) > 0 {
		fmt.Fprintln(w, "failed tests:")
	}
	for _, n := range sortedNames(t.fails) {
		fmt.Fprintf(w, "  %s:\n", n)
		for _, line := range t.fails[n] {
			fmt.Fprintf(w, "    %s\n", strings.TrimRight(line, "\n"))
		}
	}
	if len(t.skips) > 0 {
		fmt.Fprintln(w, "skipped tests:")
	}
	for _, n := range sortedNames(t.skips) {
		fmt.Fprintf(w, "  %s: %s\n", n, t.skips[n])
	}
	for _, p := range problems {
		fmt.Fprintln(w, "problem:", p)
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", t.passed, t.failed+len(problems), t.skipped)
}

// results are the tests that ended, a line "ACTION PACKAGE TEST SECONDS" each.
func (t *summary) results(quick bool) string {
	var b strings.Builder
	if quick {
		fmt.Fprintln(&b, tests.QuickResults)
	}
	for _, n := range sortedNames(t.ended) {
		fmt.Fprintf(&b, "%s %s %.1f\n", t.ended[n].action, strings.TrimPrefix(n.String(), module), t.ended[n].seconds)
	}
	return b.String()
}

func sortedNames[V any](m map[name]V) []name {
	names := make([]name, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b name) int { return strings.Compare(a.String(), b.String()) })
	return names
}
