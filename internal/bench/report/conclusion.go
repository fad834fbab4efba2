package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// Conclusion says what a result means: its Conclusion, or what follows from the rows, which
// is also said when it is that nothing was gained.
func Conclusion(r *runner.Result) string {
	if r.Failed != "" {
		return "It failed, and nothing is concluded."
	}
	if r.Conclusion != "" {
		return r.Conclusion
	}
	if !anyFinite(mediansOf(r.Rows)) {
		return "Nothing was measured."
	}
	if r.Unit == runner.Count {
		return "These are counts: none is better or worse than another."
	}
	best, compared := bestOf(r)
	if !compared {
		return alone(r)
	}
	sentence := fmt.Sprintf("%s is %s %s than %s%s: %s against %s.", quote(best.name), runner.FormatRatio(best.ratio),
		better(r.Unit), quote(best.baseName), best.where, r.Unit.Format(best.value), r.Unit.Format(best.base))
	if best.ratio >= runner.Gain {
		return sentence
	}
	if best.ratio >= 1 {
		return fmt.Sprintf("Nothing was gained: the best row, %s, is at %s of %s%s (%s against %s).", quote(best.name),
			runner.FormatRatio(best.ratio), quote(best.baseName), best.where, r.Unit.Format(best.value), r.Unit.Format(best.base))
	}
	return fmt.Sprintf("Nothing was gained: no row is better than %s; the nearest, %s, is at %s of it%s (%s against %s).", quote(best.baseName),
		quote(best.name), runner.FormatRatio(best.ratio), best.where, r.Unit.Format(best.value), r.Unit.Format(best.base))
}

// comparison is a row beside that which it is compared with.
type comparison struct {
	name, baseName     string
	value, base, ratio float64
	where              string // at which X, " at 8 threads"
}

// bestOf finds the best row of those that are compared with the first; on curves, of those
// that stand at the same X as a point of the first curve. If no row is, it is
// the best of those that are compared with another row.
func bestOf(r *runner.Result) (best comparison, ok bool) {
	take := func(c comparison) {
		c.ratio = r.Unit.Ratio(c.base, c.value)
		// Of those that differ by rounding alone, the first.
		if finite(c.ratio) && (!ok || c.ratio > best.ratio*(1+1e-9)) {
			best, ok = c, true
		}
	}
	first := r.Rows[0]
	for _, row := range r.Rows[1:] {
		if row.Count == 0 {
			continue
		}
		switch base, x := first, row.X; {
		case row.Series == "" && row.Base == "" && first.Series == "" && first.Count > 0:
			take(comparison{name: row.Name, baseName: base.Name, value: row.Median, base: base.Median})
		case row.Series != "" && row.Series != first.Series && first.Series != "":
			for _, b := range r.Rows {
				if b.Series == first.Series && b.X == x && b.Count > 0 {
					take(comparison{name: row.Series, baseName: b.Series, value: row.Median, base: b.Median, where: " at " + countOf(x, xName(r))})
				}
			}
		}
	}
	if ok {
		return best, true
	}
	for _, row := range r.Rows {
		for _, b := range r.Rows {
			if row.Base != "" && row.Base == b.Name && row.Name != b.Name && row.Count > 0 && b.Count > 0 {
				take(comparison{name: row.Name, baseName: b.Name, value: row.Median, base: b.Median})
			}
		}
	}
	return best, ok
}

// alone says what there is to say of rows that cannot be compared.
func alone(r *runner.Result) string {
	best := -1
	for i, row := range r.Rows {
		if row.Count > 0 && !math.IsNaN(row.Median) && (best < 0 || r.Unit.Ratio(r.Rows[best].Median, row.Median) > 1) {
			best = i
		}
	}
	row, first := r.Rows[best], r.Rows[0]
	why := "there is no other row to compare it with"
	switch {
	case first.Count == 0:
		why = quote(first.Name) + " was not measured, so there is no ratio"
	case best > 0:
		why = "nothing says what to compare it with"
	}
	return fmt.Sprintf("%s is at %s; %s.", quote(row.Name), r.Unit.Format(row.Median), why)
}

func better(u runner.Unit) string {
	switch u {
	case runner.Seconds, runner.PerSecond, runner.BytesPerSecond:
		return "faster"
	case runner.Bytes:
		return "smaller"
	case runner.Count:
	}
	return "better"
}

func quote(name string) string { return "“" + name + "”" }

// countOf says "1 thread" and "8 threads".
func countOf(n float64, what string) string {
	if n == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	return strconv.FormatFloat(n, 'g', 6, 64) + " " + what
}
