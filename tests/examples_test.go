package tests

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/tests/examples"
)

// runExamples does what docs/examples.md says, with a clone of the project in which the clients are built. A second run
// finds all put back, more tests than one of each do, and the tests fail where nothing puts back what they share.
func runExamples(t *testing.T, clone string) {
	page := examplesPage(t, examples.Helpers)
	for _, e := range examples.Projects {
		if e.Page != examples.Helpers {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			commands := readyExample(t, page, e)
			h := newTestHome(t)
			dir, err := examples.Copy(t.Context(), page, clone, e.Name, t.TempDir())
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
			maven := "MAVEN_OPTS=-Dmaven.repo.local=" + mavenRepository(t, e.Name)
			for _, script := range []string{strings.Join(commands, "\n"), "export TIMES=2; " + commands[len(commands)-1]} {
				if out, err := run(script, maven); err != nil {
					t.Fatalf("%s: %v:\n%s", script, err, out)
				}
			}
			h.ramaria("up", "plain", "--from", filepath.Join(dir, "..", "shop.sql"))
			plain := `eval "$(ramaria env plain)"; unset RAMARIA_API; ` + e.Plain
			for way, says := range map[string]string{"none": e.Fails, "other": unknownWay} {
				if out, err := run(plain, maven, "ISOLATION="+way); err == nil || !strings.Contains(out, says) {
					t.Errorf("ISOLATION=%s %s: %v, want it to fail with %q:\n%s", way, plain, err, says, out)
				}
			}
			for _, way := range e.Ways {
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

// unknownWay is what a project says of a value of ISOLATION that it does not know.
const unknownWay = "ISOLATION is "

// examplesPage is the text of a page of the documentation.
func examplesPage(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// readyExample skips a project for which something is missing, and returns the commands that its page has.
func readyExample(t *testing.T, page string, e examples.Project) []string {
	t.Helper()
	for _, probe := range e.Needs {
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", probe).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED, UNTESTED: %s: %s: %v: %s", e.Name, probe, err, out)
		}
	}
	commands := examples.Commands(page, e.Section)
	if len(commands) == 0 {
		t.Fatalf("docs/%s says no commands for %s", e.Page, e.Section)
	}
	return commands
}

// TestExamplesListed: the table of docs/examples.md has the projects and their ways, as the directories, the tests and
// the benchmarks do.
func TestExamplesListed(t *testing.T) {
	t.Parallel()
	page := examplesPage(t, examples.Helpers)
	isolation := regexp.MustCompile(`ISOLATION=(\w+)`)
	var dirs []string
	for _, e := range examples.Projects {
		dirs = append(dirs, e.Name)
		link := "#" + e.Name
		if e.Page != examples.Helpers {
			link = e.Page + link
		}
		var ways []string
		for _, way := range e.Ways {
			ways = append(ways, "`"+way+"`")
		}
		row := regexp.MustCompile(`(?m)^\| \[[^]]+\]\(` + regexp.QuoteMeta(link) + `\).* \| (.*) \|$`).FindStringSubmatch(page)
		if len(row) != 2 || row[1] != cmp.Or(strings.Join(ways, ", "), "-") {
			t.Errorf("docs/examples.md has the row %q for %s, whose ways are %s", row, e.Name, ways)
		}
		text, err := os.ReadFile(filepath.Join("../docs/examples", e.Name, "bench.sh"))
		if (err == nil) != (e.Plain != "") {
			t.Errorf("%s: its tests without Ramaria are run by %q, and bench.sh: %v", e.Name, e.Plain, err)
		}
		for _, m := range isolation.FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(e.Ways, m[1]) {
				t.Errorf("bench.sh of %s has the way %s, the project %s", e.Name, m[1], e.Ways)
			}
		}
	}
	entries, err := os.ReadDir("../docs/examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != "ci" && !slices.Contains(dirs, entry.Name()) {
			t.Errorf("docs/examples has %s, which no list has", entry.Name())
		}
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
func mavenRepository(t *testing.T, project string) string {
	t.Helper()
	if project != "java" {
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
