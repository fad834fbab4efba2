package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// slowest is how many tests a profile names.
const slowest = 30

// used is what the tests of a package took: the time on the clock, and of processors, with that
// of the servers which they waited for, but without that of what was detached.
type used struct {
	path               string
	wall, user, system time.Duration
}

// write writes it to a file of its own below dir.
func (u used) write(dir string) error {
	text := fmt.Sprintln(u.path, u.wall.Milliseconds(), u.user.Milliseconds(), u.system.Milliseconds())
	name := filepath.Join(dir, strings.ReplaceAll(u.path, "/", "-"))
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write what was used: %w", err)
	}
	return nil
}

// readUsed reads what was written below dir, the longest first.
func readUsed(dir string) []used {
	names, _ := filepath.Glob(filepath.Join(dir, "*")) // the pattern is good
	var list []used
	for _, name := range names {
		b, err := os.ReadFile(name) // #nosec G304 -- of this program
		if err != nil {
			continue
		}
		var u used
		var wall, user, system int64
		if _, err := fmt.Sscan(string(b), &u.path, &wall, &user, &system); err != nil {
			continue
		}
		u.wall, u.user, u.system = time.Duration(wall)*time.Millisecond, time.Duration(user)*time.Millisecond, time.Duration(system)*time.Millisecond
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b used) int { return cmp.Compare(b.wall, a.wall) })
	return list
}

// profile says where the time went: all packages, and the slowest tests by what they took
// without their subtests.
func (t *summary) profile(usage string) string {
	var b strings.Builder
	var user, system time.Duration
	row := func(path, wall string, user, system time.Duration, tests int) {
		fmt.Fprintf(&b, "%9s %9.1f %9.1f %6d  %s\n", wall, user.Seconds(), system.Seconds(), tests, path)
	}
	total, ran := 0, t.ran()
	fmt.Fprintf(&b, "%9s %9s %9s %6s  %s\n", "seconds", "user", "system", "tests", "package")
	for _, u := range readUsed(usage) {
		n := ran[module+u.path]
		user, system, total = user+u.user, system+u.system, total+n
		row(u.path, fmt.Sprintf("%.1f", u.wall.Seconds()), u.user, u.system, n)
	}
	row("all", "", user, system, total)
	b.WriteString("\nslowest tests, without their subtests:\n")
	own := t.own()
	names := sortedNames(own)
	slices.SortStableFunc(names, func(a, b name) int { return cmp.Compare(own[b], own[a]) })
	for _, n := range names[:min(slowest, len(names))] {
		fmt.Fprintf(&b, "%8.1f  %s\n", own[n], n.short())
	}
	return b.String()
}

// own is what each test took without its subtests. go test does not count parallel subtests for
// the test that they are of, which then took nothing itself.
func (t *summary) own() map[name]float64 {
	own := map[name]float64{}
	for n, e := range t.ended {
		own[n] += e.seconds + t.seconds[n]
		if i := strings.LastIndexByte(n.test, '/'); i > 0 {
			own[name{n.pkg, n.test[:i]}] -= e.seconds
		}
	}
	for n := range own {
		own[n] = max(own[n], 0)
	}
	return own
}
