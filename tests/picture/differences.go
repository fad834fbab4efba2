package picture

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// maxShown is how many lines of a difference are shown.
const maxShown = 12

// Differences tells in what a picture is not as the wanted one; it is empty if they are the
// same.
func Differences(got, want Picture) string {
	var b strings.Builder
	keys := maps.Clone(got)
	maps.Copy(keys, want)
	for _, of := range slices.Sorted(maps.Keys(keys)) {
		g, inGot := got[of]
		w, inWant := want[of]
		switch {
		case !inGot:
			fmt.Fprintf(&b, "%s: missing:\n%s", of, shorten(w))
		case !inWant:
			fmt.Fprintf(&b, "%s: should not be there:\n%s", of, shorten(g))
		case g != w:
			fmt.Fprintf(&b, "%s:\n%s", of, lineByLine(g, w))
		}
	}
	return b.String()
}

// lineByLine shows the lines that only one of two texts has; or that their order differs.
func lineByLine(got, want string) string {
	count := map[string]int{}
	for line := range strings.Lines(got) {
		count[line]++
	}
	for line := range strings.Lines(want) {
		count[line]--
	}
	var lines []string
	for _, line := range slices.Sorted(maps.Keys(count)) {
		if n := count[line]; n > 0 {
			lines = append(lines, "  got  "+line)
		} else if n < 0 {
			lines = append(lines, "  want "+line)
		}
	}
	if len(lines) == 0 {
		return "  the order of lines differs\n  got\n" + shorten(got) + "  want\n" + shorten(want)
	}
	return shorten(strings.Join(lines, ""))
}

func shorten(text string) string {
	lines := strings.SplitAfter(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > maxShown {
		lines = append(lines[:maxShown], fmt.Sprintf("... %d lines more", len(lines)-maxShown))
	}
	return strings.Join(lines, "") + "\n"
}

// Without leaves counters out of a picture.
func (p Picture) Without(b Blind) Picture {
	p = maps.Clone(p)
	maps.DeleteFunc(p, func(of, _ string) bool {
		return b.Counters && (of == "counter" || strings.HasPrefix(of, "shown counter "))
	})
	return p
}

// WithEvents is a picture with the events of another.
func (p Picture) WithEvents(other Picture) Picture {
	p = maps.Clone(p)
	for of, text := range other {
		if strings.HasPrefix(of, "event ") || of == "information_schema.EVENTS" {
			p[of] = text
		}
	}
	return p
}

// Number is the server's number of an error, or 0 if it is not the server's.
func Number(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}
