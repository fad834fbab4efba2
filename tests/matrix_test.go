package tests

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

const (
	// matrixParallel is how many tests of one server run at once.
	matrixParallel = 2
	// matrixSpare is what is left of the time for saying what took too long.
	matrixSpare = 30 * time.Second
)

// TestMatrix runs the suites on every server but the first, which the other tests are
// about, by running this program again for each server: TestMatrix/SERVER/SUITE/NAME.
func TestMatrix(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, UNTESTED: other servers than " + Servers[0] + " run in root's tests only")
	}
	if chosen() {
		t.Skip("SKIPPED: " + envServer + " chooses one server")
	}
	for _, want := range Servers[1:] {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			servertest.Find(t, want) // one that cannot be had fails here
			began := time.Now()
			ended := runSuites(t, want)
			t.Logf("%s took %s", want, time.Since(began).Round(time.Second))
			for _, s := range Suites {
				t.Run(s.Name, func(t *testing.T) {
					for _, name := range s.Scripts {
						t.Run(name, func(t *testing.T) { ended["TestScripts/"+name].report(t) })
					}
					for _, name := range s.Tests {
						t.Run(name, func(t *testing.T) { ended[name].report(t) })
					}
				})
			}
		})
	}
}

// outcome is how a test, with its subtests, ended in a program that was run.
type outcome struct {
	action  string // of test2json: pass, fail or skip
	elapsed float64
	output  string
	skips   []string // subtests
}

// report makes it that of t. What was skipped in part counts as skipped.
func (o *outcome) report(t *testing.T) {
	t.Helper()
	switch {
	case o == nil:
		t.Error("it did not run, or did not end")
	case o.action == "fail":
		t.Errorf("after %.1f s:\n%s", o.elapsed, o.output)
	case o.action == "skip":
		t.Skip(o.output)
	case len(o.skips) > 0:
		t.Skipf("SKIPPED, UNTESTED in part: %s\n%s", strings.Join(o.skips, ", "), o.output)
	default:
		t.Logf("%.1f s", o.elapsed)
	}
}

// runSuites runs all suites on one server, and returns how the tests ended.
func runSuites(t *testing.T, want string) map[string]*outcome {
	t.Helper()
	var scripts, tests []string
	for _, s := range Suites {
		scripts, tests = append(scripts, s.Scripts...), append(tests, s.Tests...)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// #nosec G204 -- this program
	cmd := exec.CommandContext(t.Context(), self, "-test.v=test2json", "-test.parallel="+strconv.Itoa(matrixParallel),
		"-test.run=^TestScripts$/^("+strings.Join(scripts, "|")+")$|^("+strings.Join(tests, "|")+")$")
	if end, ok := t.Deadline(); ok {
		cmd.Args = append(cmd.Args, "-test.timeout="+time.Until(end.Add(-matrixSpare)).String())
	}
	// testscript counts on all its scripts, and leaves its directory when some are not run.
	work, err := os.MkdirTemp("", "rm-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work)
	cmd.Env = append(os.Environ(), "GOTMPDIR="+work, envServer+"="+want, envBinary+"="+filepath.Join(binDir, "ramaria"))
	var talk, eventsTalk bytes.Buffer
	cmd.Stderr = &talk
	events := exec.CommandContext(t.Context(), "go", "tool", "test2json", "-t")
	events.Stderr = &eventsTalk
	if events.Stdin, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := events.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := events.Start(); err != nil {
		t.Fatal(err)
	}
	ended, rest := readOutcomes(t, bufio.NewReader(out))
	_ = events.Wait() // it has said all
	if err := cmd.Wait(); err != nil && !slices.ContainsFunc(values(ended), func(o *outcome) bool { return o.action == "fail" }) {
		t.Errorf("%s: %v\n%s%s", want, err, rest, talk.String()+eventsTalk.String())
	}
	return ended
}

func values(m map[string]*outcome) (list []*outcome) {
	for _, o := range m {
		list = append(list, o)
	}
	return list
}

// readOutcomes reads events of test2json. Those of subtests count for the test, or for
// the script, that they are of; rest is what no test said.
func readOutcomes(t *testing.T, r *bufio.Reader) (ended map[string]*outcome, rest string) {
	t.Helper()
	ended = map[string]*outcome{}
	output := map[string]string{}
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return ended, rest
		}
		var e struct {
			Action, Test, Output string
			Elapsed              float64
		}
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		name := e.Test
		if parts := strings.SplitN(name, "/", 3); parts[0] == "TestScripts" && len(parts) > 1 {
			name = parts[0] + "/" + parts[1]
		} else {
			name = parts[0]
		}
		switch e.Action {
		case "output":
			switch {
			case e.Test == "":
				rest += e.Output
			case !strings.HasPrefix(e.Output, "=== "):
				output[name] += e.Output
			}
		case "pass", "fail", "skip":
			o := ended[name]
			if o == nil {
				o = &outcome{}
			}
			o.elapsed = max(o.elapsed, e.Elapsed) // a test does not count its parallel subtests
			if name == e.Test {
				o.action, o.output = e.Action, output[name]
			} else if e.Action == "skip" {
				o.skips = append(o.skips, e.Test)
			}
			ended[name] = o
		}
	}
}

// TestSuites: whoever adds a script or a test says whether it is about servers.
func TestSuites(t *testing.T) {
	named := map[string]int{}
	for _, s := range append([]Suite{Once}, Suites...) {
		for _, name := range s.Scripts {
			named[name+".txtar"]++
		}
		for _, name := range s.Tests {
			named[name]++
		}
	}
	scripts, err := filepath.Glob("script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.list", ".")
	cmd.Env = append(os.Environ(), envBinary+"="+filepath.Join(binDir, "ramaria"))
	tests, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(scripts, strings.Fields(string(tests))...) {
		name = filepath.Base(name)
		if named[name] != 1 {
			t.Errorf("%s is named %d times in suites.go, want once", name, named[name])
		}
		delete(named, name)
	}
	for name := range named {
		t.Errorf("suites.go names %s, which is not there", name)
	}
}
