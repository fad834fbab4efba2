package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/tests"
)

// TestMain makes this program that of go test -exec too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == executeArg {
		os.Exit(execute(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// once is the source of a function that is true the first time that a file asks.
const once = `
func first(t *testing.T) bool {
	_, err := os.Stat("seen")
	if err == nil {
		return false
	}
	if err := os.WriteFile("seen", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return true
}
`

// attempted is a package whose tests go test runs, and what becomes of them in two attempts.
type attempted struct {
	source string // without its head
	table  tests.Package
	want   [3]int // passed, failed, skipped
	flaky  []string
	report string // a part of it
	// ran counts how often single tests wrote "x" to the file of their name.
	ran map[string]int
}

const note = `
func note(name string) {
	f, _ := os.OpenFile(name+".ran", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	f.WriteString("x")
	f.Close()
}
`

// fixtures are run by go test, each in a package of its name.
var fixtures = map[string]attempted{
	"fine": {
		source: `func TestFine(t *testing.T) { note("fine") }`,
		want:   [3]int{1, 0, 0}, ran: map[string]int{"fine": 1},
	},
	"flaky": {
		source: `
			func TestFine(t *testing.T) { note("fine") }
			func TestOnce(t *testing.T) { note("once"); if first(t) { t.Error("the cause") } }`,
		want: [3]int{2, 0, 0}, flaky: []string{"flaky TestOnce"}, ran: map[string]int{"fine": 1, "once": 2},
		report: "flaky: flaky TestOnce\n    flaky_test.go:8: the cause\n",
	},
	// The control: a test that always fails stays red.
	"broken": {
		source: `
			func TestFine(t *testing.T) {}
			func TestBroken(t *testing.T) { note("broken"); t.Error("the cause") }`,
		want: [3]int{1, 1, 0}, ran: map[string]int{"broken": 2},
		report: "failed: broken TestBroken\n    broken_test.go:8: the cause\n1 passed, 1 failed, 0 skipped\n",
	},
	"panics": {
		source: `
			func TestDone(t *testing.T) { note("done") }
			func TestPanics(t *testing.T) { note("panics"); if first(t) { panic("the cause") } }
			func TestLater(t *testing.T) { note("later") }`,
		want: [3]int{3, 0, 0}, flaky: []string{"panics TestPanics"}, ran: map[string]int{"done": 1, "panics": 2, "later": 1},
		report: "flaky: panics TestPanics\n    panic: the cause",
	},
	"exits": {
		source: `
			func TestExits(t *testing.T) { if first(t) { os.Exit(1) } }
			func TestLater(t *testing.T) { note("later") }`,
		want: [3]int{2, 0, 0}, flaky: []string{"exits"}, ran: map[string]int{"later": 1},
	},
	"hangs": {
		source: `
			func TestDone(t *testing.T) { note("done") }
			func TestHangs(t *testing.T) { note("hangs"); if first(t) { select {} } }
			func TestLater(t *testing.T) { note("later") }`,
		want: [3]int{3, 0, 0}, flaky: []string{"hangs"}, ran: map[string]int{"done": 1, "hangs": 2, "later": 1},
		report: "flaky: hangs\n    panic: test timed out after ",
	},
	"unbuilt": {
		source: `func TestFine(t *testing.T) { note(missing) }`,
		want:   [3]int{0, 1, 0}, report: "failed: unbuilt\n    unbuilt/unbuilt_test.go:7:36: undefined: missing\n",
	},
	"built": { // then: what is between the attempts mends it
		source: `func TestFine(t *testing.T) { note(missing) }`,
		want:   [3]int{1, 0, 0}, flaky: []string{"built"}, ran: map[string]int{"fine": 1},
	},
	"parts": { // that depend on each other
		source: `
			func TestParts(t *testing.T) {
				t.Run("begin", func(t *testing.T) { note("begin") })
				t.Run("end", func(t *testing.T) { note("end"); if first(t) { t.Error("the cause") } })
			}`,
		want: [3]int{3, 0, 0}, flaky: []string{"parts TestParts/end"}, ran: map[string]int{"begin": 2, "end": 2},
	},
	"apart": {
		source: `
			func TestApart(t *testing.T) {
				t.Run("done (a/b|c)", func(t *testing.T) { note("done") })
				t.Run("once (a/b|d)", func(t *testing.T) { note("once"); if first(t) { t.Error("the cause") } })
			}`,
		table: tests.Package{Apart: []string{"TestApart", "TestApart/[^/]+"}},
		want:  [3]int{3, 0, 0}, flaky: []string{"apart TestApart/once_(a/b|d)"}, ran: map[string]int{"done": 1, "once": 2},
	},
	"raced": { // both times
		source: `func TestOnce(t *testing.T) { if first(t) { t.Error("the cause") } }`,
		table:  tests.Package{Race: true},
		want:   [3]int{1, 0, 0}, flaky: []string{"raced TestOnce"}, ran: map[string]int{"race": 2},
	},
	"main": { // fails, and no test says why
		source: `
			func TestFine(t *testing.T) { note("fine") }
			func TestMain(m *testing.M) { m.Run(); if first(nil) { os.Exit(1) } }`,
		want: [3]int{1, 0, 0}, flaky: []string{"main"}, ran: map[string]int{"fine": 2},
	},
}

// writeModule writes a module with packages of tests, and what they have in common.
func writeModule(t *testing.T, dir string, sources map[string]string) {
	t.Helper()
	files := map[string]string{"go.mod": "module " + strings.TrimSuffix(module, "/") + "\n\ngo 1.26\n"}
	for name, source := range sources {
		files[name+"/"+name+"_test.go"] = "package x\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n" + strings.TrimSpace(source) + "\n" + once + note
		files[name+"/race_test.go"] = "//go:build race\n\npackage x\n\nfunc init() { note(`race`) }\n"
	}
	for path, text := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAttempts has go test run packages whose tests fail once, or twice, in all ways that there are.
func TestAttempts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sources := map[string]string{}
	for name, p := range fixtures {
		sources[name] = p.source
	}
	writeModule(t, dir, sources)
	for name, p := range fixtures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.table.Path = name
			var out, report bytes.Buffer
			tl := newSummary(&out, false, []tests.Package{p.table})
			r := runner{self: must(os.Executable()), here: dir, usage: t.TempDir(), first: time.Minute, again: time.Minute}
			if name == "hangs" {
				r.first = 5 * time.Second
			}
			if r.race = p.table.Race; r.race {
				if out, err := exec.Command("go", "env", "CC").Output(); err != nil || exec.Command(strings.TrimSpace(string(out)), "--version").Run() != nil {
					t.Skipf("SKIPPED: no C compiler for the race detector: %q, %v", out, err)
				}
			}
			between := 0
			err := r.attempts(tl, func() error {
				between++
				if name == "built" {
					return os.WriteFile(filepath.Join(dir, name, "mend_test.go"), []byte("package x\n\nconst missing = `fine`\n"), 0o600)
				}
				return nil
			})
			if failed := len(p.flaky) > 0 || p.want[1] > 0; err != nil || between != map[bool]int{true: 1}[failed] {
				t.Errorf("%v; what is between the attempts ran %d times", err, between)
			}
			var got [3]int
			if got[0], got[1], got[2] = tl.counts(); got != p.want {
				t.Errorf("passed, failed, skipped: %v, want %v", got, p.want)
			}
			var flaky []string
			for _, n := range sortedNames(tl.flaky) {
				flaky = append(flaky, n.short())
			}
			if diff := cmp.Diff(p.flaky, flaky); diff != "" {
				t.Error(diff)
			}
			for name, want := range p.ran {
				if b, _ := os.ReadFile(filepath.Join(dir, p.table.Path, name+".ran")); len(b) != want {
					t.Errorf("%s ran %d times, want %d", name, len(b), want)
				}
			}
			tl.writeReport(&report, nil)
			if !strings.Contains(report.String(), p.report) {
				t.Errorf("the report lacks %q:\n%s", p.report, &report)
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}

// TestAttemptsEnd: what there is no time for does not run again, and stays failed.
func TestAttemptsEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeModule(t, dir, map[string]string{"late": `func TestOnce(t *testing.T) { if first(t) { t.Error("the cause") } }`})
	var out, report bytes.Buffer
	tl := newSummary(&out, false, []tests.Package{{Path: "late"}})
	r := runner{self: must(os.Executable()), here: dir, usage: t.TempDir(), end: time.Now().Add(time.Hour), again: 2 * time.Hour, least: 2 * time.Hour}
	if err := r.attempts(tl, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	tl.writeReport(&report, nil)
	if len(tl.fails) == 0 || !strings.Contains(report.String(), "there was no time to run again: late TestOnce\n") {
		t.Errorf("%s\n%s", &report, &out)
	}
}

func must(path string, err error) string {
	if err != nil {
		panic(err)
	}
	return path
}
