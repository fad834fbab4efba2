// Command matrix prints the grid of the last `make test`: suites, which tests/registry.go
// lists, as rows, and servers as columns. A test that did not run counts as failed, and
// one that was skipped, or in part, or with all of its server's, as skipped.
//
//	go run ./tests/matrix
//
// It exits with 1 if a test failed or did not run.
package main

import (
	"flag"
	"fmt"
	"os"
	"path"
	"strings"
	"text/tabwriter"

	"github.com/ramaria-db/ramaria/tests"
)

// testsPackage is the package of all suites, as tests/gotest's results have it.
const testsPackage = "tests"

func main() {
	results := flag.String("results", "bin/test-results.txt", "the `file` that tests/gotest wrote")
	flag.Parse()
	b, err := os.ReadFile(*results)
	if err != nil {
		fmt.Fprintf(os.Stderr, "matrix: read results: %v\nhint: make test\n", err)
		os.Exit(1)
	}
	text, ok := grid(parse(string(b)))
	fmt.Print(text)
	if !ok {
		os.Exit(1)
	}
}

// parse returns how the tests of the package ended: pass, fail or skip by name; and whether it
// was a quick run.
func parse(results string) (ended map[string]string, quick bool) {
	ended = map[string]string{}
	first, _, _ := strings.Cut(results, "\n")
	for line := range strings.Lines(results) {
		if f := strings.Fields(line); len(f) == 4 && f[1] == testsPackage {
			ended[f[2]] = f[0]
		}
	}
	return ended, first == tests.QuickResults
}

// cell counts the tests of one suite on one server.
type cell struct{ passed, failed, skipped int }

func (c cell) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{{c.passed, "passed"}, {c.failed, "failed"}, {c.skipped, "skipped"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	return strings.Join(parts, ", ")
}

// outcome is how a test ended, "" if it did not run. One in a test that was skipped was skipped
// with it.
func outcome(ended map[string]string, test string) string {
	action := ended[test]
	for action == "" && strings.Contains(test, "/") {
		if test = path.Dir(test); ended[test] == "skip" {
			action = "skip"
		}
	}
	return action
}

// count looks the tests up.
func count(ended map[string]string, paths []string) (c cell) {
	for _, test := range paths {
		action := outcome(ended, test)
		for name, a := range ended {
			if action == "pass" && a == "skip" && strings.HasPrefix(name, test+"/") {
				action = "skip"
			}
		}
		switch action {
		case "pass":
			c.passed++
		case "skip":
			c.skipped++
		default:
			c.failed++
		}
	}
	return c
}

// grid renders all of them; ok says that none failed.
func grid(ended map[string]string, quick bool) (text string, ok bool) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	ok = true
	fmt.Fprintln(w, "suite\t"+strings.Join(tests.Servers, "\t"))
	for _, s := range tests.Suites {
		fmt.Fprint(w, s.Name)
		for _, server := range tests.Servers {
			paths := s.Paths(server, quick)
			if len(paths) == 0 {
				fmt.Fprint(w, "\tin test-all")
				continue
			}
			c := count(ended, paths)
			ok = ok && c.failed == 0
			fmt.Fprint(w, "\t", c)
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // to memory
	return b.String(), ok
}
