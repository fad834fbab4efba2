package report

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

func TestWrap(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		room float64
		want []string
	}{
		"fits":        {"stock on disk", 20, []string{"stock on disk"}},
		"words":       {"stock on disk", 8, []string{"stock on", "disk"}},
		"long word":   {"a /srv/somewhere/else", 8, []string{"a /srv/", "somewher", "e/else"}},
		"signs":       {"of innodb_flush_log", 12, []string{"of innodb_", "flush_log"}},
		"runes":       {"éééé", 3, []string{"ééé", "é"}},
		"empty":       {"", 8, []string{""}},
		"no room":     {"ab", 0, []string{"a", "b"}},
		"many spaces": {"a   b", 8, []string{"a b"}},
	} {
		if diff := cmp.Diff(c.want, wrap(c.text, c.room, columns)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestEscapeForMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"oltp_read_write":   "oltp_read_write",
		"_x_ *y* [z](w)":    `\_x\_ \*y\* \[z\](w)`,
		"a|b\nc":            `a\|b c`,
		"<b>&amp; `c` $d$ ": "\\<b\\>\\&amp; \\`c\\` \\$d\\$ ",
		"café µ":            "café µ",
	} {
		if got := escape(text); got != want {
			t.Errorf("escape(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestConclusion(t *testing.T) {
	worse := updateResult()
	worse.Rows = compareRows(worse.Unit, worse.Rows[0], worse.Rows[2])
	noBase := cycleResult()
	noBase.Rows = append([]runner.Row{unavailable("stock", "no room")}, noBase.Rows[1:3]...)
	pairs := runner.Result{Unit: runner.Bytes, Rows: []runner.Row{unavailable("a", ""), rowWith(runner.Bytes, "b", 10), rowWith(runner.Bytes, "c", 5)}}
	pairs.Rows[2].Base = "b"
	pairs.Rows[1].Base = "a"
	unlike := runner.Result{Unit: runner.Seconds, Rows: []runner.Row{rowWith(runner.Seconds, "a", 1), rowWith(runner.Seconds, "c", 0.5)}}
	unlike.Rows[1].Series = "c"
	for name, c := range map[string]struct {
		result runner.Result
		want   string
	}{
		"conclusion":      {upResult(), upResult().Conclusion},
		"better":          {cycleResult(), "“ramaria reset” is 319x faster than “stock”: 3.20 ms against 1.02 s."},
		"hardly better":   {updateResult(), "Nothing was gained: the best row, “xfs”, is at 1.03x of “tmpfs” (12.1 k/s against 11.8 k/s)."},
		"worse":           {worse, "Nothing was gained: no row is better than “tmpfs”; the nearest, “zram”, is at 0.87x of it (10.3 k/s against 11.8 k/s)."},
		"one row":         {manyRows(1), "“row 1” is at 100 ms; there is no other row to compare it with."},
		"first is not":    {noBase, "“ramfs, innodb_flush_log_at_trx_commit=2, extended insert, one session” is at 46.0 ms; “stock” was not measured, so there is no ratio."},
		"curves":          {oltpResult(), "“ramaria xfs” is 9.36x faster than “disk” at 1 thread: 651 /s against 69.5 /s."},
		"other bases":     {pairs, "“c” is 2.00x smaller than “b”: 5.00 B against 10.0 B."},
		"other curves":    {unlike, "“c” is at 500 ms; nothing says what to compare it with."},
		"nothing":         {nothingMeasured(), "Nothing was measured."},
		"no rows":         {runner.Result{}, "Nothing was measured."},
		"counts":          {runner.Result{Unit: runner.Count, Rows: []runner.Row{rowWith(runner.Count, "a", 3)}}, "These are counts: none is better or worse than another."},
		"unknown measure": {runner.Result{Unit: "W", Rows: compareRows("W", rowWith("W", "a", 4), rowWith("W", "b", 2))}, "“b” is 2.00x better than “a”: 2.00 W against 4.00 W."},
	} {
		if got := Conclusion(&c.result); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

func compareRows(u runner.Unit, rows ...runner.Row) []runner.Row {
	return compare(runner.Result{Unit: u, Rows: rows}).Rows
}

func TestBarsKeepTheWidth(t *testing.T) {
	for _, r := range append(examples(), manyRows(12)) {
		for _, width := range []int{0, 60, 72, 80, 133} {
			var b strings.Builder
			if err := Bars(&b, &r, width, false); err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(b.String(), "\n") {
				if n := int(columns(line)); n > max(width, LeastWidth) {
					t.Errorf("%s in %d columns has a line of %d: %s", r.Scenario, width, n, line)
				}
			}
		}
	}
}

func TestBlock(t *testing.T) {
	for length, want := range map[float64]string{0: "", 0.01: "▏", 1: "█", 2.5: "██▌", 2.99: "███"} {
		if got := block(length); got != want {
			t.Errorf("block(%v) = %q, want %q", length, got, want)
		}
	}
	if got := block(math.Copysign(0, -1)); got != "" {
		t.Errorf("block(-0) = %q", got)
	}
}

// TestSpread wants labels at the ends of curves in their order, apart, and within the chart.
func TestSpread(t *testing.T) {
	for name, ys := range map[string][]float64{
		"apart":    {20, 60, 100},
		"together": {50, 50, 50},
		"at top":   {0, 0, 0, 1},
		"at foot":  {100, 100, 100, 100},
		"full":     {0, 50, 51, 52, 100},
	} {
		var labels []endLabel
		for _, y := range ys {
			labels = append(labels, endLabel{lines: []string{"a"}, y: y})
		}
		spread(labels, 0, 100)
		edge := 0.0
		for i, l := range labels {
			if l.y-l.height()/2 < edge-1e-9 || l.y+l.height()/2 > 100+1e-9 {
				t.Errorf("%s: label %d is at %v, and the one before it ends at %v", name, i, l.y, edge)
			}
			edge = l.y + l.height()/2
		}
		if name == "apart" && (labels[0].y != 20 || labels[2].y != 100-labels[2].height()/2) {
			t.Errorf("labels that were apart were moved: %+v", labels)
		}
	}
}
