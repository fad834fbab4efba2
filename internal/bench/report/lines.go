package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// Sizes of a plot of lines.
const (
	wideChart   = 250.0 // height
	narrowChart = 210.0
	insetX      = 14.0 // between the axis and the first points
	yTickGap    = 8.0
)

// How many looks there are. The colour of a curve says whose it is. The shape of its points is
// that of its place in the list, and its dashes move on by one each time that the shapes are used
// up, so that no two of the first 32 look alike.
const (
	looks  = 8
	dashes = 4
)

// plotLines draws a line a Series over X. what is the name of a further measure, "" for
// the value of the scenario.
func plotLines(r *runner.Result, what string, u runner.Unit, curves []curve) Plot {
	return plotLinesOver(r, what, u, curves, math.NaN())
}

// plotLinesOver is plotLines with a line across at a value, that of what the curves are compared with.
func plotLinesOver(r *runner.Result, what string, u runner.Unit, curves []curve, over float64) Plot {
	p := Plot{
		Name:    what,
		Caption: "A point is a median; half of the samples lie within its whisker.",
		wide:    drawLines(r, what, u, curves, over, wideWidth, wideChart),
		narrow:  drawLines(r, what, u, curves, over, narrowWidth, narrowChart),
	}
	if what != "" {
		p.Caption = "A point is the median of the rounds."
	}
	var names []string
	for _, c := range curves {
		names = append(names, c.name)
	}
	p.Alt = fmt.Sprintf("Lines of %s by %s for %s. The table has the figures.", titleOf(what, u), xName(r), strings.Join(names, "; "))
	return p
}

func titleOf(what string, u runner.Unit) string {
	if what == "" {
		return quantity(u)
	}
	return what
}

func xName(r *runner.Result) string {
	if r.XName == "" {
		return "x"
	}
	return r.XName
}

// lineChart is where the parts of one plot of lines are.
type lineChart struct {
	drawing     *drawing
	x, y        scale
	left, right float64
	top, bottom float64
}

func drawLines(r *runner.Result, what string, u runner.Unit, curves []curve, over, width, height float64) drawing {
	d := drawing{Width: coord(width)}
	medians, all := mediansOfCurves(curves)
	lo, hi := bounds(all)
	if positive := slices.DeleteFunc(slices.Clone(all), func(v float64) bool { return !(v > 0) }); len(positive) > 0 {
		lo, _ = bounds(positive)
	}
	log := wantsLog(medians)
	// Labels of this axis lie one above the other: what must keep apart is their height.
	c := lineChart{drawing: &d, y: fitScale(lo, hi, log, u, height, func(string) float64 { return tickSize - 2 })}
	texts, unit := c.y.labels(u)
	c.left, c.right = widestOf(texts, tickSize)+yTickGap, width-6

	y := d.lines("axis", 0, tickSize, wrap(axisTitle(titleOf(what, u), u, unit, log), width, tickWidth))
	names := endLabels(curves)
	atEnds := width >= wideWidth && heightOf(names) <= height
	if atEnds {
		c.top = y
		c.right = width - widestEnd(names)
	} else {
		c.top = c.legend(curves, y+4, width) + 6
	}
	c.bottom = c.top + height
	c.grid(texts)
	if finite(over) {
		c.drawing.line("zero", c.left, c.atY(over), c.right, c.atY(over))
	}
	c.xAxis(xsOf(curves), r)
	for i, curve := range curves {
		c.curve(curve, i)
	}
	if atEnds {
		c.ends(names)
	}
	return d
}

// grid draws the ticks of the vertical axis.
func (c *lineChart) grid(texts []string) {
	for i, t := range c.y.ticks {
		y := c.atY(t)
		c.drawing.line("grid", c.left, y, c.right, y)
		c.drawing.text("tick end", c.left-yTickGap, y+4, texts[i])
	}
	c.drawing.line("zero", c.left, c.bottom, c.right, c.bottom)
}

// xAxis chooses the horizontal scale, and draws its ticks and title.
func (c *lineChart) xAxis(xs []float64, r *runner.Result) {
	doubling := doubles(xs)
	c.x = xScale(xs, doubling)
	ticks := c.x.ticks
	for i, text := range c.xTexts(ticks) {
		if text == "" {
			continue
		}
		x := c.atX(ticks[i])
		c.drawing.line("grid", x, c.bottom, x, c.bottom+4)
		c.drawing.text("tick middle", x, c.bottom+tickSize+6, text)
	}
	title := xName(r)
	if doubling {
		title += ", logarithmic scale"
	}
	y := c.drawing.lines("axis", c.left, c.bottom+2*lineHeight+6, wrap(title, c.right-c.left, tickWidth))
	c.drawing.Height = coord(y - lineHeight + 8)
}

