package scenario

import (
	"fmt"
	"math"
	"slices"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

func medians(r *runner.Result) map[string]float64 {
	median := map[string]float64{}
	for _, row := range r.Rows {
		median[row.Name] = row.Median
	}
	return median
}

// faster says whether a row is better than another beyond noise, both by their names.
func faster(r *runner.Result, name, than string) bool {
	row, other := rowOf(r, name), rowOf(r, than)
	return row != nil && other != nil && r.Beats(row, other)
}

func rowOf(r *runner.Result, name string) *runner.Row {
	i := slices.IndexFunc(r.Rows, func(row runner.Row) bool { return row.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Rows[i]
}

// beyond says by how much something takes longer than something else, in seconds. Medians of
// rounds may be apart the other way round, which is no gain of the longer way.
func beyond(over float64) string {
	if over <= 0 {
		return "no longer than"
	}
	return fmt.Sprintf("%.1f ms beyond", over*1000)
}

// cost is a share of a throughput, in percent: it is none where noise has made it negative.
func cost(share float64) string {
	if share < 0.5/100 {
		return "nothing"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// twoDigits writes a ratio as exactly as a few rounds tell it: 489.1 is 490.
func twoDigits(v float64) string {
	if v <= 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	step := math.Pow(10, math.Floor(math.Log10(v))-1)
	return fmt.Sprintf("%.*f", max(0, -int(math.Round(math.Log10(step)))), math.Round(v/step)*step)
}
