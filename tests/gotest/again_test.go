package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/tests"
)

// TestAgain: what runs again is the smallest that stands alone, or all that did not end well.
func TestAgain(t *testing.T) {
	table := []tests.Package{{Path: "a", Apart: []string{"TestScripts", "TestMatrix(/[^/]+)?"}}, {Path: "b"}}
	for _, tc := range []struct {
		name   string
		events []string
		want   []unit
	}{
		{"nothing", []string{"run a T", "pass a T", "output a  PASS\n", "pass a"}, nil},
		{"a test", []string{"pass a T", "fail a U", "output a  FAIL\n", "fail a"}, []unit{{pkg: "a", run: []string{"U"}}}},
		{
			"a subtest, with all of its test",
			[]string{"fail a T/x/y", "fail a T/x", "pass a T/z", "fail a T", "output a  FAIL\n", "fail a"},
			[]unit{{pkg: "a", run: []string{"T"}}},
		},
		{
			"subtests that stand alone",
			[]string{"fail a TestScripts/x", "fail a TestScripts/y.z", "pass a TestScripts/v", "fail a TestScripts", "output a  FAIL\n", "fail a"},
			[]unit{{pkg: "a", run: []string{"TestScripts/x", "TestScripts/y.z"}}},
		},
		{
			"two levels of them, and what the test logs of a part",
			[]string{"fail a TestMatrix/s/x", "output a TestMatrix/s took long\n", "fail a TestMatrix/s", "fail a TestMatrix", "output a  FAIL\n", "fail a"},
			[]unit{{pkg: "a", run: []string{"TestMatrix/s/x"}}},
		},
		{
			"servers",
			[]string{"fail b T/mysql:9.7/x", "fail b T/mysql:9.7", "fail b T", "output b  FAIL\n", "fail b"},
			[]unit{{pkg: "b", run: []string{"T/mysql:9.7"}}},
		},
		{
			"servers, and the test compares them",
			[]string{"fail b T/mysql:9.7", "output b T differs\n", "fail b T", "output b  FAIL\n", "fail b"},
			[]unit{{pkg: "b", run: []string{"T"}}},
		},
		{
			"the program ended early",
			[]string{"pass a T", "skip a S", "fail a F", "run a TestScripts", "run a TestScripts/x", "pass a TestScripts/y", "run a U", "pass a U/x", "fail a"},
			[]unit{{pkg: "a", skip: []string{"S", "T", "TestScripts/y"}}},
		},
		{"it does not build", []string{"fail b"}, []unit{{pkg: "b"}}},
		{"TestMain fails", []string{"pass b T", "output b  PASS\n", "fail b"}, []unit{{pkg: "b"}}},
		{"two packages", []string{"fail b T", "output b  FAIL\n", "fail b", "fail a T", "output a  FAIL\n", "fail a"}, []unit{{pkg: "a", run: []string{"T"}}, {pkg: "b", run: []string{"T"}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tl := count(t, tc.events...)
			tl.table = table
			for i := range tc.want {
				tc.want[i].pkg = module + tc.want[i].pkg
			}
			if diff := cmp.Diff(tc.want, tl.again(), cmp.AllowUnexported(unit{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPattern(t *testing.T) {
	if diff := cmp.Diff(`^T$/^a\.b\|c$|^U$`, pattern([]string{"T/a.b|c", "U"})); diff != "" {
		t.Error(diff)
	}
}

// TestMerge: what passes when it runs again has passed, and nothing else has.
func TestMerge(t *testing.T) {
	table := []tests.Package{{Path: "a", Apart: []string{"TestScripts"}}}
	first := []string{"fail a T/x", "pass a T/y", "fail a T", "pass a U", "output a  FAIL\n", "fail a"}
	scripts := []string{"fail a TestScripts/x", "fail a TestScripts/y", "pass a TestScripts/z", "fail a TestScripts", "output a  FAIL\n", "fail a"}
	for _, tc := range []struct {
		name         string
		first, again []string
		want         [3]int // passed, failed, skipped
		flaky        []string
	}{
		{"passes", first, []string{"pass a T/x", "pass a T/y", "pass a T", "pass a"}, [3]int{4, 0, 0}, []string{"a T/x"}},
		{"fails", first, []string{"fail a T/x", "pass a T/y", "fail a T", "fail a"}, [3]int{2, 2, 0}, nil},
		{"another part fails", first, []string{"pass a T/x", "fail a T/y", "fail a T", "fail a"}, [3]int{2, 2, 0}, []string{"a T/x"}},
		{"is skipped", first, []string{"skip a T/x", "pass a T/y", "pass a T", "pass a"}, [3]int{2, 2, 0}, nil},
		{"its name is another then", first, []string{"pass a T/w", "pass a T", "pass a"}, [3]int{5, 0, 0}, []string{"a T/x"}},
		{"did not run", first, []string{"fail a"}, [3]int{2, 2, 0}, nil},
		{"nothing was there", first, []string{"pass a"}, [3]int{2, 2, 0}, nil},
		{"nothing said", first, nil, [3]int{2, 2, 0}, nil},
		{"passes, but the package fails", first, []string{"pass a T/x", "pass a T/y", "pass a T", "output a  PASS\n", "fail a"}, [3]int{4, 1, 0}, []string{"a T/x"}},
		{"both scripts", scripts, []string{"pass a TestScripts/x", "pass a TestScripts/y", "pass a TestScripts", "pass a"}, [3]int{4, 0, 0}, []string{"a TestScripts/x", "a TestScripts/y"}},
		{"one of two scripts", scripts, []string{"pass a TestScripts/x", "fail a TestScripts/y", "fail a TestScripts", "fail a"}, [3]int{2, 2, 0}, []string{"a TestScripts/x"}},
		{"one of two scripts, and the other did not run", scripts, []string{"pass a TestScripts/x", "pass a TestScripts", "pass a"}, [3]int{2, 2, 0}, []string{"a TestScripts/x"}},
		{
			"the rest of a program that ended early",
			[]string{"pass a T", "run a U", "run a V", "fail a U", "fail a"},
			[]string{"pass a U", "pass a V", "skip a W", "pass a X", "pass a"}, [3]int{4, 0, 1}, []string{"a", "a U"},
		},
		{
			"it ends early again",
			[]string{"pass a T", "run a U", "fail a"},
			[]string{"run a U", "fail a"}, [3]int{1, 1, 0}, nil,
		},
		{"it builds then", []string{"fail a"}, []string{"pass a T", "pass a"}, [3]int{1, 0, 0}, []string{"a"}},
		{"TestMain fails again", []string{"pass a T", "output a  PASS\n", "fail a"}, []string{"pass a T", "output a  PASS\n", "fail a"}, [3]int{1, 1, 0}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tl := count(t, tc.first...)
			tl.table = table
			units := tl.again()
			if len(units) != 1 {
				t.Fatalf("units: %+v", units)
			}
			tl.merge(units[0], count(t, tc.again...))
			var got [3]int
			if got[0], got[1], got[2] = tl.counts(); got != tc.want {
				t.Errorf("passed, failed, skipped: %v, want %v", got, tc.want)
			}
			if failed := len(tl.fails) > 0; failed != (tc.want[1] > 0) {
				t.Errorf("failures %v, but %d failed", tl.fails, tc.want[1])
			}
			var flaky []string
			for _, n := range sortedNames(tl.flaky) {
				flaky = append(flaky, n.short())
			}
			if diff := cmp.Diff(tc.flaky, flaky); diff != "" {
				t.Error(diff)
			}
		})
	}
}
