package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// WriteMarkdown writes the results as a page of documentation, as GitHub shows it.
func WriteMarkdown(w io.Writer, results []runner.Result) error {
	sections, machines := sectionsOf(results)
	var b strings.Builder
	b.WriteString("# Benchmarks\n")
	if len(sections) == 0 {
		b.WriteString("\nThere are no results.\n")
	}
	if measured := measuredOf(results); measured != "" {
		fmt.Fprintf(&b, "\n%s\n", escape(measured))
	}
	for i, m := range machines {
		heading := "The machine"
		if len(machines) > 1 {
			heading = fmt.Sprintf("Machine %d", i+1)
		}
		writeMachine(&b, heading, m)
	}
	for i := range sections {
		writeSection(&b, &sections[i], &results[i])
	}
	if len(sections) > 0 {
		b.WriteString(howToRead)
	}
	writeSettings(&b, settingsOf(sections))
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write markdown: %w", err)
	}
	return nil
}

const howToRead = `
## How to read the figures

- *ratio*: of the medians, to the first row or the one named; above 1 is better, whatever the unit.
- *p99*: what 99 % of the samples were at least as good as; below 100 samples the worst.
- *spread*: the distance between the quartiles.

Rows were measured in turn, round by round. An absolute figure of one machine says little; a ratio says more.
`

func writeMachine(b *strings.Builder, heading string, m runner.Machine) {
	fmt.Fprintf(b, "\n## %s\n\n", heading)
	for _, f := range factsOf(m) {
		fmt.Fprintf(b, "- %s: %s\n", f.Name, escape(f.Value))
	}
	if len(m.Directories) == 0 {
		return
	}
	b.WriteString("\n| place | file system | path | fsync p50 | fsync p99 |\n|---|---|---|--:|--:|\n")
	for _, p := range m.Directories {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", escape(p.Name), escape(p.Filesystem), codeSpan(p.Path), fsync(p.FsyncP50), fsync(p.FsyncP99))
	}
}

func writeSection(b *strings.Builder, s *section, r *runner.Result) {
	title := escape(s.Name)
	if r.Title != "" {
		title += ": " + escape(r.Title)
	}
	fmt.Fprintf(b, "\n## %s\n\n**%s**\n", title, escape(s.Conclusion))
	if s.Failed != "" {
		fmt.Fprintf(b, "\nThe run failed: %s. Where there are figures, they are those of the rounds before that.\n", escape(s.Failed))
	}
	if s.Interrupted {
		b.WriteString("\nThe run was interrupted: the figures are those of the rounds that were run.\n")
	}
	writeOrigin(b, s)
	pivots := pivotsOf(r)
	for _, t := range pivots {
		if t.by != "" {
			fmt.Fprintf(b, "\n%s by %s:\n", escape(upperFirst(t.title)), escape(t.by))
		}
		b.WriteString("\n")
		writeTable(b, append([]string{t.by}, t.columns...), t.rows)
	}
	writeRows(b, s, len(pivots) > 0)
	writeNotes(b, s)
	writeCommands(b, s)
}

// writeRows writes the table of all rows; where the curves are shown already, it is folded.
func writeRows(b *strings.Builder, s *section, folded bool) {
	if len(s.Rows) == 0 {
		return
	}
	var rows [][]string
	for _, row := range s.Rows {
		rows = append(rows, markdownRow(row, len(s.Columns)))
	}
	if folded {
		b.WriteString("\n<details><summary>All rows</summary>\n")
	}
	b.WriteString("\n")
	writeTable(b, append([]string{"row"}, s.Columns...), rows)
	if folded {
		b.WriteString("\n</details>\n")
	}
}

// writeOrigin tells apart sections of several runs or machines.
func writeOrigin(b *strings.Builder, s *section) {
	if s.Run == "" && s.Machine == 0 {
		return
	}
	b.WriteString("\n")
	if s.Run != "" {
		fmt.Fprintf(b, "- run: %s\n", escape(s.Run))
	}
	if s.Machine > 0 {
		fmt.Fprintf(b, "- machine: %d\n", s.Machine)
	}
}

// markdownRow writes a dash for every missing figure; the reason stands below the
// table, where it does not make a column wide.
func markdownRow(row tableRow, columns int) []string {
	cells := []string{row.Name}
	if row.Measured() {
		return append(cells, row.Cells...)
	}
	for range columns {
		cells = append(cells, "-")
	}
	return cells
}

// writeTable writes a table, escaped, its first column to the left and the others to the right.
func writeTable(b *strings.Builder, columns []string, rows [][]string) {
	for i, line := range append([][]string{columns}, rows...) {
		for _, cell := range line {
			b.WriteString("| " + escape(cell) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString("|---" + strings.Repeat("|--:", len(columns)-1) + "|\n")
		}
	}
}

// writeNotes says what sets rows apart, why some have no figures, and what ratios are to.
func writeNotes(b *strings.Builder, s *section) {
	var notes []string
	for _, row := range s.Rows {
		about := row.Settings
		if row.Note != "" {
			if about != "" {
				about += "; "
			}
			about += row.Note
		}
		if about != "" {
			notes = append(notes, row.Name+": "+about)
		}
	}
	for i, n := range append(notes, s.Bases...) {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "- %s\n", escape(n))
	}
}

func writeCommands(b *strings.Builder, s *section) {
	if s.Command != "" {
		writeCommand(b, "To repeat it", s.Command)
	}
	for _, c := range s.Alone {
		writeCommand(b, "To measure "+strings.Join(c.Rows, "; ")+" alone", c.Command)
	}
	for _, c := range s.ByHand {
		writeCommand(b, "What a round does, by hand, of "+strings.Join(c.Rows, "; "), c.Command)
	}
}

func writeCommand(b *strings.Builder, what, command string) {
	// A fence is longer than any that the text has.
	fence := "```"
	for strings.Contains(command, fence) {
		fence += "`"
	}
	fmt.Fprintf(b, "\n%s:\n\n%ssh\n%s\n%s\n", escape(what), fence, command, fence)
}

// escape writes a text so that Markdown shows it as it is, in one line, in a table too.
func escape(text string) string {
	var b strings.Builder
	runes := []rune(clean(text))
	for i, r := range runes {
		// An underscore within a word, as in oltp_read_write, means nothing to GitHub.
		within := r == '_' && i > 0 && i+1 < len(runes) && isWord(runes[i-1]) && isWord(runes[i+1])
		if strings.ContainsRune("\\`*_[]<>|~&$", r) && !within {
			b.WriteRune('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// codeSpan sets a path in a fixed font. What holds a backtick or a bar stays plain text.
func codeSpan(text string) string {
	if text == "" || strings.ContainsAny(text, "`|") {
		return escape(text)
	}
	return "`" + clean(text) + "`"
}

// upperFirst begins a text with a capital, but for a percentile: p99.
func upperFirst(text string) string {
	r := []rune(text)
	if len(r) > 0 && (len(r) == 1 || !unicode.IsDigit(r[1])) {
		r[0] = unicode.ToUpper(r[0])
	}
	return string(r)
}
