package report

import (
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// tierResult has two curves, of which a rate, a latency and what is told once are known beside.
func tierResult() runner.Result {
	const u = runner.BytesPerSecond
	r := runner.Result{
		Scenario: "tier", Title: "one writer", Unit: u, XName: "times the RAM",
		Beside: []runner.Measure{{Name: "read back", Unit: u}, {Name: "longest write", Unit: runner.Seconds}, {Name: "written", Unit: runner.Bytes}, {Name: "small files", Unit: runner.PerSecond}},
	}
	for _, series := range []string{"disk", "wheatfs"} {
		for _, x := range []float64{1, 2} {
			row := rowWith(u, series+", more than once", x*1e9)
			row.Series, row.X, row.Settings = series, x, "as "+series+" is"
			row.Beside = map[string]float64{"read back": 7e9, "longest write": 0.012, "written": 1}
			if x == 2 && series == "wheatfs" {
				row.Beside["small files"] = 41e3
			}
			r.Rows = append(r.Rows, row)
		}
	}
	return compare(r)
}

// TestOnce: what is told once of a curve is no column that is empty but for one row, and rates of bytes have
// plots as latencies have.
func TestOnce(t *testing.T) {
	r := tierResult()
	var b strings.Builder
	if err := Bars(&b, &r, 70, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Read back by times the RAM", "Longest write by times the RAM", "\n         small files\ndisk               -\nwheatfs     41.0 k/s\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "Written") {
		t.Errorf("a size has a table\n%s", b.String())
	}
	if plots := Plots(&r); len(plots) != 3 {
		t.Errorf("%d plots, want those of the value, of what was read back and of the longest write", len(plots))
	}
	page := htmlOf(t, r)
	if want := `<th scope="row">wheatfs</th><td>41.0 k/s</td>`; !strings.Contains(page, want) {
		t.Errorf("the page has no %s", want)
	}
	if n := strings.Count(page, "as wheatfs is"); n != 1 {
		t.Errorf("the settings of a curve are told %d times", n)
	}
	b.Reset()
	if err := WriteMarkdown(&b, []runner.Result{r}); err != nil {
		t.Fatal(err)
	}
	if want := "| wheatfs | 41.0 k/s |"; !strings.Contains(b.String(), want) {
		t.Errorf("there is no %q in\n%s", want, b.String())
	}
}
