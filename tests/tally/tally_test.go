package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func count(t *testing.T, lines ...string) *tally {
	t.Helper()
	tl := newTally(&bytes.Buffer{}, false)
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
			if got := [3]int{tl.passed, tl.failed, tl.skipped}; got != tc.want {
				t.Errorf("passed, failed, skipped: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestShowsFailuresAndSkips(t *testing.T) {
	var out, report bytes.Buffer
	tl := newTally(&out, false)
	err := tl.read(strings.NewReader("not json\n" + events(
		"run a Good", "output a Good chatter\n", "pass a Good",
		"run a Bad", "output a Bad === RUN Bad\n", "output a Bad the cause\n", "fail a Bad",
		"run a Off", "output a Off     x_test.go:1: SKIPPED: needs root\n", "output a Off --- SKIP: Off (0.00s)\n", "skip a Off",
		"output a  FAIL a 0.1s\n", "fail a")))
	if err != nil {
		t.Fatal(err)
	}
	want := "not json\nthe cause\n    x_test.go:1: SKIPPED: needs root\n--- SKIP: Off (0.00s)\nFAIL a 0.1s\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	tl.writeReport(&report, []string{"something vanished"})
	want = "failed tests:\n  " + module + "a Bad:\n    the cause\nskipped tests:\n  " + module + "a Off: x_test.go:1: SKIPPED: needs root\n" +
		"problem: something vanished\n1 passed, 2 failed, 1 skipped\n"
	if diff := cmp.Diff(want, report.String()); diff != "" {
		t.Error(diff)
	}
}

func TestResults(t *testing.T) {
	tl := count(t, "run a T", "run a T/x", "skip a T/x", "pass a T", "run b U", "fail b U")
	if err := tl.read(strings.NewReader(`{"Action":"pass","Package":"` + module + `c","Test":"V","Elapsed":61.26}`)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("pass a T 0.0\nskip a T/x 0.0\nfail b U 0.0\npass c V 61.3\n", tl.results()); diff != "" {
		t.Error(diff)
	}
}

func guardsOf(t *testing.T, floors, never string) (guards, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"floors": floors, "never": never} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return readGuards(filepath.Join(dir, "floors"), filepath.Join(dir, "never"))
}

func TestGuards(t *testing.T) {
	tl := count(t, "run internal/x T", "pass internal/x T", "run internal/x/y T", "skip internal/x/y T", "run internal/xy T", "pass internal/xy T")
	for _, tc := range []struct {
		name, floors, never string
		want                []string // a part of each problem
	}{
		{"kept", "# comment\n\n2 internal/x/...\n1 internal/x\n", "internal/x T", nil},
		{"below the floor", "2 internal/x", "", []string{"internal/x ran 1 tests, at least 2"}},
		{"a group below the floor", "3 internal/x/...", "", []string{"internal/x/... ran 2 tests"}},
		{"a group that vanished", "1 internal/gone/...", "", []string{"internal/gone/... ran 0"}},
		{"skipped", "", "internal/x/y T", []string{"internal/x/y T must not be skipped"}},
		{"skipped, by pattern", "", "internal/.* T", []string{"internal/x/y T must not be skipped"}},
		{"renamed", "", "internal/x Old", []string{"no test answers to"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, err := guardsOf(t, tc.floors, tc.never)
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

func TestBrokenGuardsAreRefused(t *testing.T) {
	for _, tc := range [][2]string{{"many internal/x", ""}, {"0 internal/x", ""}, {"3", ""}, {"", "("}} {
		if _, err := guardsOf(t, tc[0], tc[1]); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: error %v, want one that names the line", tc, err)
		}
	}
	if _, err := readGuards(filepath.Join(t.TempDir(), "missing"), ""); err == nil {
		t.Error("a missing file is no guard, but was accepted")
	}
}

func TestVanished(t *testing.T) {
	tl := count(t, "run a T", "pass a T")
	got := tl.vanished([]string{module + "a", module + "b"})
	if diff := cmp.Diff([]string{module + "b has test files but ran no test"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPackagesWithTests(t *testing.T) {
	got, err := packagesWithTests()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{module + "tests/tally"}, got); diff != "" {
		t.Error(diff) // go test runs in the package's own directory
	}
}
