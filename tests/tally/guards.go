package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// module is the prefix that guard files leave out.
const module = "github.com/ramaria-db/ramaria/"

// guards are what must be true of a run besides that no test failed.
type guards struct {
	floors []floor
	never  []*regexp.Regexp // must not be skipped
}

// floor is the least number of tests, skipped ones included, of a package, or of
// all packages below one ("internal/...").
type floor struct {
	least   int
	pattern string
}

func (f floor) matches(pkg string) bool {
	pkg = strings.TrimPrefix(pkg, module)
	if dir, ok := strings.CutSuffix(f.pattern, "..."); ok {
		return strings.HasPrefix(pkg+"/", dir)
	}
	return pkg == f.pattern
}

// readGuards reads the two files; an empty name means no guard of that kind.
func readGuards(floors, mustNotSkip string) (guards, error) {
	var g guards
	err := eachLine(floors, func(line string) error {
		count, pattern, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 || pattern == "" {
			return errors.New("want COUNT PACKAGE")
		}
		g.floors = append(g.floors, floor{n, strings.TrimSpace(pattern)})
		return nil
	})
	if err != nil {
		return guards{}, err
	}
	err = eachLine(mustNotSkip, func(line string) error {
		re, err := regexp.Compile("^(?:" + line + ")$")
		if err == nil {
			g.never = append(g.never, re)
		}
		return err
	})
	return g, err
}

// eachLine calls f for the lines of a file that are neither empty nor comments.
func eachLine(path string, f func(string) error) error {
	if path == "" {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read guards: %w", err)
	}
	number := 0
	for line := range strings.Lines(string(b)) {
		number++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if err := f(line); err != nil {
			return fmt.Errorf("parse %s line %d %q: %w", path, number, line, err)
		}
	}
	return nil
}

// problems names the guards that the run breaks. A pattern that no test answers to
// breaks too: a test that was renamed would no longer be guarded.
func (g guards) problems(t *tally) []string {
	var list []string
	for _, f := range g.floors {
		count := 0
		for pkg, n := range t.ran {
			if f.matches(pkg) {
				count += n
			}
		}
		if count < f.least {
			list = append(list, fmt.Sprintf("%s ran %d tests, at least %d are expected", f.pattern, count, f.least))
		}
	}
	for _, re := range g.never {
		found := false
		for _, n := range sortedNames(t.ended) {
			if !re.MatchString(strings.TrimPrefix(n.String(), module)) {
				continue
			}
			found = true
			if reason, skipped := t.skips[n]; skipped {
				list = append(list, fmt.Sprintf("%s must not be skipped: %s", n, reason))
			}
		}
		if !found {
			list = append(list, fmt.Sprintf("no test answers to %s, which must not be skipped", re))
		}
	}
	return list
}

// vanished names the packages that have tests and ran none.
func (t *tally) vanished(packages []string) []string {
	var list []string
	for _, pkg := range packages {
		if t.ran[pkg] == 0 {
			list = append(list, pkg+" has test files but ran no test")
		}
	}
	return list
}

// packagesWithTests lists the packages of the module that have test files.
func packagesWithTests() ([]string, error) {
	out, err := exec.Command("go", "list", "-e", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", everything).Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	return strings.Fields(string(out)), nil
}
