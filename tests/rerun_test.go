package tests

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// rerunSpare is what is left of the time for saying what took too long.
const rerunSpare = 30 * time.Second

// rerun is this program run again: on another server, or as another user.
type rerun struct {
	// program, if it is not this one, and dir, if it is not this package's.
	program, dir string
	env          []string // besides that of this program
	credential   *syscall.Credential

	scripts, tests []string
	parallel       int // how many of them at once
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
		return
	case o.action == "fail":
		t.Errorf("after %.1f s:\n%s", o.elapsed, o.output)
	case o.action == "skip":
		t.Skip(o.output)
	case len(o.skips) > 0:
		t.Skipf("SKIPPED, UNTESTED in part: %s\n%s", strings.Join(o.skips, ", "), o.output)
	}
	t.Attr(secondsAttr, strconv.FormatFloat(o.elapsed, 'f', 1, 64))
}

// secondsAttr is the attribute by which a test says what it took elsewhere; tests/gotest knows it.
const secondsAttr = "seconds"

// begin begins run, beside what the test does meanwhile; wait returns what run does. What is begun before
// t.Parallel() runs beside the tests that are not parallel too.
func (r rerun) begin(t *testing.T) (wait func() (ended map[string]*outcome, err error)) {
	t.Helper()
	var ended map[string]*outcome
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended, err = r.run(t)
	}()
	return func() (map[string]*outcome, error) {
		<-done
		return ended, err
	}
}

// run returns how the tests ended: "TestX", and "TestScripts/x". An error is that of the program:
// it could not be started, or no test says why it failed.
func (r rerun) run(t *testing.T) (ended map[string]*outcome, err error) {
	t.Helper()
	program := r.program
	if program == "" {
		if program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	var patterns []string
	if len(r.scripts) > 0 {
		patterns = append(patterns, "^TestScripts$/^("+strings.Join(r.scripts, "|")+")$")
	}
	if len(r.tests) > 0 {
		patterns = append(patterns, "^("+strings.Join(r.tests, "|")+")$")
	}
	// #nosec G204 -- this program, or a copy of it
	cmd := exec.CommandContext(t.Context(), program, "-test.v=test2json", "-test.parallel="+strconv.Itoa(r.parallel), "-test.run="+strings.Join(patterns, "|"))
	if end, ok := t.Deadline(); ok {
		cmd.Args = append(cmd.Args, "-test.timeout="+time.Until(end.Add(-rerunSpare)).String())
	}
	cmd.Dir, cmd.Env = r.dir, slices.Concat(os.Environ(), []string{envBinary + "=" + filepath.Join(binDir, "ramaria")}, r.env)
	if r.credential != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: r.credential}
	}
	var talk, eventsTalk bytes.Buffer
	cmd.Stderr = &talk
	events := exec.CommandContext(t.Context(), "go", "tool", "test2json", "-t")
	events.Stderr = &eventsTalk
	if events.Stdin, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	out, err := events.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if err := events.Start(); err != nil {
		return nil, errors.Join(err, cmd.Cancel(), cmd.Wait())
	}
	ended, rest := readOutcomes(bufio.NewReader(out))
	_ = events.Wait() // it has said all
	if err := cmd.Wait(); err != nil && !slices.ContainsFunc(values(ended), func(o *outcome) bool { return o.action == "fail" }) {
		return ended, fmt.Errorf("%w\n%s%s", err, rest, talk.String()+eventsTalk.String())
	}
	return ended, nil
}

func values(m map[string]*outcome) (list []*outcome) {
	for _, o := range m {
		list = append(list, o)
	}
	return list
}

// readOutcomes reads events of test2json. Those of subtests count for the test, or for
// the script, that they are of; rest is what no test said.
func readOutcomes(r *bufio.Reader) (ended map[string]*outcome, rest string) {
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
