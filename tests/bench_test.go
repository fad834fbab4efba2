package tests

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// benchListed is a line of what `ramaria bench` lists.
var benchListed = regexp.MustCompile(`(?m)^  ([a-z]+) {2,}\S`)

// TestBench runs each scenario that `ramaria bench` lists as its help and the documentation have it
// typed. Every row has a figure, or says why there can be none; no run fails, and the report has it.
func TestBench(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	var names []string
	for _, found := range benchListed.FindAllStringSubmatch(h.ramaria("bench"), -1) {
		names = append(names, found[1])
	}
	for _, name := range []string{"cycle", "reset", "suite", "all"} {
		if !slices.Contains(names, name) {
			t.Fatalf("ramaria bench does not list %s, but %s", name, names)
		}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			h.during(t)
			dir := t.TempDir()
			page, lines := filepath.Join(dir, "r.html"), filepath.Join(dir, "r.jsonl")
			args := []string{"bench", name, "--report", page, "--save", lines}
			switch name {
			case "all": // as `make bench` has it
				args = append(args, "--quick")
			case "suite":
				args = append(args, "--rounds", "1", "--", "dbexec", "CREATE TABLE t (a INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "SELECT a FROM t")
			default:
				args = append(args, "--quick", "--rounds", "1")
			}
			if out := h.ramaria(args...); !strings.Contains(out, name+":") && name != "all" {
				t.Errorf("its table does not name it:\n%s", out)
			}
			checkBench(t, lines, page, name == "all")
		})
	}
}

// checkBench holds results against what is promised of a run that was not cut short; of all
// scenarios rows may be left out for want of time.
func checkBench(t *testing.T, lines, page string, hurried bool) {
	t.Helper()
	text, err := os.ReadFile(lines)
	if err != nil {
		t.Fatal(err)
	}
	html, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	figures := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var row struct {
			Scenario, Row, Note, Failed string
			Median                      *float64
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		late := hurried && strings.Contains(row.Note, "within ")
		switch {
		case row.Failed != "":
			t.Errorf("%s failed: %s", row.Scenario, row.Failed)
		case row.Median != nil:
			figures[row.Scenario]++
		case strings.HasPrefix(row.Note, "not available on this machine: "), strings.HasPrefix(row.Note, "there is no room: "), late:
			figures[row.Scenario] += 0
		default:
			t.Errorf("%s, row %q: no figure: %s", row.Scenario, row.Row, row.Note)
		}
	}
	if len(figures) == 0 {
		t.Error("there are no results")
	}
	for scenario, n := range figures {
		if n == 0 {
			t.Logf("SKIPPED: this machine has no row of %s", scenario)
		}
		if !strings.Contains(string(html), `id="`+scenario+`"`) {
			t.Errorf("the report does not have %s", scenario)
		}
	}
	for _, words := range []string{"nothing is concluded", "The run failed"} {
		if strings.Contains(string(html), words) {
			t.Errorf("the report says: %s", words)
		}
	}
}
