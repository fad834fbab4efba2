package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// Sizes of a drawing, in units that are pixels where there is room for it.
const (
	wideWidth   = 640
	narrowWidth = 320
	labelSize   = 13.0 // of names and values
	tickSize    = 12.0 // of ticks, titles of axes, notes
	titleSize   = 16.0
	boldWidth   = 1.1 // how much wider letters are in the title
	lineHeight  = 16.0
	tickGap     = 10.0 // between the labels of two ticks
)

// Plot is a drawing of a result, laid out twice: for a screen or paper, and for a phone,
// where the names stand above the bars and letters keep their size.
type Plot struct {
	// Name is that of the further measure that is drawn, "" for the value of the scenario.
	Name string
	// Caption says what the marks mean.
	Caption string
	// Alt is what a screen reader says in place of the drawing.
	Alt string
	// Title and Origin stand above a drawing of its own: what was measured, and where and when.
	Title, Origin string
	wide, narrow  drawing
}

// Plots draws a result: bars of the rows without a Series, lines of those with one, and
// lines of every latency and rate of bytes that was measured beside. It returns none for a result without a
// figure.
func Plots(r *runner.Result) []Plot {
	var plots []Plot
	var bars, points []runner.Row
	for _, row := range r.Rows {
		if row.Series == "" {
			bars = append(bars, row)
		} else {
			points = append(points, row)
		}
	}
	if anyFinite(mediansOf(bars)) {
		plots = append(plots, plotBars(r, bars))
	}
	panels, points := panelsOf(points)
	plots = append(plots, plotPanels(r, panels)...)
	if anyFinite(mediansOf(points)) {
		plots = append(plots, plotLines(r, "", r.Unit, curvesOf(points, valueOf)))
	}
	for _, m := range r.Beside {
		curves := curvesOf(points, besideOf(m.Name))
		if hasPlot(m, curves) {
			plots = append(plots, plotLines(r, m.Name, m.Unit, curves))
		}
	}
	for i := range plots {
		plots[i].Title, plots[i].Origin = titleOfPlot(r, plots[i].Name), originOf(r)
	}
	return plots
}

// WriteSVG writes a plot as a file of its own, 672 units wide, with its colours inside:
// those of a light or a dark page, as the reader prefers.
func WriteSVG(w io.Writer, p Plot) error {
	if err := templates().ExecuteTemplate(w, "plot.svg.tmpl", ownFigure(p)); err != nil {
		return fmt.Errorf("write plot: %w", err)
	}
	return nil
}

// wide and narrow are for the template of a page, which holds both and shows that which fits.
func wide(p Plot) figure   { return figure{Drawing: p.wide, Alt: clean(p.Alt)} }
func narrow(p Plot) figure { return figure{Drawing: p.narrow, Alt: clean(p.Alt)} }

// ownFigure is a plot as a file of its own, with its title above it.
func ownFigure(p Plot) figure {
	f := figure{Drawing: p.wide, Alt: clean(p.Alt), Alone: true}
	var head drawing
	y := head.lines("title", 0, titleSize, wrap(p.Title, wideWidth, titleWidth))
	y = head.lines("origin", 0, y+2, wrap(p.Origin, wideWidth, tickWidth))
	f.Head = coord(y)
	for _, s := range head.Shapes {
		s.Y -= f.Head
		f.Drawing.Shapes = append(f.Drawing.Shapes[:len(f.Drawing.Shapes):len(f.Drawing.Shapes)], s)
	}
	return f
}

// figure is what the template of a drawing takes.
type figure struct {
	Drawing drawing
	Alt     string
	// Alone says that the drawing brings its own colours, background and margin, and a head of the
	// height Head above it.
	Alone bool
	Head  coord
}

// margin is what a drawing of its own has around it.
const margin coord = 16

// Width and Height are those of a drawing of its own.
func (f figure) Width() coord  { return f.Drawing.Width + 2*margin }
func (f figure) Height() coord { return f.Head + f.Drawing.Height + 2*margin }

