package tests

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// matrixParallel is how many tests of one server run at once.
const matrixParallel = 4

// TestMatrix runs the suites on every server but the first, which the other tests are
// about, by running this program again for each server: TestMatrix/SERVER/SUITE/NAME. A quick
// run takes of each suite what registry.go says.
func TestMatrix(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, UNTESTED: other servers than " + Servers[0] + " run in root's tests only")
	}
	if chosen() {
		t.Skip("SKIPPED: " + envServer + " chooses one server")
	}
	waits := map[string]func() (map[string]*outcome, error){}
	for _, want := range Servers[1:] {
		r := rerun{parallel: matrixParallel, env: []string{servertest.EnvServer + "=" + want}}
		for _, s := range Suites {
			scripts, tests := pickedOn(t, s, want)
			r.scripts, r.tests = append(r.scripts, scripts...), append(r.tests, tests...)
		}
		if len(r.scripts)+len(r.tests) == 0 {
			continue
		}
		servertest.Find(t, want) // one that cannot be had fails here
		// testscript counts on all its scripts, and leaves its directory when some are not run.
		work, err := os.MkdirTemp("", "rm-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(work) })
		r.env = append(r.env, "GOTMPDIR="+work)
		waits[want] = r.begin(t) // the longest of all tests
	}
	began := time.Now()
	t.Parallel()
	for want, wait := range waits {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			ended, err := wait()
			if err != nil {
				t.Error(err)
			}
			t.Logf("%s took %s", want, time.Since(began).Round(time.Second))
			for _, s := range Suites {
				t.Run(s.Name, func(t *testing.T) {
					scripts, tests := pickedOn(t, s, want)
					for _, name := range scripts {
						t.Run(name, func(t *testing.T) { ended["TestScripts/"+name].report(t) })
					}
					for _, name := range tests {
						t.Run(name, func(t *testing.T) { ended[name].report(t) })
					}
				})
			}
		})
	}
}

// pickedOn are the scripts and tests of a suite that run on a server.
func pickedOn(t *testing.T, s Suite, server string) (scripts, tests []string) {
	t.Helper()
	left := func(name string) bool { return !picked(t, "TestMatrix/"+server+"/"+s.Name+"/"+name) }
	scripts, tests = s.On(server, servertest.Quick())
	return slices.DeleteFunc(slices.Clone(scripts), left), slices.DeleteFunc(slices.Clone(tests), left)
}
