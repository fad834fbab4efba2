package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/tests/examples"
)

// withHelper are the projects in docs/examples that have a helper, each a section of docs/examples.md.
var withHelper = []struct {
	name, section string
	needs         string // a program
	plain         string // runs the tests without Ramaria
	fails         string // what they say if nothing puts back the database that they share
}{
	{"django", "Django", "python3", ".venv/bin/python manage.py test --noinput --settings shop.plain", "AssertionError: Lists differ"},
	{"sqlalchemy", "SQLAlchemy", "python3", ".venv/bin/python -m pytest -p no:ramaria -p plain", "AssertionError"},
	{"node", "Node", "npm", "NODE_OPTIONS=--conditions=plain npm test", "Expected values to be strictly deep-equal"},
	{"go", "Go", "go", "go test -count=1 -tags plain", "the items are"},
	{"java", "Java", "mvn", "mvn -q test", "AssertionFailedError"},
}

// runExamples does what docs/examples.md says, with a clone of the project in which the clients are built. A second run
// finds all put back, more tests than one of each do, and the tests fail where nothing puts back what they share.
func runExamples(t *testing.T, clone string) {
	b, err := os.ReadFile("../docs/examples.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, e := range withHelper {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(e.needs); err != nil {
				t.Skipf("SKIPPED, UNTESTED: %s: %v", e.name, err)
			}
			commands := examples.Commands(page, e.section)
			if len(commands) == 0 {
				t.Fatalf("docs/examples.md says no commands for %s", e.section)
			}
			h := newTestHome(t)
			dir, err := examples.Copy(t.Context(), page, clone, e.name, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			run := func(script string, env ...string) (string, error) {
				cmd := exec.CommandContext(t.Context(), "sh", "-ec", strings.ReplaceAll(script, "CLONE", clone))
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "PATH="+binDir+":"+os.Getenv("PATH"), "RAMARIA_BIN=", "RAMARIA_HOME="+h.home, "RAMARIA_NO_FETCH=1",
					"RAMARIA_VOLUME="+testVolume, "RAMARIA_SERVER="+series(h.srv))
				cmd.Env = append(cmd.Env, env...)
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			maven := "MAVEN_OPTS=-Dmaven.repo.local=" + mavenRepository(t, e.needs)
			for _, script := range []string{strings.Join(commands, "\n"), "export TIMES=2; " + commands[len(commands)-1]} {
				if out, err := run(script, maven); err != nil {
					t.Fatalf("%s: %v:\n%s", script, err, out)
				}
			}
			h.ramaria("up", "plain", "--from", filepath.Join(dir, "..", "shop.sql"))
			plain := `eval "$(ramaria env plain)"; unset RAMARIA_API; ` + e.plain
			if out, err := run(plain, maven, "ISOLATION=none"); err == nil || !strings.Contains(out, e.fails) {
				t.Errorf("%s: %v, want it to fail with %q:\n%s", plain, err, e.fails, out)
			}
			for _, way := range []string{"truncate", "reload"} {
				if out, err := run(plain, maven, "ISOLATION="+way); err != nil {
					t.Errorf("ISOLATION=%s %s: %v:\n%s", way, plain, err, out)
				}
			}
			t.Run("bench", func(t *testing.T) {
				h.during(t)
				checkWays(t, func(script string) (string, error) { return run(script, maven) })
			})
		})
	}
}

// checkWays runs the bench.sh of a project, and holds what it counts against what is promised: with Ramaria no test leaks.
func checkWays(t *testing.T, run func(script string) (string, error)) {
	t.Helper()
	out, err := run("sh bench.sh --rounds 1 --format json 2>said || { cat said >&2; exit 1; }")
	if err != nil {
		t.Fatalf("bench.sh: %v:\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 3 {
		t.Fatalf("bench.sh measures %d rows, want 3:\n%s", len(lines), out)
	}
	for i, line := range lines {
		var row struct {
			Row    string
			Median *float64
			Beside []struct {
				Name   string
				Median float64
			}
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		told := map[string]float64{}
		for _, m := range row.Beside {
			told[m.Name] = m.Median
		}
		t.Logf("%s: %.0f of %.0f tests leak", row.Row, told["leaking tests"], told["tests that looked"])
		if row.Median == nil || told["tests that looked"] < 5 {
			t.Errorf("%s has no figure, or its tests did not look:\n%s", row.Row, line)
		}
		if i == 2 && (told["leaking tests"] > 0 || !strings.Contains(row.Row, "ramaria")) {
			t.Errorf("%s: %.0f tests leak", row.Row, told["leaking tests"])
		}
	}
}

// mavenRepository is a repository of Maven's with what the user's has, so that what is fetched stays for the next run,
// but for what is installed of this project.
func mavenRepository(t *testing.T, program string) string {
	t.Helper()
	if program != "mvn" {
		return ""
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	theirs, ours := filepath.Join(home, ".m2", "repository"), filepath.Join(t.TempDir(), "repository")
	for _, dir := range []string{"", "io", "io/github"} {
		err := errors.Join(os.MkdirAll(filepath.Join(ours, dir), 0o700), os.MkdirAll(filepath.Join(theirs, dir), 0o700))
		entries, listed := os.ReadDir(filepath.Join(theirs, dir))
		for _, entry := range entries {
			if path := filepath.Join(dir, entry.Name()); path != "io" && path != "io/github" && path != "io/github/ramaria-db" {
				err = errors.Join(err, os.Symlink(filepath.Join(theirs, path), filepath.Join(ours, path)))
			}
		}
		if err = errors.Join(err, listed); err != nil {
			t.Fatal(fmt.Errorf("lay out a repository of Maven's: %w", err))
		}
	}
	return ours
}
