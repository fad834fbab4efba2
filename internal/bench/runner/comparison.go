package runner

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// comparisonHead are the columns of a comparison; the first two and the last are words.
var comparisonHead = []string{"scenario", "row", "A", "B", "ratio", "95 % interval", "verdict"}

// WriteComparison writes differences as an aligned table: what else differs, a line per
// row, and what it came to.
func WriteComparison(w io.Writer, list []Difference, o TableOptions) error {
	cells := [][]string{comparisonHead}
	for i := range list {
		cells = append(cells, list[i].cells())
	}
	names := columnWidths(cells)[0]
	for i, line := range cells {
		// Both words are one column, to the left.
		cells[i] = append([]string{fmt.Sprintf("%-*s%s%s", names, line[0], columnGap, line[1])}, line[2:]...)
	}
	widths := columnWidths(cells)
	last := len(widths) - 1
	var b strings.Builder
	if facts := factLines(list); len(facts) > 0 {
		fmt.Fprintf(&b, "what else differs, A -> B:\n  %s\n\n", strings.Join(facts, "\n  "))
	}
	for i, line := range cells {
		text := alignLine(line[:last], widths) + columnGap + line[last]
		if i == 0 && o.Color {
			text = bold + text + plain
		}
		b.WriteString(text + "\n")
	}
	for _, note := range comparisonNotes(list) {
		b.WriteString(note + "\n")
	}
	return writeText(w, b.String(), "comparison")
}

// WriteComparisonMarkdown writes the same for a pull request or a page.
func WriteComparisonMarkdown(w io.Writer, list []Difference) error {
	cell := strings.NewReplacer("|", `\|`, "\n", " ")
	var b strings.Builder
	line := func(cells []string) {
		for _, c := range cells {
			b.WriteString("| " + cell.Replace(c) + " ")
		}
		b.WriteString("|\n")
	}
	line(comparisonHead)
	b.WriteString("|---|---|--:|--:|--:|--:|---|\n")
	for i := range list {
		line(list[i].cells())
	}
	if facts := factLines(list); len(facts) > 0 {
		b.WriteString("\nWhat else differs, A -> B:\n\n")
		for _, f := range facts {
			b.WriteString("- " + cell.Replace(f) + "\n")
		}
	}
	for _, note := range comparisonNotes(list) {
		b.WriteString("\n" + cell.Replace(note) + "\n")
	}
	return writeText(w, b.String(), "comparison")
}

func writeText(w io.Writer, text, what string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

func (d *Difference) cells() []string {
	interval := "-"
	if !math.IsNaN(d.Low) {
		interval = FormatRatio(d.Low) + " to " + FormatRatio(d.High)
	}
	show := func(s Side) string {
		if !s.There {
			return "-"
		}
		return s.Unit.Format(s.Median)
	}
	return []string{d.Scenario, d.Row, show(d.A), show(d.B), FormatRatio(d.Ratio), interval, string(d.Verdict)}
}

// factLines says every fact once: for all rows, for a scenario, or for a row.
func factLines(list []Difference) []string {
	var facts []Fact
	rows := map[Fact][]*Difference{}
	paired, inScenario := 0, map[string]int{}
	for i := range list {
		d := &list[i]
		if !d.A.There || !d.B.There {
			continue
		}
		paired++
		inScenario[d.Scenario]++
		for _, f := range d.Differs {
			if rows[f] == nil {
				facts = append(facts, f)
			}
			rows[f] = append(rows[f], d)
		}
	}
	var lines []string
	for _, f := range facts {
		name := f.Name
		if name == settingRow {
			name = "settings of the row"
		}
		text := fmt.Sprintf("%s: %s -> %s", name, orDash(f.A), orDash(f.B))
		if len(rows[f]) == paired {
			lines = append(lines, text)
			continue
		}
		with := map[string]int{}
		for _, d := range rows[f] {
			with[d.Scenario]++
		}
		for _, d := range rows[f] {
			where := d.Scenario
			if with[where] < inScenario[where] {
				where += ", " + d.Row
			}
			if line := where + ", " + text; !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// comparisonNotes are the lines below the table; the last one is what it came to.
func comparisonNotes(list []Difference) []string {
	var notes []string
	tooFew, grouped, machines := false, false, false
	known := map[string]bool{}
	for i := range list {
		d := &list[i]
		for which, s := range []Side{d.A, d.B} {
			if s.There && s.Note != "" && math.IsNaN(s.Median) {
				notes = append(notes, fmt.Sprintf("%s, %s, %c: %s", d.Scenario, d.Row, 'A'+which, s.Note))
			}
			grouped = grouped || s.Samples > s.Rounds
		}
		tooFew = tooFew || d.Verdict == TooFew
		machines = machines || slices.ContainsFunc(d.Differs, func(f Fact) bool {
			return slices.ContainsFunc(machineFacts, func(m machineFact) bool { return m.name == f.Name })
		})
		// The first row is what the others are measured against: it was not meant to change.
		alone := len(list) == i+1 || list[i+1].Scenario != d.Scenario
		if !known[d.Scenario] && !alone && (d.Verdict == Better || d.Verdict == Worse) {
			notes = append(notes, fmt.Sprintf("%s: %q, which the other rows are compared with, changed itself: it may be the machine", d.Scenario, d.Row))
		}
		known[d.Scenario] = true
	}
	if machines {
		notes = append(notes, "A and B were measured on different machines: the ratios tell of those as well")
	}
	if grouped {
		notes = append(notes, "a round with many samples counts once, by its median")
	}
	if tooFew {
		notes = append(notes, "too few rounds to tell: measure with --rounds 10; 3 against 3 never tell anything")
	}
	t := TallyOf(list)
	end := t.Summary()
	if t.Judged > 0 {
		end += fmt.Sprintf(". By chance, up to one row in %.0f seems changed though it is not: of %s, %s", 1/Alpha, rowsOf(t.Judged), digits(t.FalseAlarms()))
	}
	return append(notes, "ratio: of the medians, A to B; above 1, B is better", end)
}

// lineSide is a Side in JSON.
type lineSide struct {
	Unit    Unit     `json:"unit"`
	Median  *float64 `json:"median"`
	Runs    int      `json:"runs"`
	Rounds  int      `json:"rounds"`
	Samples int      `json:"samples"`
	Note    string   `json:"note,omitempty"`
}

// lineDifference is a Difference in JSON.
type lineDifference struct {
	Schema   int       `json:"schema"`
	Scenario string    `json:"scenario"`
	Row      string    `json:"row"`
	A        *lineSide `json:"a"` // null if it has no such row
	B        *lineSide `json:"b"`
	Ratio    *float64  `json:"ratio"`
	Low      *float64  `json:"low"`
	High     *float64  `json:"high"`
	P        *float64  `json:"p"`
	Verdict  Verdict   `json:"verdict"`
	Differs  []Fact    `json:"differs,omitempty"`
}

// WriteComparisonJSON writes one JSON object a row.
func WriteComparisonJSON(w io.Writer, list []Difference) error {
	side := func(s Side) *lineSide {
		if !s.There {
			return nil
		}
		return &lineSide{s.Unit, number(s.Median), s.Runs, s.Rounds, s.Samples, s.Note}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, d := range list {
		if err := enc.Encode(lineDifference{
			SchemaVersion, d.Scenario, d.Row, side(d.A), side(d.B),
			number(d.Ratio), number(d.Low), number(d.High), number(d.P), d.Verdict, d.Differs,
		}); err != nil {
			return fmt.Errorf("write comparison: %w", err)
		}
	}
	return nil
}
