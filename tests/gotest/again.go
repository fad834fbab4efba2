package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/tests"
)

// unit is what runs again of a package: the tests run, with all their subtests; or, where the program of
// the package did not come to its end, or no test says why it failed, all tests but skip.
type unit struct {
	pkg       string // import path
	run, skip []string
}

// again decides what runs again after a first attempt: what failed, and what did not run.
func (t *summary) again() (units []unit) {
	for _, p := range t.table {
		pkg := module + p.Path
		switch {
		case t.verdicts[pkg] != "fail":
		case t.whole[pkg] && t.failedWithin(pkg):
			units = append(units, unit{pkg: pkg, run: t.failedOf(p)})
		case t.whole[pkg]: // TestMain says that it failed, of whatever test
			units = append(units, unit{pkg: pkg})
		default:
			units = append(units, unit{pkg: pkg, skip: t.doneOf(p)})
		}
	}
	return units
}

// failedOf are the smallest tests that stand alone and hold all failures of a package.
func (t *summary) failedOf(p tests.Package) []string {
	var list []string
	for _, n := range sortedNames(t.fails) {
		if n.pkg == module+p.Path && t.isOwn(n) {
			list = append(list, standsAlone(p, n.test))
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return slices.DeleteFunc(slices.Clone(list), func(test string) bool {
		return slices.ContainsFunc(list, func(other string) bool { return partOf(test, other) })
	})
}

// doneOf are the tests of a package that ended well, and whose subtests, or other subtests beside
// them, do not need them.
func (t *summary) doneOf(p tests.Package) []string {
	var list []string
	for _, n := range sortedNames(t.ended) {
		if n.pkg == module+p.Path && t.ended[n].action != "fail" && standsAlone(p, n.test) == n.test {
			list = append(list, n.test)
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(test string) bool {
		return slices.ContainsFunc(list, func(other string) bool { return partOf(test, other) })
	})
}

// hasFailedPart reports whether a subtest of a test failed.
func (t *summary) hasFailedPart(n name) bool {
	for m := range t.fails {
		if n.pkg == m.pkg && n.test != "" && partOf(m.test, n.test) {
			return true
		}
	}
	return false
}

// isOwn reports whether a failure may be a test's own, and not that of its subtests alone.
func (t *summary) isOwn(n name) bool {
	if !t.hasFailedPart(n) {
		return true
	}
	return t.fails[n].said && !isApart(row(t.table, n.pkg), n.test)
}

// standsAlone is the smallest test that holds a subtest and can be run without the others: subtests may
// depend on each other, but for those of a test that the table names, and on different servers.
func standsAlone(p tests.Package, test string) string {
	parts := strings.Split(test, "/")
	for i := 1; i < len(parts); i++ {
		if above := strings.Join(parts[:i], "/"); !isApart(p, above) && !slices.Contains(tests.Servers, parts[i]) {
			return above
		}
	}
	return test
}

// isApart reports whether the table says that the subtests of a test stand alone.
func isApart(p tests.Package, test string) bool {
	return slices.ContainsFunc(p.Apart, func(text string) bool {
		return regexp.MustCompile("^(?:" + text + ")$").MatchString(test) // newGuards has tried it
	})
}

// partOf reports whether a test is a subtest of another, at any depth.
func partOf(test, of string) bool { return strings.HasPrefix(test, of+"/") }

// args are those of go test, besides the package.
func (u unit) args() (args []string) {
	if len(u.run) > 0 {
		args = append(args, "-run="+pattern(u.run), "-parallel=1") // alone
	}
	if len(u.skip) > 0 {
		args = append(args, "-skip="+pattern(u.skip))
	}
	return args
}

// pattern fits exactly these tests, in the form of go test -run.
func pattern(names []string) string {
	var list []string
	for _, n := range names {
		parts := strings.Split(n, "/")
		for i := range parts {
			parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
		}
		list = append(list, strings.Join(parts, "/"))
	}
	return strings.Join(list, "|")
}

// wholly reports whether a test ran again with all its subtests.
func (u unit) wholly(test string) bool {
	if len(u.run) == 0 {
		return !slices.ContainsFunc(u.skip, func(s string) bool { return partOf(s, test) })
	}
	return slices.ContainsFunc(u.run, func(r string) bool { return test == r || partOf(test, r) })
}

// mended reports whether a test passed when the unit ran again. A subtest that was not there then, since
// a seed or the time named it, goes with the test that it is of, if that ran wholly.
func (u unit) mended(again *summary, test string) bool {
	if e, ran := again.ended[name{u.pkg, test}]; ran {
		return e.action == "pass"
	}
	i := strings.LastIndexByte(test, '/')
	return i > 0 && u.wholly(test[:i]) && u.mended(again, test[:i])
}

// merge takes in how a unit ended when it ran again. What failed and passed then has passed, and is flaky;
// what failed then has failed, whatever it did before; what was skipped then has not passed.
func (t *summary) merge(u unit, again *summary) {
	failed := slices.DeleteFunc(sortedNames(t.fails), func(n name) bool { return n.pkg != u.pkg || n.test == "" })
	named := map[name]failure{}
	for _, n := range failed {
		if f := t.fails[n]; !f.victim && t.isOwn(n) {
			named[n] = f
		}
	}
	for _, n := range slices.Backward(failed) { // subtests come before the test that they are of
		if !u.mended(again, n.test) || t.hasFailedPart(n) {
			continue
		}
		if f, ok := named[n]; ok {
			t.flaky[n] = f
		}
		delete(t.fails, n)
		t.ended[n] = ending{"pass", again.ended[n].seconds}
	}
	for n, e := range again.ended {
		if before, ok := t.ended[n]; ok && e.action != "fail" {
			if before.action == "fail" && e.action == "skip" {
				t.notes = append(t.notes, "failed, and was skipped when it ran again: "+n.short())
			}
			continue
		}
		t.ended[n] = e
		if s, ok := again.seconds[n]; ok {
			t.seconds[n] = s
		}
		if reason, ok := again.skips[n]; ok {
			t.skips[n] = reason
		}
	}
	for n, f := range again.fails {
		t.fails[n] = f
		delete(t.skips, n)
		delete(t.flaky, n)
	}
	pkg := name{u.pkg, ""}
	if f, ok := t.fails[pkg]; ok && again.verdicts[u.pkg] == "pass" {
		t.flaky[pkg] = f
		delete(t.fails, pkg)
	}
}
