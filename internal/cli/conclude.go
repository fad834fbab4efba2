package cli

import (
	"fmt"
	"math"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench"
)

// concludeUp compares `up` with the least that any tool must do.
func concludeUp(r *bench.Result) string {
	median := medians(r)
	over := median[bench.RowUp] - median[bench.RowBare]
	times := median[bench.RowStock] / median[bench.RowUp]
	if math.IsNaN(over) || math.IsNaN(times) {
		return ""
	}
	return fmt.Sprintf("ramaria up takes %.1f ms more than cp -a and a bare start, and is %.1f times faster than the stock way.", over*1000, times)
}

func medians(r *bench.Result) map[string]float64 {
	median := map[string]float64{}
	for _, row := range r.Rows {
		median[row.Name] = row.Median
	}
	return median
}

// concludeBranch says what a branch costs beyond what nobody can avoid, and what the
// size of the data does.
func concludeBranch(r *bench.Result) string {
	m := medians(r)
	over := m[bench.RowBranchLarge] - m[bench.RowSnapshotLarge] - m[bench.RowStart]
	larger := m[bench.RowUpLarge] / m[bench.RowUpSmall]
	if math.IsNaN(over) || math.IsNaN(larger) {
		return ""
	}
	return fmt.Sprintf("a branch of 2 GB takes %.1f ms beyond its snapshot and a bare start; up from 2 GB takes %.2f times as long as from the small image.", over*1000, larger)
}

// concludeReset says what a reset takes, and that its cost follows the change.
func concludeReset(r *bench.Result) string {
	m := medians(r)
	three := m[bench.RowThree]
	var b strings.Builder
	say := func(format string, figures ...float64) {
		list := make([]any, len(figures))
		for i, v := range figures {
			if math.IsNaN(v) || v == 0 {
				return
			}
			list[i] = v
		}
		fmt.Fprintf(&b, format, list...)
	}
	say("a reset after 3 rows takes %.2f ms, %.0f times less than by hand", three*1000, m[bench.RowHand]/three)
	say("; in 2 GB %.2f times as long", m[bench.RowThreeLarge]/three)
	say("; undoing 10,000 rows %.2f times as long as changing them", m[bench.RowUndo]/m[bench.RowMake])
	say("; a clone of sakila %.2f times as long as its INSERT ... SELECT alone", m[bench.RowSakilaClone]/m[bench.RowSakilaFill])
	if b.Len() == 0 {
		return ""
	}
	return strings.TrimPrefix(b.String(), "; ") + "."
}

// concludeCycle compares whole cycles.
func concludeCycle(r *bench.Result) string {
	m := medians(r)
	reset, times := m[bench.RowCycleReset], m[bench.RowCycleReset]/m[bench.RowCycleHand]
	if math.IsNaN(reset) || math.IsNaN(times) {
		return ""
	}
	return fmt.Sprintf("%.0f cycles a second, %.0f times as many as by hand.", reset, times)
}

// concludeLog says what share of the throughput the log and the journal cost.
func concludeLog(r *bench.Result) string {
	m := medians(r)
	var list []string
	for _, w := range bench.LogWorkloads {
		off := m[bench.RowNoLog(w)]
		log, both := 100*(1-m[bench.RowLog(w)]/off), 100*(1-m[bench.RowWatched(w)]/off)
		if !math.IsNaN(log) && !math.IsNaN(both) {
			list = append(list, fmt.Sprintf("%s %.0f %% (%.0f %% the log alone)", w, both, log))
		}
	}
	if list == nil {
		return ""
	}
	return "the log and the journal cost: " + strings.Join(list, ", ") + "."
}