// xTexts returns the labels of the ticks, "" where one would meet the label before it.
func (c *lineChart) xTexts(ticks []float64) []string {
	texts := make([]string, len(ticks))
	free := math.Inf(-1)
	for i, t := range ticks {
		text := strconv.FormatFloat(t, 'g', 6, 64)
		half := tickWidth(text) / 2
		if x := c.atX(t); x-half >= free {
			texts[i] = text
			free = x + half + tickGap
		}
	}
	return texts
}

// doubles says whether X goes up by doubling, as a sweep of threads does: 1, 2, 4, ... 64.
func doubles(xs []float64) bool {
	if len(xs) < 3 || xs[0] <= 0 {
		return false
	}
	for i := 1; i < len(xs); i++ {
		if xs[i] < 1.4*xs[i-1] {
			return false
		}
	}
	return true
}

// xScale has its ticks at the powers of two where X goes up by these, at X where it begins elsewhere, and else
// at nice numbers.
func xScale(xs []float64, doubling bool) scale {
	lo, hi := xs[0], xs[len(xs)-1]
	if doubling {
		s := scale{lo: lo, hi: hi, log: true}
		if math.Exp2(math.Round(math.Log2(lo))) != lo {
			s.ticks = xs // it goes up by other steps: by its own
			return s
		}
		for t := math.Exp2(math.Ceil(math.Log2(lo) - 1e-9)); t <= hi*(1+1e-9); t *= 2 {
			s.ticks = append(s.ticks, t)
		}
		return s
	}
	if lo == hi {
		return scale{lo: lo - 1, hi: hi + 1, ticks: []float64{lo}}
	}
	s := linearScale(hi, maxTicks)
	if lo < 0 {
		s.lo, s.ticks = lo, xs
	}
	return s
}

func (c *lineChart) atX(v float64) float64 {
	return c.left + insetX + c.x.at(v)*(c.right-c.left-2*insetX)
}

func (c *lineChart) atY(v float64) float64 { return c.bottom - c.y.at(v)*(c.bottom-c.top) }

// curve draws whiskers, line and points. The line is broken where nothing was measured.
func (c *lineChart) curve(v curve, i int) {
	var path strings.Builder
	pen := "M"
	for _, p := range v.points {
		if !finite(p.y) {
			pen = "M"
			continue
		}
		x := c.atX(p.x)
		fmt.Fprintf(&path, "%s%v %v", pen, coord(x), coord(c.atY(p.y)))
		pen = "L"
		if finite(p.low) && finite(p.high) {
			c.drawing.line("spread "+side(v), x, c.atY(p.low), x, c.atY(p.high))
		}
	}
	if path.Len() == 0 {
		return
	}
	c.drawing.path(lineClass(v, i), path.String())
	for _, p := range v.points {
		if finite(p.y) {
			c.mark(v, i, c.atX(p.x), c.atY(p.y))
		}
	}
}

// side is the class that gives a curve its colour.
func side(v curve) string {
	if v.ours {
		return "ours"
	}
	return "other"
}

func lineClass(v curve, i int) string {
	return fmt.Sprintf("line %s d%d", side(v), (i%looks+i/looks)%dashes)
}

// marks are the shapes of points, each about 9 units wide around 0,0.
var marks = [looks]string{
	"m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",                        // circle
	"m-3.8-3.8h7.6v7.6h-7.6z",                                   // square
	"m0-5l4.8 8.6h-9.6z",                                        // triangle
	"m0-5.2l5.2 5.2l-5.2 5.2l-5.2-5.2z",                         // diamond
	"m0 5l4.8-8.6h-9.6z",                                        // triangle on its tip
	"m-1.7-5h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3v-3.4h3.3z", // plus
	"m-5 0l2.5-4.4h5l2.5 4.4l-2.5 4.4h-5z",                      // hexagon
	"m-5-5l5 3.2l5-3.2l-3.2 5l3.2 5l-5-3.2l-5 3.2l3.2-5z",       // star
}

func (c *lineChart) mark(v curve, i int, x, y float64) {
	c.drawing.path("mark "+side(v), fmt.Sprintf("M%v %v%s", coord(x), coord(y), marks[i%looks]))
}
