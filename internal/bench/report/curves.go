package report

import (
	"cmp"
	"math"
	"regexp"
	"slices"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// curve is the rows of one Series, by X.
type curve struct {
	name   string
	ours   bool // it is of Ramaria
	points []point
}

// point is a median at an X; y is NaN where nothing was measured.
type point struct {
	x, y      float64
	low, high float64 // the quartiles, NaN if they are not known
}

// latencies are further measures that get a plot of their own: "p99 latency", "longest write".
var latencies = regexp.MustCompile(`(?i)latency|^p[0-9]+|^longest `)

// hasPlot says whether a further measure gets a plot of its own: latencies, and the rates of a scenario
// whose value is one of bytes.
func hasPlot(m runner.Measure, curves []curve) bool {
	return (latencies.MatchString(m.Name) || m.Unit == runner.BytesPerSecond) && anyMeasured(curves)
}

// curvesOf groups rows by their Series, in the order in which these first come.
func curvesOf(rows []runner.Row, value func(runner.Row) point) []curve {
	var curves []curve
	for _, row := range rows {
		i := slices.IndexFunc(curves, func(c curve) bool { return c.name == row.Series })
		if i < 0 {
			i = len(curves)
			curves = append(curves, curve{name: row.Series, ours: row.Ours})
		}
		curves[i].points = append(curves[i].points, value(row))
	}
	for _, c := range curves {
		slices.SortStableFunc(c.points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	}
	return curves
}

// valueOf takes the median of a row and its quartiles.
func valueOf(row runner.Row) point {
	p := point{x: row.X, y: math.NaN(), low: math.NaN(), high: math.NaN()}
	if row.Count == 0 || !finite(row.Median) {
		return p
	}
	p.y = row.Median
	if low, high, ok := quartilesOf(row.Samples); ok {
		p.low, p.high = low, high
	}
	return p
}

// besideOf takes a further measure of a row.
func besideOf(name string) func(runner.Row) point {
	return func(row runner.Row) point {
		p := point{x: row.X, y: math.NaN(), low: math.NaN(), high: math.NaN()}
		if v, told := row.Beside[name]; told && finite(v) {
			p.y = v
		}
		return p
	}
}

func anyMeasured(curves []curve) bool {
	return slices.ContainsFunc(curves, func(c curve) bool {
		return slices.ContainsFunc(c.points, func(p point) bool { return finite(p.y) })
	})
}

// at returns the point of a curve at x, or one whose y is NaN.
func (c curve) at(x float64) point {
	for _, p := range c.points {
		if p.x == x {
			return p
		}
	}
	return point{x: x, y: math.NaN()}
}

// measured is how many of its points were measured.
func (c curve) measured() (n int) {
	for _, p := range c.points {
		if finite(p.y) {
			n++
		}
	}
	return n
}

// last returns the last point that was measured, or one whose y is NaN.
func (c curve) last() point {
	last := point{y: math.NaN()}
	for _, p := range c.points {
		if finite(p.y) {
			last = p
		}
	}
	return last
}

// xsOf returns every X at which a curve has a point, ascending.
func xsOf(curves []curve) []float64 {
	var xs []float64
	for _, c := range curves {
		for _, p := range c.points {
			xs = append(xs, p.x)
		}
	}
	slices.Sort(xs)
	return slices.Compact(xs)
}

func mediansOfCurves(curves []curve) (medians, all []float64) {
	for _, c := range curves {
		for _, p := range c.points {
			medians = append(medians, p.y)
			all = append(all, p.y, p.low, p.high)
		}
	}
	return medians, all
}