// Top is where a drawing of its own begins.
func (f figure) Top() coord { return -margin - f.Head }

// ViewBox is the part of the plane that is shown.
func (f figure) ViewBox() string {
	if f.Alone {
		return fmt.Sprintf("%v %v %v %v", -margin, f.Top(), f.Width(), f.Height())
	}
	return fmt.Sprintf("0 0 %v %v", f.Drawing.Width, f.Drawing.Height)
}

// drawing is a list of shapes, painted in order.
type drawing struct {
	Width, Height coord
	Shapes        []shape
}

// shape is a thing to paint. Its look belongs to its class, in plot.css.
type shape struct {
	Kind, Class          string // Kind: rect, line, path, text
	X, Y                 coord
	Width, Height        coord // of a rect
	X2, Y2               coord // the other end of a line
	Path, Text, TailText string
}

// coord is a position, written with at most one digit behind the point.
type coord float64

func (c coord) String() string {
	return strconv.FormatFloat(math.Round(float64(c)*10)/10+0, 'f', -1, 64)
}

func (d *drawing) add(s shape) { d.Shapes = append(d.Shapes, s) }

func (d *drawing) line(class string, x, y, x2, y2 float64) {
	d.add(shape{Kind: "line", Class: class, X: coord(x), Y: coord(y), X2: coord(x2), Y2: coord(y2)})
}

func (d *drawing) path(class, path string) { d.add(shape{Kind: "path", Class: class, Path: path}) }

// text writes a line whose left end, or the end that the class names, is at x, and whose
// letters stand on y.
func (d *drawing) text(class string, x, y float64, text string) {
	d.add(shape{Kind: "text", Class: class, X: coord(x), Y: coord(y), Text: clean(text)})
}

// lines writes a wrapped text and returns where the next line would stand.
func (d *drawing) lines(class string, x, y float64, lines []string) float64 {
	for _, l := range lines {
		d.text(class, x, y, l)
		y += lineHeight
	}
	return y
}

func labelWidth(text string) float64 { return widthOf(text, labelSize) }
func tickWidth(text string) float64  { return widthOf(text, tickSize) }
func titleWidth(text string) float64 { return widthOf(text, titleSize) * boldWidth }

func mediansOf(rows []runner.Row) []float64 {
	values := make([]float64, len(rows))
	for i, row := range rows {
		values[i] = row.Median
		if row.Count == 0 {
			values[i] = math.NaN()
		}
	}
	return values
}

func anyFinite(values []float64) bool { return slices.ContainsFunc(values, finite) }

// quartilesOf returns the values that half of the samples lie between, those whose
// distance the table calls the spread; ok is false where there are too few for one.
func quartilesOf(samples []float64) (low, high float64, ok bool) {
	sorted := slices.DeleteFunc(slices.Clone(samples), func(v float64) bool { return !finite(v) })
	if len(sorted) < 2 {
		return 0, 0, false
	}
	slices.Sort(sorted)
	return runner.Quantile(sorted, 0.25), runner.Quantile(sorted, 0.75), true
}

// axisTitle says what an axis counts, in which unit, and which way is better.
func axisTitle(what string, u runner.Unit, unit string, log bool) string {
	text := what
	if unit != "" {
		text += " (" + unit + ")"
	}
	if log {
		text += ", logarithmic scale"
	}
	switch {
	case u == runner.Count:
	case u.MoreIsBetter():
		text += ", more is better"
	default:
		text += ", less is better"
	}
	return text
}

// quantity is what the medians of a scenario are, for the title of an axis.
func quantity(u runner.Unit) string {
	switch u {
	case runner.Seconds:
		return "median time"
	case runner.PerSecond, runner.BytesPerSecond:
		return "median rate"
	case runner.Bytes:
		return "median size"
	case runner.Count:
		return "median number"
	}
	return "median"
}
