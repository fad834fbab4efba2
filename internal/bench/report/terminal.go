package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// LeastWidth is how many columns Bars takes, even if it is told that there are fewer.
const LeastWidth = 60

// How a terminal is told to paint.
const (
	paintTitle  = "\x1b[1m"
	paintBase   = "\x1b[90m"
	paintBar    = "\x1b[36m"
	paintSoft   = "\x1b[2m"
	paintPlain  = "\x1b[0m"
	terminalGap = "  "
)

// eighths are the blocks that end a bar: none, an eighth of a column, two, ...
var eighths = []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}

// Bars draws a result for a terminal of width columns: a bar a row, with median and ratio,
// and a table of Series by X where rows have these. It comes below the table of the result,
// and says no title. color paints it.
func Bars(w io.Writer, r *runner.Result, width int, color bool) error {
	t := terminal{width: max(width, LeastWidth), color: color}
	t.bars(r)
	for _, p := range pivotsOf(r) {
		t.pivot(p)
	}
	if _, err := io.WriteString(w, t.out.String()); err != nil {
		return fmt.Errorf("write bars: %w", err)
	}
	return nil
}

type terminal struct {
	out   strings.Builder
	width int
	color bool
}

// line writes a text, painted, in as many lines as it needs.
func (t *terminal) line(paint, text string) {
	for _, l := range wrap(clean(text), float64(t.width), columns) {
		t.out.WriteString(t.paint(paint, l) + "\n")
	}
}

func (t *terminal) paint(paint, text string) string {
	if !t.color || paint == "" || text == "" {
		return text
	}
	return paint + text + paintPlain
}

// columns counts runes: µ has two bytes and one column.
func columns(text string) float64 { return float64(utf8.RuneCountInString(text)) }

func widest(texts []string) int {
	n := 0
	for _, t := range texts {
		n = max(n, utf8.RuneCountInString(t))
	}
	return n
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0))
}

func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0)) + text
}

// bars draws the rows without a Series.
func (t *terminal) bars(r *runner.Result) {
	var rows []runner.Row
	var names, values, ratios []string
	for _, row := range r.Rows {
		if row.Series != "" {
			continue
		}
		rows = append(rows, row)
		names = append(names, wrap(clean(row.Name), float64(t.width/3), columns)...)
		values = append(values, valueLabel(r, row))
		ratios = append(ratios, ratioLabel(r, row))
	}
	if len(rows) == 0 {
		return
	}
	nameWidth, valueWidth, ratioWidth := widest(names), widest(values), widest(ratios)
	room := t.width - nameWidth - valueWidth - ratioWidth - 3*len(terminalGap)
	medians := mediansOf(rows)
	lo, hi := bounds(medians)
	s := scale{hi: hi}
	if wantsLog(medians) {
		s = logScale(lo, hi, maxTicks)
	}
	for i, row := range rows {
		lines := wrap(clean(row.Name), float64(nameWidth), columns)
		for len(lines) < 1 {
			lines = append(lines, "")
		}
		if values[i] == "" {
			t.note(lines, nameWidth, noteOf(row))
			continue
		}
		paint := paintBar
		if row.Name == r.Rows[0].Name {
			paint = paintBase
		}
		bar := block(s.at(row.Median) * float64(room))
		t.out.WriteString(pad(lines[0], nameWidth) + terminalGap + t.paint(paint, bar) + strings.Repeat(" ", room-utf8.RuneCountInString(bar)) +
			terminalGap + padLeft(values[i], valueWidth))
		if ratioWidth > 0 && ratios[i] != "" {
			t.out.WriteString(terminalGap + t.paint(paintSoft, padLeft(ratios[i], ratioWidth)))
		}
		t.out.WriteString("\n")
		for _, l := range lines[1:] {
			t.out.WriteString(l + "\n")
		}
	}
	t.legend(r, s, anyFinite(medians))
}

// note writes a row without a figure: its reason, in place of the bar.
func (t *terminal) note(names []string, nameWidth int, note string) {
	notes := wrap(clean(note), float64(t.width-nameWidth-len(terminalGap)), columns)
	for i := range max(len(names), len(notes)) {
		name, note := "", ""
		if i < len(names) {
			name = names[i]
		}
		if i < len(notes) {
			note = terminalGap + t.paint(paintSoft, notes[i])
			name = pad(name, nameWidth)
		}
		t.out.WriteString(name + note + "\n")
	}
}

// legend says what the length of a bar means.
func (t *terminal) legend(r *runner.Result, s scale, measured bool) {
	if !measured {
		return
	}
	text := axisTitle("bars: "+quantity(r.Unit), r.Unit, "", false)
	if s.log {
		text = axisTitle("bars: "+quantity(r.Unit), r.Unit, "", true) + fmt.Sprintf(", from %s to %s: lengths are not in proportion",
			shorten(r.Unit.Format(s.lo)), shorten(r.Unit.Format(s.hi)))
	}
	t.line(paintSoft, text)
}

// valueLabel is the median, or "" for a row without figures.
func valueLabel(r *runner.Result, row runner.Row) string {
	if row.Count == 0 || !finite(row.Median) {
		return ""
	}
	return r.Unit.Format(row.Median)
}

// block draws a bar of a length in columns. One above nothing is at least an eighth long.
func block(length float64) string {
	n := int(math.Round(length * 8))
	if length > 0 {
		n = max(n, 1)
	}
	return strings.Repeat("█", n/8) + eighths[n%8]
}

// pivot writes a table of curves, in several parts where its columns are too many.
func (t *terminal) pivot(p pivot) {
	x := p.by
	if x != "" {
		t.line("", upperFirst(p.title)+" by "+x)
	}
	names := []string{x}
	for _, row := range p.rows {
		names = append(names, wrap(clean(row[0]), float64(t.width/3), columns)...)
	}
	nameWidth := widest(names)
	for from := 0; from < len(p.columns); {
		var widths []int
		to, used := from, nameWidth
		for ; to < len(p.columns); to++ {
			cells := []string{p.columns[to]}
			for _, row := range p.rows {
				cells = append(cells, row[to+1])
			}
			width := widest(cells)
			used += len(terminalGap) + width
			if used > t.width && to > from {
				break
			}
			widths = append(widths, width)
		}
		t.out.WriteString(t.paint(paintTitle, pad(x, nameWidth)+cellsOf(p.columns[from:to], widths)) + "\n")
		for _, row := range p.rows {
			lines := wrap(clean(row[0]), float64(nameWidth), columns)
			t.out.WriteString(pad(lines[0], nameWidth) + cellsOf(row[from+1:to+1], widths) + "\n")
			for _, l := range lines[1:] {
				t.out.WriteString(l + "\n")
			}
		}
		from = to
	}
}

func cellsOf(cells []string, widths []int) string {
	var b strings.Builder
	for i, c := range cells {
		b.WriteString(terminalGap + padLeft(c, widths[i]))
	}
	return b.String()
}
