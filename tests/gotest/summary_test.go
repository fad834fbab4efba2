package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/tests"
)

// events writes what `go test -json` writes; a line is "ACTION PACKAGE [TEST] [OUTPUT]".
func events(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		f := append(strings.SplitN(l, " ", 4), "", "", "")
		fmt.Fprintf(&b, "{\"Action\":%q,\"Package\":%q,\"Test\":%q,\"Output\":%q}\n", f[0], module+f[1], f[2], f[3])
	}
	return b.String()
}

func count(t *testing.T, lines ...string) *summary {
	t.Helper()
	tl := newSummary(&bytes.Buffer{}, false, nil)
	if err := tl.read(strings.NewReader(events(lines...))); err != nil {
		t.Fatal(err)
	}
	return tl
}

func TestCounts(t *testing.T) {
	for _, tc := range []struct {
		name   string
		events []string
		want   [3]int
	}{
		{"one of each", []string{"run a T1", "pass a T1", "run a T2", "fail a T2", "run a T3", "skip a T3", "fail a"}, [3]int{1, 1, 1}},
		{"subtests count", []string{"run a T", "run a T/x", "pass a T/x", "pass a T", "pass a"}, [3]int{2, 0, 0}},
		{"a package that does not build", []string{"fail a"}, [3]int{0, 1, 0}},
		{"a panic ends what was running", []string{"run a T", "run a T/x", "fail a T/x", "fail a"}, [3]int{0, 2, 0}},
		{"a failing TestMain", []string{"run a T", "pass a T", "fail a"}, [3]int{1, 1, 0}},
		{"a package without tests", []string{"skip a"}, [3]int{0, 0, 0}},
		{"two packages", []string{"run a T", "run b T", "pass b T", "pass b", "pass a T", "pass a"}, [3]int{2, 0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tl := count(t, tc.events...)
			var got [3]int
			if got[0], got[1], got[2] = tl.counts(); got != tc.want {
				t.Errorf("passed, failed, skipped: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestShowsFailuresAndSkips(t *testing.T) {
	var out, report bytes.Buffer
	tl := newSummary(&out, false, nil)
	err := tl.read(strings.NewReader("not json\n" + events(
		"run a Good", "output a Good chatter\n", "pass a Good",
		"run a Bad", "output a Bad === RUN Bad\n", "output a Bad the cause\n", "fail a Bad",
		"run a Off", "output a Off     x_test.go:1: SKIPPED: needs root\n", "output a Off --- SKIP: Off (0.00s)\n", "skip a Off",
		"run a Far", "output a Far     r_test.go:2: x.go:3: SKIPPED: no XFS\n", "output a Far     --- SKIP: Inner (0.1s)\n", "output a Far \n", "output a Far --- SKIP: Far (0.00s)\n", "skip a Far",
		"output a  FAIL a 0.1s\n", "fail a")))
	if err != nil {
		t.Fatal(err)
	}
	want := "not json\nthe cause\n    x_test.go:1: SKIPPED: needs root\n--- SKIP: Off (0.00s)\n" +
		"    r_test.go:2: x.go:3: SKIPPED: no XFS\n    --- SKIP: Inner (0.1s)\n\n--- SKIP: Far (0.00s)\nFAIL a 0.1s\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	tl.writeReport(&report, []string{"something vanished"})
	want = "failed tests:\n  " + module + "a Bad:\n    the cause\nskipped tests:\n  " + module + "a Far: r_test.go:2: x.go:3: SKIPPED: no XFS\n" +
		"  " + module + "a Off: x_test.go:1: SKIPPED: needs root\nproblem: something vanished\nfailed: a Bad\n    the cause\n1 passed, 2 failed, 2 skipped\n"
	if diff := cmp.Diff(want, report.String()); diff != "" {
		t.Error(diff)
	}
}

func TestResults(t *testing.T) {
	tl := count(t, "run a T", "run a T/x", "skip a T/x", "pass a T", "run b U", "fail b U")
	if err := tl.read(strings.NewReader(`{"Action":"pass","Package":"` + module + `c","Test":"V","Elapsed":61.26}`)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("pass a T 0.0\nskip a T/x 0.0\nfail b U 0.0\npass c V 61.3\n", tl.results(false)); diff != "" {
		t.Error(diff)
	}
}

func TestGuards(t *testing.T) {
	tl := count(t, "run internal/x T", "pass internal/x T", "run internal/x/y T", "skip internal/x/y T", "run internal/xy T", "pass internal/xy T",
		"run internal/z U", `output internal/z U x_test.go:1: SKIPPED, UNTESTED: no disk`, "skip internal/z U")
	root, ci, user := options{root: true}, options{root: true, ci: true}, options{ci: true}
	for _, tc := range []struct {
		name  string
		o     options
		table []tests.Package
		want  []string // a part of each problem
	}{
		{"kept", options{root: true, ci: true}, []tests.Package{{Path: "internal/x", Least: 1, Needed: []string{"T"}}}, nil},
		{"below the least number", root, []tests.Package{{Path: "internal/x", Least: 2}}, []string{"internal/x ran 1 tests, at least 2"}},
		{"below it, not as root", user, []tests.Package{{Path: "internal/x", Least: 2}}, nil},
		{"a suite that vanished", root, []tests.Package{{Path: "internal/gone", Least: 1}}, []string{"internal/gone ran 0"}},
		{"skipped", ci, []tests.Package{{Path: "internal/x/y", Least: 1, Needed: []string{"T"}}}, []string{"internal/x/y T must not be skipped"}},
		{"skipped, not on CI", root, []tests.Package{{Path: "internal/x/y", Least: 1, Needed: []string{"T"}}}, nil},
		{"skipped loudly", ci, []tests.Package{{Path: "internal/z", Least: 1, Needed: []string{"U"}}}, []string{"internal/z U must not be skipped: "}},
		{"skipped loudly, not as root", user, []tests.Package{{Path: "internal/z", Least: 1, Needed: []string{"U"}}}, nil},
		{"skipped in silence, not as root", user, []tests.Package{{Path: "internal/x/y", Least: 1, Needed: []string{"T"}}}, []string{"internal/x/y T is skipped, and its reason"}},
		{"renamed, not as root", user, []tests.Package{{Path: "internal/x", Least: 1, Needed: []string{"Old"}}}, []string{"no test answers to internal/x"}},
		{"skipped, by pattern", ci, []tests.Package{{Path: "internal/x/y", Least: 1, Needed: []string{".*"}}}, []string{"internal/x/y T must not be skipped"}},
		{"renamed", ci, []tests.Package{{Path: "internal/x", Least: 1, Needed: []string{"Old"}}}, []string{"no test answers to internal/x"}},
		{"left for later", options{ci: true, quick: true}, []tests.Package{{Path: "internal/x", Least: 1, Needed: []string{"Long"}, Later: []string{"Long"}}}, nil},
		{"left for later, and now it is later", ci, []tests.Package{{Path: "internal/x", Least: 1, Needed: []string{"Long"}, Later: []string{"Long"}}}, []string{"no test answers to internal/x"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, err := newGuards(tc.table, tc.o)
			if err != nil {
				t.Fatal(err)
			}
			got := g.problems(tl)
			if len(got) != len(tc.want) {
				t.Fatalf("problems %q, want %q", got, tc.want)
			}
			for i := range got {
				if !strings.Contains(got[i], tc.want[i]) {
					t.Errorf("problem %q, want %q", got[i], tc.want[i])
				}
			}
		})
	}
}

func TestBrokenTablesAreRefused(t *testing.T) {
	for name, table := range map[string][]tests.Package{
		"no number":            {{Path: "internal/x"}},
		"no path":              {{Least: 1}},
		"twice":                {{Path: "internal/x", Least: 1}, {Path: "internal/x", Least: 1}},
		"no expression":        {{Path: "internal/x", Least: 1, Needed: []string{"("}}},
		"no expression, later": {{Path: "internal/x", Least: 1, Later: []string{"("}}},
		"no expression, apart": {{Path: "internal/x", Least: 1, Apart: []string{"("}}},
	} {
		if _, err := newGuards(table, options{}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := newGuards(tests.Packages, options{}); err != nil {
		t.Error(err)
	}
}

// TestProfile: a test counts without its subtests, and a package with its processor time.
func TestProfile(t *testing.T) {
	dir := t.TempDir()
	for _, u := range []used{{"internal/x", 61 * time.Second, 30 * time.Second, 2 * time.Second}, {"internal/y/z", 90 * time.Second, time.Second, time.Second}} {
		if err := u.write(dir); err != nil {
			t.Fatal(err)
		}
	}
	tl := count(t)
	for _, line := range []string{
		`"Test":"T/a","Action":"pass","Elapsed":20`, `"Test":"T","Action":"pass","Elapsed":21.5`, `"Test":"U","Action":"pass","Elapsed":2`,
		`"Test":"M/x","Action":"attr","Key":"seconds","Value":"7.5"`, `"Test":"M/x","Action":"pass","Elapsed":0`,
	} {
		if err := tl.read(strings.NewReader(`{"Package":"` + module + `internal/x",` + line + "}\n")); err != nil {
			t.Fatal(err)
		}
	}
	got := tl.profile(dir)
	want := `  seconds      user    system  tests  package
     90.0       1.0       1.0      0  internal/y/z
     61.0      30.0       2.0      4  internal/x
               31.0       3.0      4  all

slowest tests, without their subtests:
    20.0  internal/x T/a
     7.5  internal/x M/x
     2.0  internal/x U
     1.5  internal/x T
     0.0  internal/x M
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestExecute: what go test -exec is given runs in its package with its exit status, and leaves
// what it used.
func TestExecute(t *testing.T) {
	usage := t.TempDir()
	t.Chdir(filepath.Join("..", "leftovers"))
	t.Setenv(envUsage, usage)
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(envRoot, root)
	for status, argv := range map[int][]string{0: {"sh", "-c", "true"}, 7: {"sh", "-c", "exit 7"}, notRun: {filepath.Join(usage, "missing")}} {
		if got := execute(argv); got != status {
			t.Errorf("%q: status %d, want %d", argv, got, status)
		}
	}
	if list := readUsed(usage); len(list) != 1 || list[0].path != "tests/leftovers" {
		t.Errorf("used: %v", list)
	}
	for _, signal := range []string{"KILL", "INT"} {
		if got := execute([]string{"sh", "-c", "kill -" + signal + " $$"}); got != notRun {
			t.Errorf("SIG%s: status %d: was it ignored?", signal, got)
		}
	}
}

// TestWithFlags: what the table says comes on top of what is asked, and the time is what is left.
func TestWithFlags(t *testing.T) {
	t.Setenv(servertest.EnvQuick, "1")
	t.Setenv(envEnd, "1000") // long ago
	row := tests.Packages[slices.IndexFunc(tests.Packages, func(p tests.Package) bool { return p.Path == "internal/replay" })]
	later, parallel := strings.Join(row.Later, "|"), fmt.Sprintf("-test.parallel=%d", row.Parallel)
	for _, tc := range []struct{ argv, want []string }{
		{[]string{"x"}, []string{"x", parallel, "-test.skip=" + later, "-test.timeout=1s"}},
		{[]string{"x", "-test.skip=^T$"}, []string{"x", "-test.skip=^T$", parallel, "-test.skip=^T$|" + later, "-test.timeout=1s"}},
		{[]string{"x", "-test.parallel=1"}, []string{"x", "-test.parallel=1", "-test.skip=" + later, "-test.timeout=1s"}},
	} {
		if diff := cmp.Diff(tc.want, withFlags(tc.argv, row.Path)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestVanished(t *testing.T) {
	tl := count(t, "run a T", "pass a T")
	got := tl.vanished([]string{module + "a", module + "b"})
	if diff := cmp.Diff([]string{module + "b has test files but ran no test: has it a row in tests/registry.go?"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPackagesWithTests(t *testing.T) {
	got, err := packagesWithTests("./...")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{module + "tests/gotest"}, got); diff != "" {
		t.Error(diff) // go test runs in the package's own directory
	}
}
