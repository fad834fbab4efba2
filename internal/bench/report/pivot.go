package report

import (
	"slices"
	"strconv"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// pivot is a table of curves: a line a Series, a column an X.
type pivot struct {
	title   string // "" for none
	by      string // what the columns count, "" where they are measures
	columns []string
	rows    [][]string // the name of the Series, and its values
}

// pivotsOf returns a table of the medians of the rows with a Series, one of each latency and rate of
// bytes beside them, and one of what is told once of each Series.
func pivotsOf(r *runner.Result) []pivot {
	var points []runner.Row
	for _, row := range r.Rows {
		if row.Series != "" {
			points = append(points, row)
		}
	}
	if len(points) == 0 {
		return nil
	}
	tables := ratiosOf(points)
	tables = append(tables, pivotOf(quantity(r.Unit), r.Unit, curvesOf(points, valueOf)))
	for _, m := range r.Beside {
		if curves := curvesOf(points, besideOf(m.Name)); hasPlot(m, curves) {
			tables = append(tables, pivotOf(m.Name, m.Unit, curves))
		}
	}
	for i := range tables {
		tables[i].by = xName(r)
	}
	if once := onceOf(r, points); once.columns != nil {
		tables = append(tables, once)
	}
	return tables
}

// ratiosOf is a table of the ratios of the rows of panels, without what these are to; none if there are no panels.
func ratiosOf(points []runner.Row) []pivot {
	points = slices.DeleteFunc(slices.Clone(points), func(row runner.Row) bool { return row.Panel == "" || row.Base == row.Name })
	if curves := curvesOf(points, ratioOf); anyMeasured(curves) {
		t := pivotOf("ratio", runner.Count, curves)
		for i, c := range curves {
			for j, x := range xsOf(curves) {
				t.rows[i][j+1] = runner.FormatRatio(c.at(x).y)
			}
		}
		return []pivot{t}
	}
	return nil
}

// onceOf is a table of the measures that no Series has at more than one X: they are of all of it. It has no
// columns if there are none.
func onceOf(r *runner.Result, points []runner.Row) pivot {
	var t pivot
	for _, m := range r.Beside {
		curves := curvesOf(points, besideOf(m.Name))
		if !anyMeasured(curves) || slices.ContainsFunc(curves, func(c curve) bool { return len(c.points) < 2 || c.measured() > 1 }) {
			continue
		}
		t.columns = append(t.columns, m.Name)
		for i, c := range curves {
			if len(t.columns) == 1 {
				t.rows = append(t.rows, []string{c.name})
			}
			t.rows[i] = append(t.rows[i], m.Unit.Format(c.last().y))
		}
	}
	return t
}

func pivotOf(title string, u runner.Unit, curves []curve) pivot {
	t := pivot{title: title}
	xs := xsOf(curves)
	for _, x := range xs {
		t.columns = append(t.columns, strconv.FormatFloat(x, 'g', 6, 64))
	}
	for _, c := range curves {
		cells := []string{c.name}
		for _, x := range xs {
			cells = append(cells, u.Format(c.at(x).y))
		}
		t.rows = append(t.rows, cells)
	}
	return t
}
