package report

import (
	"math"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// Sizes of a plot of bars.
const (
	barHeight  = 18.0
	rowGap     = 12.0
	nameRoom   = 210.0 // the most that a name beside its bar may take
	nameGap    = 10.0
	valueGap   = 8.0
	leastChart = 110.0 // what is left for the bars, however long the labels
)

// plotBars draws a bar a row: how long it is says the median, the whisker the quartiles.
func plotBars(r *runner.Result, rows []runner.Row) Plot {
	log := wantsLog(mediansOf(rows))
	p := Plot{
		Caption: "A bar is a median; half of the samples lie within its whisker.",
		Alt:     altOfBars(r, rows),
		wide:    drawBars(r, rows, log, wideWidth, false),
		narrow:  drawBars(r, rows, log, narrowWidth, true),
	}
	if log {
		p.Caption += " The scale is logarithmic: where a bar ends can be read, how long it is says nothing."
	}
	return p
}

// drawBars lays the bars out, with the names beside them or, where it is narrow, above.
func drawBars(r *runner.Result, rows []runner.Row, log bool, width float64, above bool) drawing {
	d := drawing{Width: coord(width)}
	c := barChart{drawing: &d, unit: r.Unit}
	if !above {
		c.names = nameColumn(rows)
		c.left = c.names + nameGap
	}
	lo, hi := extent(rows)
	c.right = max(width-labelRoom(r, rows), c.left+leastChart)
	c.scale = fitScale(lo, hi, log, r.Unit, c.right-c.left, tickWidth)
	c.stretch(r, rows, width)

	// The grid lies below everything, but its height is known last.
	var front drawing
	y := 4.0
	for _, row := range rows {
		c.drawing = &front
		y = c.row(row, ratioLabel(r, row), y, width) + rowGap
	}
	bottom := y - rowGap + 6
	c.drawing = &d
	c.axis(bottom, width)
	d.Shapes = append(d.Shapes, front.Shapes...)
	return d
}

// barChart is where the parts of one plot of bars are.
type barChart struct {
	drawing     *drawing
	unit        runner.Unit
	scale       scale
	left, right float64 // of the axis
	names       float64 // width of the column of names, 0 if they stand above
}

// row draws a row whose top is at y and returns its bottom.
func (c *barChart) row(row runner.Row, ratio string, y, width float64) float64 {
	var top float64
	if c.names == 0 {
		y = c.drawing.lines("name", 0, y+labelSize, wrap(row.Name, width, labelWidth)) - labelSize + 3
		top = y
	} else {
		names := wrap(row.Name, c.names, labelWidth)
		height := max(barHeight, float64(len(names))*lineHeight)
		c.drawing.lines("name end", c.names, y+(height-float64(len(names))*lineHeight)/2+labelSize-1, names)
		top = y + (height-barHeight)/2
		y += height - barHeight
	}
	if row.Count == 0 || !finite(row.Median) {
		x := c.left
		if c.names > 0 {
			x += valueGap // clear of the axis
		}
		notes := wrap(noteOf(row), width-x, tickWidth)
		return max(y+barHeight, c.drawing.lines("note", x, top+labelSize, notes)-labelSize+4)
	}
	c.bar(row, ratio, top)
	return y + barHeight
}

// bar draws bar, whisker and value of a row.
func (c *barChart) bar(row runner.Row, ratio string, y float64) {
	class := "bar"
	if row.Ours {
		class = "bar ours"
	}
	end := c.at(row.Median)
	// A bar of no length would look like a row that was forgotten.
	length := max(end-c.left, 1)
	c.drawing.add(shape{Kind: "rect", Class: class, X: coord(c.left), Y: coord(y), Width: coord(length), Height: barHeight})
	if low, high, ok := quartilesOf(row.Samples); ok {
		x1, x2, middle := c.at(low), c.at(high), y+barHeight/2
		end = max(end, x2)
		c.drawing.line("whisker", x1, middle, x2, middle)
		c.drawing.line("whisker", x1, middle-4, x1, middle+4)
		c.drawing.line("whisker", x2, middle-4, x2, middle+4)
	}
	value := shape{Kind: "text", Class: "value", X: coord(end + valueGap), Y: coord(y + barHeight/2 + 5), Text: c.unit.Format(row.Median)}
	if ratio != "" {
		value.TailText = ratio
	}
	c.drawing.add(value)
}

func (c *barChart) at(v float64) float64 { return c.left + c.scale.at(v)*(c.right-c.left) }

// axis draws grid, ticks and the title below the bars, and sets the height of the drawing.
func (c *barChart) axis(bottom, width float64) {
	texts, unit := c.scale.labels(c.unit)
	for i, t := range c.scale.ticks {
		x := c.at(t)
		c.drawing.line("grid", x, 0, x, bottom)
		label := "tick middle"
		if x-tickWidth(texts[i])/2 < 0 {
			label = "tick"
		}
		c.drawing.text(label, x, bottom+tickSize+4, texts[i])
	}
	if c.names > 0 { // above the bars, names would stand on it
		c.drawing.line("zero", c.left, 0, c.left, bottom)
	}
	title := wrap(axisTitle(quantity(c.unit), c.unit, unit, c.scale.log), width-c.left, tickWidth)
	y := c.drawing.lines("axis", c.left, bottom+2*lineHeight+6, title)
	c.drawing.Height = coord(y - lineHeight + 8)
}

// stretch makes the axis as long as the bars with their values leave room for: the widest
// value need not stand behind the longest bar.
func (c *barChart) stretch(r *runner.Result, rows []runner.Row, width float64) {
	texts, _ := c.scale.labels(c.unit)
	right := width - tickWidth(texts[len(texts)-1])/2
	for _, row := range rows {
		end := max(c.scale.at(row.Median), c.scale.at(upperEnd(row)))
		if room := width - valueRoom(r, row) - c.left; row.Count > 0 && end > 0 {
			right = min(right, c.left+room/end)
		}
	}
	c.right = max(c.right, right)
}

// upperEnd is where the whisker of a row ends, or the bar if it has none.
func upperEnd(row runner.Row) float64 {
	if _, high, ok := quartilesOf(row.Samples); ok {
		return high
	}
	return row.Median
}

// nameColumn returns the width that names beside their bars need, wrapped if must be.
func nameColumn(rows []runner.Row) float64 {
	widest := 0.0
	for _, row := range rows {
		for _, line := range wrap(row.Name, nameRoom, labelWidth) {
			widest = max(widest, labelWidth(line))
		}
	}
	return widest
}

// labelRoom returns the room that the widest value needs.
func labelRoom(r *runner.Result, rows []runner.Row) float64 {
	widest := 0.0
	for _, row := range rows {
		widest = max(widest, valueRoom(r, row))
	}
	return widest
}

// valueRoom returns what the value of a row needs right of its bar.
func valueRoom(r *runner.Result, row runner.Row) float64 {
	if row.Count == 0 {
		return 0
	}
	return valueGap + labelWidth(r.Unit.Format(row.Median)+"  "+ratioLabel(r, row)) + 2
}

// ratioLabel is what stands behind the value of a row. Ratios to another row than the
// first are left to the table, which can say to which.
func ratioLabel(r *runner.Result, row runner.Row) string {
	if row.Base != "" || row.Name == r.Rows[0].Name || !finite(row.Ratio) || r.Unit == runner.Count {
		return ""
	}
	return runner.FormatRatio(row.Ratio)
}

// extent returns the smallest and the largest value that an axis must show.
func extent(rows []runner.Row) (lo, hi float64) {
	values := mediansOf(rows)
	for _, row := range rows {
		if low, high, ok := quartilesOf(row.Samples); ok {
			values = append(values, high)
			if low > 0 {
				values = append(values, low)
			}
		}
	}
	return bounds(values)
}

func noteOf(row runner.Row) string {
	if row.Note != "" {
		return row.Note
	}
	return "not measured"
}

func altOfBars(r *runner.Result, rows []runner.Row) string {
	var parts []string
	for _, row := range rows {
		value := "no figure"
		if row.Count > 0 && !math.IsNaN(row.Median) {
			value = r.Unit.Format(row.Median)
		}
		parts = append(parts, row.Name+": "+value)
	}
	return "Bars of " + quantity(r.Unit) + ". " + strings.Join(parts, "; ") + "."
}
