package runner

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// TableOptions say how a table is written.
type TableOptions struct {
	// Color sets the heading in bold. Only for terminals: the caller knows what it
	// writes to.
	Color bool
}

const (
	bold  = "\x1b[1m"
	plain = "\x1b[0m"
	// columnGap is the space between two columns.
	columnGap = "  "
)

// WriteTable writes the result as an aligned table: a line that says what was
// measured, the heading, a line per row in the order of the cases.
func (r *Result) WriteTable(w io.Writer, o TableOptions) error {
	cells := [][]string{{"row", "median", "p99", "min", "max", "spread", "rounds", "ratio"}}
	for _, row := range r.Rows {
		cells = append(cells, r.cells(row))
	}
	widths := columnWidths(cells)

	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", r.Scenario, r.Title)
	for i, line := range cells {
		text := alignLine(line, widths)
		if i == 0 && o.Color {
			text = bold + text + plain
		}
		b.WriteString(text + "\n")
	}
	for i := 0; i < len(r.Rows); {
		names, note := []string{r.Rows[i].Name}, r.Rows[i].Note
		for i++; note != "" && i < len(r.Rows) && r.Rows[i].Note == note; i++ {
			names = append(names, r.Rows[i].Name)
		}
		if note != "" {
			fmt.Fprintf(&b, "%s: %s\n", strings.Join(names, "; "), note)
		}
	}
	if r.Failed != "" {
		fmt.Fprintf(&b, "FAILED: %s\n", r.Failed)
	}
	if r.Interrupted {
		b.WriteString("interrupted: the figures are those of the rounds that were run\n")
	}
	rest := ""
	for _, line := range r.Bases() {
		b.WriteString(line + "\n")
		rest = " or the one named"
	}
	fmt.Fprintf(&b, "ratio: of the medians, to the first row%s; above 1 is better. spread: distance between the quartiles.\n", rest)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

// Bases says which rows are compared with another than the first, a line for each of
// those others. Of curves that are all compared with one, point by point, that takes a single line.
func (r *Result) Bases() []string {
	if series := r.baseSeries(); series != "" {
		return []string{fmt.Sprintf("ratio to %q at the same %s: all others", series, cmp.Or(r.XName, "x"))}
	}
	var lines []string
	for _, base := range r.Rows {
		var names []string
		for _, row := range r.Rows {
			if row.Base == base.Name && row.Name != base.Name {
				names = append(names, row.Name)
			}
		}
		if names != nil {
			lines = append(lines, "ratio to \""+base.Name+"\": "+strings.Join(names, "; "))
		}
	}
	return lines
}

// baseSeries is the Series that all rows are compared with that name one, each at its X; "" if they are
// not.
func (r *Result) baseSeries() string {
	series := ""
	for _, row := range r.Rows {
		if row.Base == "" {
			continue
		}
		base := r.BaseOf(&row)
		if base.Name != row.Base || row.Series == "" || base.X != row.X || base.Series != cmp.Or(series, base.Series) {
			return ""
		}
		series = base.Series
	}
	return series
}

func (r *Result) cells(row Row) []string {
	f := r.Unit.Format
	return []string{row.Name, f(row.Median), f(row.P99), f(row.Min), f(row.Max), f(row.IQR),
		FormatRounds(row), FormatRatio(row.Ratio)}
}

// FormatRounds shows rounds with more than one sample as "10 x 300".
func FormatRounds(row Row) string {
	if row.Rounds == 0 || row.Count == row.Rounds {
		return fmt.Sprint(row.Rounds)
	}
	return fmt.Sprintf("%d x %d", row.Rounds, row.Count/row.Rounds)
}

// FormatRatio shows a ratio as "13.5x", and NaN as "-".
func FormatRatio(ratio float64) string {
	if math.IsNaN(ratio) {
		return "-"
	}
	return digits(ratio) + "x"
}

// columnWidths counts runes, not bytes: µ has two bytes and one column.
func columnWidths(cells [][]string) []int {
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, c := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	return widths
}

// alignLine sets the first column to the left and all others to the right.
func alignLine(cells []string, widths []int) string {
	var b strings.Builder
	for i, c := range cells {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
		if i == 0 {
			b.WriteString(c + pad)
		} else {
			b.WriteString(columnGap + pad + c)
		}
	}
	return b.String()
}
