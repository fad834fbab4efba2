package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// TestHeadline: a report begins with a figure that a reader can count on, and with its picture.
func TestHeadline(t *testing.T) {
	const u = runner.Seconds
	of := func(scenario string, rows ...runner.Row) runner.Result {
		return compare(runner.Result{Scenario: scenario, Title: "t", Unit: u, Rows: rows})
	}
	base, slow := rowWith(u, "stock", 10, 11, 12), rowWith(u, "ramaria, slow", 2, 2.2, 2.4)
	fast, none := rowWith(u, "ramaria, fast", 0.01, 0.011, 0.012), rowWith(u, "ramaria, disk", 10, 11, 12)
	failed := of("failed", base, fast)
	failed.Failed = "it did"
	for name, c := range map[string]struct {
		results []runner.Result
		want    headline
	}{
		"the least of what gains":       {[]runner.Result{of("s", base, fast, slow)}, headline{Figure: "5.00x", Better: "faster, at least", Row: "ramaria, slow", Where: "The row of Ramaria that gains least in s."}},
		"of the best scenario":          {[]runner.Result{of("s", base, slow), of("r", base, fast), failed}, headline{Figure: "1000x", Better: "faster, at least", Row: "ramaria, fast", Where: "The row of Ramaria that gains least in r."}},
		"not every row gains":           {[]runner.Result{of("s", base, slow, none)}, headline{Figure: "5.00x", Better: "faster", Row: "ramaria, slow", Where: "The row of Ramaria that gains most: s."}},
		"others gain as much":           {[]runner.Result{of("s", base, rowWith(u, "by hand", 1, 1.1, 1.2), slow)}, headline{Figure: "5.00x", Better: "faster", Row: "ramaria, slow", Where: "The row of Ramaria that gains most: s.", Other: "by hand"}},
		"nothing gains":                 {[]runner.Result{of("s", base, none)}, headline{Figure: "No gain", Where: "No row of Ramaria gains in every round."}},
		"of one round":                  {[]runner.Result{of("s", rowWith(u, "stock", 10), rowWith(u, "ramaria", 1))}, headline{Figure: "10.0x", Better: "faster, at least", Row: "ramaria", Where: "The row of Ramaria that gains least in s, of a single round."}},
		"what is compared with is ours": {[]runner.Result{of("s", rowWith(u, "ramaria, 1", 10, 11, 12), rowWith(u, "ramaria, 2", 1, 1.1, 1.2))}, headline{Figure: "No gain", Where: "No row of Ramaria gains in every round."}},
	} {
		sections, _ := sectionsOf(c.results)
		h := headlineOf(c.results, sections)
		if h == nil || h.Plot == nil {
			t.Fatalf("%s: there is none", name)
		}
		if got := (headline{Figure: h.Figure, Better: h.Better, Row: h.Row, Where: h.Where, Other: h.Other}); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		page := htmlOf(t, c.results...)
		if figure, sentences := strings.Index(page, "<figure>"), strings.Index(page, `class="short"`); figure < 0 || figure > sentences {
			t.Errorf("%s: the picture is at %d, the sentences at %d", name, figure, sentences)
		}
	}
	if h := headlineOf([]runner.Result{failed}, make([]section, 1)); h != nil {
		t.Errorf("of a run that failed: %+v", h)
	}
}

func TestClauses(t *testing.T) {
	got := clauses("of two workers, 12 resets a second; ramaria load is 3.0 times as fast. A fresh server is there in 200 ms.")
	want := []string{"Of two workers, 12 resets a second.", "ramaria load is 3.0 times as fast.", "A fresh server is there in 200 ms."}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
