package report

import (
	"cmp"
	"fmt"
	"slices"
)

// Sizes of the names of curves.
const (
	keyWidth = 38.0  // of the piece of line in a legend
	keyGap   = 18.0  // between two entries of it
	endRoom  = 150.0 // the most that a name at the end of its curve may take
	endGap   = 14.0  // between the chart and the names at its right
	markRoom = 14.0  // of the mark before such a name
)

func nameOf(c curve) string {
	if !anyMeasured([]curve{c}) {
		return c.name + " (not measured)"
	}
	return c.name
}

// legend writes the entries in as many lines as they need and returns the lower edge.
func (c *lineChart) legend(curves []curve, y, width float64) float64 {
	x := 0.0
	for i, curve := range curves {
		lines := wrap(nameOf(curve), width-keyWidth-4, labelWidth)
		need := keyWidth + 4 + widestOf(lines, labelSize)
		if x > 0 && x+need > width {
			x, y = 0, y+lineHeight+4
		}
		c.drawing.path(lineClass(curve, i), fmt.Sprintf("M%v %vh%v", coord(x), coord(y), keyWidth-4))
		c.mark(curve, i, x+keyWidth/2-2, y)
		next := c.drawing.lines("label", x+keyWidth+4, y+4.5, lines)
		x += need + keyGap
		if len(lines) > 1 {
			x, y = width, next-4.5-lineHeight
		}
	}
	return y + lineHeight
}

// endLabel is the name of a curve, to stand where that ends.
type endLabel struct {
	curve curve
	place int // in the list of curves
	lines []string
	last  point // the last that was measured; its y is NaN without one
	y     float64
}

func (l endLabel) height() float64 { return float64(len(l.lines))*lineHeight + 2 }

func endLabels(curves []curve) []endLabel {
	labels := make([]endLabel, len(curves))
	for i, c := range curves {
		labels[i] = endLabel{curve: c, place: i, lines: wrap(nameOf(c), endRoom, labelWidth), last: c.last()}
	}
	return labels
}

func heightOf(labels []endLabel) float64 {
	sum := 0.0
	for _, l := range labels {
		sum += l.height()
	}
	return sum
}

// widestEnd returns the room that names at the ends of their curves need.
func widestEnd(labels []endLabel) float64 {
	widest := 0.0
	for _, l := range labels {
		widest = max(widest, widestOf(l.lines, labelSize))
	}
	return endGap + markRoom + widest + 2
}

// ends writes the names at the right of the chart, each as near to the end of its curve as
// the others let it. A thin line leads to it where the curve ends at the last X; from
// further away it would look like a part of the curve.
func (c *lineChart) ends(labels []endLabel) {
	for i := range labels {
		labels[i].y = c.bottom
		if finite(labels[i].last.y) {
			labels[i].y = c.atY(labels[i].last.y)
		}
	}
	slices.SortStableFunc(labels, func(a, b endLabel) int { return cmp.Compare(a.y, b.y) })
	spread(labels, c.top-lineHeight/2, c.bottom+lineHeight/2)
	x := c.right + endGap
	for _, l := range labels {
		if finite(l.last.y) && c.x.at(l.last.x) == 1 {
			c.drawing.line("leader "+side(l.curve), c.atX(l.last.x)+7, c.atY(l.last.y), x-3, l.y)
		}
		c.mark(l.curve, l.place, x+4, l.y)
		c.drawing.lines("label", x+markRoom, l.y-float64(len(l.lines)-1)*lineHeight/2+4.5, l.lines)
	}
}

// spread moves labels, which are in order and fit, apart: down as far as each must, and up
// again from the lower edge.
func spread(labels []endLabel, top, bottom float64) {
	edge := top
	for i := range labels {
		labels[i].y = max(labels[i].y, edge+labels[i].height()/2)
		edge = labels[i].y + labels[i].height()/2
	}
	edge = bottom
	for i := len(labels) - 1; i >= 0; i-- {
		labels[i].y = min(labels[i].y, edge-labels[i].height()/2)
		edge = labels[i].y - labels[i].height()/2
	}
}
