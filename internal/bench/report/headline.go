package report

import (
	"math"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// headline is what a report begins with: one figure, its picture, and where it is from.
type headline struct {
	// Figure is "33.4x", or "No gain"; Better what of it, "faster, at least".
	Figure, Better string
	// Row and Base are compared, at Value and BaseValue; Row is "" where there is no gain.
	Row, Base, Value, BaseValue string
	// Other is the best row that is not of Ramaria, if it is better than Base, at OtherValue; "" for none.
	Other, OtherValue string
	// Where says what the figure is of, in a sentence.
	Where string
	Plot  *Plot
}

// gain is a row of ours, and by how much it is better than what it is compared with.
type gain struct {
	result int
	row    runner.Row
}

// bestOther is the row that is not of ours and better than a base by the most; nil where none is.
func bestOther(r *runner.Result, base *runner.Row) (other *runner.Row) {
	for i := range r.Rows {
		row := &r.Rows[i]
		if !row.Ours && r.BaseOf(row) == base && r.Gains(row) && (other == nil || row.Ratio > other.Ratio) {
			other = row
		}
	}
	return other
}

// headlineOf is what a reader can count on: of the scenario in which each row of ours gains the most,
// that which gains the least, as long as it is better than all that is not of ours. Where in none each
// does, it is the best row; without one it says so. nil without results that have a picture.
func headlineOf(results []runner.Result, sections []section) *headline {
	shown, least, best := -1, gain{result: -1}, gain{result: -1}
	for i := range results {
		r := &results[i]
		if r.Failed != "" || len(sections[i].Plots) == 0 {
			continue
		}
		if shown < 0 {
			shown = i
		}
		worst, all := gain{result: -1}, true
		for _, row := range r.Rows {
			if base := r.BaseOf(&row); !row.Ours || base.Ours || base.Count == 0 || row.Count == 0 || math.IsInf(row.Ratio, 0) || math.IsNaN(row.Ratio) {
				continue
			}
			if !r.Gains(&row) {
				all = false
				continue
			}
			if worst.result < 0 || row.Ratio < worst.row.Ratio {
				worst = gain{i, row}
			}
			if row.Ratio > best.row.Ratio {
				best = gain{i, row}
			}
		}
		if worst.result < 0 {
			continue
		}
		other := bestOther(r, r.BaseOf(&worst.row))
		if all && worst.row.Ratio > least.row.Ratio && (other == nil || r.Beats(&worst.row, other)) {
			least = worst
		}
	}
	switch {
	case shown < 0:
		return nil
	case least.result >= 0:
		return least.headline(results, sections, ", at least", "The row of Ramaria that gains least in ")
	case best.result >= 0:
		return best.headline(results, sections, "", "The row of Ramaria that gains most: ")
	}
	return &headline{Figure: "No gain", Where: "No row of Ramaria gains in every round.", Plot: &sections[shown].Plots[0]}
}

func (g gain) headline(results []runner.Result, sections []section, bound, where string) *headline {
	r, s := &results[g.result], &sections[g.result]
	base := r.BaseOf(&g.row)
	where += s.Name
	if few := r.Few(); few != "" {
		where += ", " + few
	}
	h := &headline{
		Figure: runner.FormatRatio(g.row.Ratio), Better: better(r.Unit) + bound, Where: where + ".", Plot: &s.Plots[0],
		Row: g.row.Name, Value: r.Unit.Format(g.row.Median), Base: upperFirst(base.Name), BaseValue: r.Unit.Format(base.Median),
	}
	if other := bestOther(r, base); other != nil {
		h.Other, h.OtherValue = other.Name, r.Unit.Format(other.Median)
	}
	return h
}

// clauses are the sentences of a conclusion, one clause each: what stands between semicolons is one.
func clauses(conclusion string) []string {
	var list []string
	for part := range strings.SplitSeq(conclusion, "; ") {
		for sentence := range strings.SplitSeq(part, ". ") {
			if sentence = strings.TrimSuffix(strings.TrimSpace(sentence), "."); sentence != "" {
				list = append(list, opening(sentence)+".")
			}
		}
	}
	return slices.Clip(list)
}
