package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// dateFormat is how a time is told.
const dateFormat = "2 January 2006, 15:04 MST"

// measuredOf says when results were measured, from the first to the last, and by which versions
// of ramaria; "" if none of them says so. It is theirs, not that of the ramaria that makes the report.
func measuredOf(results []runner.Result) string {
	var times []time.Time
	for i := range results {
		if t := results[i].Time; !t.IsZero() {
			times = append(times, t)
		}
	}
	var parts []string
	if len(times) > 0 {
		first := slices.MinFunc(times, time.Time.Compare).Format(dateFormat)
		last := slices.MaxFunc(times, time.Time.Compare).Format(dateFormat)
		if first == last {
			parts = append(parts, "Measured on "+first)
		} else {
			parts = append(parts, "Measured from "+first+" to "+last)
		}
	}
	if versions := versionsOf(results); len(versions) > 0 {
		parts = append(parts, "ramaria "+strings.Join(versions, " and "))
	}
	return strings.Join(parts, ", ")
}

// versionsOf are the versions of ramaria that measured, in order, each once.
func versionsOf(results []runner.Result) []string {
	var versions []string
	for i := range results {
		versions = append(versions, results[i].Ramaria)
	}
	slices.Sort(versions)
	return slices.DeleteFunc(slices.Compact(versions), func(v string) bool { return v == "" })
}

// titleOfPlot is what a drawing of its own is called: the scenario, and the further measure if it
// is of one.
func titleOfPlot(r *runner.Result, measure string) string {
	title := opening(cmp.Or(r.Title, r.Scenario))
	if measure != "" {
		title = upperFirst(measure) + ": " + title
	}
	return clean(title)
}

// originOf says on which machine a result was measured, when, and by which ramaria.
func originOf(r *runner.Result) string {
	parts := []string{machineOf(r.Machine)}
	if !r.Time.IsZero() {
		parts = append(parts, r.Time.Format("2 January 2006"))
	}
	if r.Ramaria != "" {
		parts = append(parts, "ramaria "+r.Ramaria)
	}
	return clean(strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · "))
}

// machineOf is a machine in a line.
func machineOf(m runner.Machine) string {
	var parts []string
	if m.CPU != "" {
		parts = append(parts, m.CPU)
	}
	switch {
	case m.Cores == 1:
		parts = append(parts, "1 core")
	case m.Cores > 1:
		parts = append(parts, fmt.Sprintf("%d cores", m.Cores))
	}
	if m.MemoryBytes > 0 {
		parts = append(parts, runner.Bytes.Format(float64(m.MemoryBytes)))
	}
	if m.Kernel != "" {
		parts = append(parts, "Linux "+m.Kernel)
	}
	return strings.Join(parts, ", ")
}
