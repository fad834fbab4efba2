package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/tests"
)

// reason is the text of a skip without the frame that go test puts around it.
func reason(output []string) string {
	text := strings.Join(output, "")
	if i := strings.Index(text, "--- SKIP"); i >= 0 && strings.Contains(text[i:], "\n    ") {
		text = text[i:] // the message follows the verdict when not verbose
	}
	var kept []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "--- ") {
			kept = append(kept, line)
		}
	}
	if len(kept) == 0 { // of a test that ran elsewhere, with a verdict of its own in the text
		for line := range strings.Lines(strings.Join(output, "")) {
			if strings.Contains(line, "SKIPPED") {
				return strings.TrimSpace(line)
			}
		}
	}
	return strings.Join(kept, " ")
}

func (t *summary) writeReport(w io.Writer, problems []string) {
	if len(t.fails) > 0 {
		fmt.Fprintln(w, "failed tests:")
	}
	for _, n := range sortedNames(t.fails) {
		if t.fails[n].victim {
			continue // its package says why
		}
		fmt.Fprintf(w, "  %s:\n", n)
		for _, line := range t.fails[n].tail {
			fmt.Fprintf(w, "    %s\n", strings.TrimRight(line, "\n"))
		}
	}
	if len(t.skips) > 0 {
		fmt.Fprintln(w, "skipped tests:")
	}
	for _, n := range sortedNames(t.skips) {
		fmt.Fprintf(w, "  %s: %s\n", n, t.skips[n])
	}
	for _, n := range t.notes {
		fmt.Fprintln(w, n)
	}
	for _, p := range problems {
		fmt.Fprintln(w, "problem:", p)
	}
	t.writeShort(w)
	passed, failed, skipped := t.counts()
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", passed, failed+len(problems), skipped)
}

// mostShort is how many failures a report repeats in short.
const mostShort = 40

// writeShort writes what failed, and what is flaky, in short: of a long output, the end is what is kept.
func (t *summary) writeShort(w io.Writer) {
	var own, victims []name
	for _, n := range sortedNames(t.fails) {
		switch f := t.fails[n]; {
		case f.victim:
			victims = append(victims, n)
		case t.isOwn(n):
			own = append(own, n)
		}
	}
	list := slices.Concat(own, victims)
	for _, n := range list[:min(mostShort, len(list))] {
		writeFailure(w, "failed", n, t.fails[n])
	}
	if more := len(list) - mostShort; more > 0 {
		fmt.Fprintf(w, "failed: %d more\n", more)
	}
	for _, n := range sortedNames(t.flaky) {
		writeFailure(w, "flaky", n, t.flaky[n])
	}
}

func writeFailure(w io.Writer, what string, n name, f failure) {
	fmt.Fprintf(w, "%s: %s\n", what, n.short())
	if f.victim {
		fmt.Fprintln(w, "    had not ended when the program of its package did")
		return
	}
	for _, line := range f.first {
		fmt.Fprintln(w, "    "+line)
	}
}

// results are the tests that ended, a line "ACTION PACKAGE TEST SECONDS" each.
func (t *summary) results(quick bool) string {
	var b strings.Builder
	if quick {
		fmt.Fprintln(&b, tests.QuickResults)
	}
	for _, n := range sortedNames(t.ended) {
		fmt.Fprintf(&b, "%s %s %.1f\n", t.ended[n].action, n.short(), t.ended[n].seconds)
	}
	return b.String()
}

func sortedNames[V any](m map[name]V) []name {
	names := make([]name, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b name) int { return strings.Compare(a.String(), b.String()) })
	return names
}
