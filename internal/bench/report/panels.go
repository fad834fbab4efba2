package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// panel is what a drawing has of a result that has several.
type panel struct {
	name string
	rows []runner.Row
}

// panelsOf parts the rows of panels, in the order in which these first come, from the others.
func panelsOf(points []runner.Row) (panels []panel, others []runner.Row) {
	for _, row := range points {
		if row.Panel == "" {
			others = append(others, row)
			continue
		}
		i := slices.IndexFunc(panels, func(p panel) bool { return p.name == row.Panel })
		if i < 0 {
			i = len(panels)
			panels = append(panels, panel{name: row.Panel})
		}
		panels[i].rows = append(panels[i].rows, row)
	}
	return panels, others
}

// plotPanels draws the ratios of each panel, and below them the latencies of its rows.
func plotPanels(r *runner.Result, panels []panel) (plots []Plot) {
	for _, p := range panels {
		curves := p.curves(slices.DeleteFunc(slices.Clone(p.rows), func(row runner.Row) bool { return row.Base == row.Name }), ratioOf)
		if anyMeasured(curves) {
			plot := plotLinesOver(r, quantity(r.Unit)+", times "+p.baseName(r)+", "+p.name, runner.Count, curves, 1)
			plot.Caption = "A point is the ratio of two medians; above the line at 1 is better."
			plots = append(plots, plot)
		}
		for _, m := range r.Beside {
			if curves := p.curves(p.rows, besideOf(m.Name)); hasPlot(m, curves) {
				plots = append(plots, plotLines(r, m.Name+", "+p.name, m.Unit, curves))
			}
		}
	}
	return plots
}

// curves are those of rows, without the name of the panel in theirs.
func (p panel) curves(rows []runner.Row, value func(runner.Row) point) []curve {
	curves := curvesOf(rows, value)
	for i := range curves {
		curves[i].name = strings.Replace(curves[i].name, ", "+p.name, "", 1)
	}
	return curves
}

// baseName is what the rows of a panel are compared with.
func (p panel) baseName(r *runner.Result) string {
	name, _, _ := strings.Cut(r.BaseOf(&p.rows[0]).Series, ", "+p.name)
	return fmt.Sprintf("that of %q", name)
}

// ratioOf takes the ratio of a row.
func ratioOf(row runner.Row) point {
	p := point{x: row.X, y: math.NaN(), low: math.NaN(), high: math.NaN()}
	if row.Count > 0 && finite(row.Ratio) {
		p.y = row.Ratio
	}
	return p
}
