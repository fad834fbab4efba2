package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ramaria-db/ramaria/internal/progress"
)

// timeFormat is how moments are shown to people, in local time.
const timeFormat = "2006-01-02 15:04:05"

// printJSONFlag is the help of --json of a command that reads.
const printJSONFlag = "print JSON"

// printJSON writes an answer for programs.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// table is an answer for people: columns aligned by their widest cell.
type table struct{ rows [][]string }

func newTable(head ...string) *table { return &table{rows: [][]string{head}} }

func (t *table) row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(progress.Plain(c), "\n", `\n`)
	}
	t.rows = append(t.rows, cells)
}

func (t *table) print(w io.Writer) {
	width := make([]int, len(t.rows[0]))
	for _, r := range t.rows {
		for i, c := range r {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	for _, r := range t.rows {
		var b strings.Builder
		for i, c := range r {
			b.WriteString(c)
			b.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(c)+2))
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// indent sets the lines after the first by n columns.
func indent(s string, n int) string {
	return strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n"+strings.Repeat(" ", n))
}

// micros writes a time in microseconds for people.
func micros(n int64) string { return short(time.Duration(n) * time.Microsecond) }

// short writes a short time for people.
func short(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.String()
	case d < 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
