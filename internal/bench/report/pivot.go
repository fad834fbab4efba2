package report

import (
	"strconv"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// pivot is a table of curves: a line a Series, a column an X.
type pivot struct {
	title   string
	columns []string
	rows    [][]string // the name of the Series, and its values
}

// pivotsOf returns a table of the medians of the rows with a Series, and one of each
// latency beside them.
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
	tables := []pivot{pivotOf(quantity(r.Unit), r.Unit, curvesOf(points, valueOf))}
	for _, m := range r.Beside {
		if curves := curvesOf(points, besideOf(m.Name)); isLatency(m.Name) && anyMeasured(curves) {
			tables = append(tables, pivotOf(m.Name, m.Unit, curves))
		}
	}
	return tables
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
