package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/tests"
)

// module is the prefix that the table leaves out.
const module = "github.com/ramaria-db/ramaria/"

// guards are what must be true of a run besides that no test failed.
type guards struct {
	rows   map[string]int // the least number of tests by package, 0 if nothing is asked
	needed []needed
	root   bool // an ordinary user may skip what is needed, if it is said
}

// needed are tests that must not be skipped.
type needed struct {
	pkg     string
	pattern *regexp.Regexp
	later   bool // they are left for later
}

func (n needed) String() string { return n.pkg + " " + n.pattern.String() }

// newGuards are those of a table for a run.
func newGuards(table []tests.Package, o options) (guards, error) {
	g := guards{rows: map[string]int{}, root: o.root}
	for _, p := range table {
		if _, twice := g.rows[p.Path]; twice || p.Path == "" || p.Least < 1 {
			return guards{}, fmt.Errorf("the row of package %q in the table: one each, with a least number of tests", p.Path)
		}
		g.rows[p.Path] = 0
		if o.root {
			g.rows[p.Path] = p.Least
		}
		for _, text := range slices.Concat(p.Later, p.Apart) {
			if _, err := regexp.Compile(text); err != nil {
				return guards{}, fmt.Errorf("the row of package %q in the table: %w", p.Path, err)
			}
		}
		for _, text := range p.Needed {
			re, err := regexp.Compile("^(?:" + text + ")$")
			if err != nil {
				return guards{}, fmt.Errorf("the row of package %q in the table: %w", p.Path, err)
			}
			if o.ci {
				g.needed = append(g.needed, needed{p.Path, re, o.quick && slices.ContainsFunc(p.Later, re.MatchString)})
			}
		}
	}
	return g, nil
}

// problems names the guards that the run breaks. A pattern that no test answers to
// breaks too: a test that was renamed would no longer be guarded.
func (g guards) problems(t *summary) []string {
	var list []string
	ran := t.ran()
	for pkg, least := range g.rows {
		if count := ran[module+pkg]; count < least {
			list = append(list, fmt.Sprintf("%s ran %d tests, at least %d are expected", pkg, count, least))
		}
	}
	slices.Sort(list)
	for _, need := range g.needed {
		found := need.later
		for _, n := range sortedNames(t.ended) {
			if n.pkg != module+need.pkg || !need.pattern.MatchString(n.test) {
				continue
			}
			found = true
			switch reason, skipped := t.skips[n]; {
			case skipped && g.root:
				list = append(list, fmt.Sprintf("%s must not be skipped: %s", n, reason))
			case skipped && !loud(reason):
				list = append(list, fmt.Sprintf("%s is skipped, and its reason neither begins with SKIPPED nor names root: %s", n, reason))
			}
		}
		if !found {
			list = append(list, fmt.Sprintf("no test answers to %s, which must not be skipped", need))
		}
	}
	return list
}

// loud reports whether the reason of a skip says that something was not tested, or that it takes root.
func loud(reason string) bool {
	return strings.Contains(reason, "SKIPPED") || strings.Contains(reason, "root")
}

// vanished names the packages that have tests and ran none.
func (t *summary) vanished(packages []string) []string {
	var list []string
	ran := t.ran()
	for _, pkg := range packages {
		if ran[pkg] == 0 {
			list = append(list, pkg+" has test files but ran no test: has it a row in tests/registry.go?")
		}
	}
	return list
}

// packagesWithTests lists the packages that have test files.
func packagesWithTests(pattern string) ([]string, error) {
	out, err := exec.Command("go", "list", "-e", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", pattern).Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	return strings.Fields(string(out)), nil
}
