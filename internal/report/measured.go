package report

import (
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench"
)

// dateFormat is how a time is told.
const dateFormat = "2 January 2006, 15:04 MST"

// measuredOf says when results were measured, from the first to the last, and by which versions
// of ramaria; "" if none of them says so. It is theirs, whoever makes the report, and whenever.
func measuredOf(results []bench.Result) string {
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
func versionsOf(results []bench.Result) []string {
	var versions []string
	for i := range results {
		versions = append(versions, results[i].Ramaria)
	}
	slices.Sort(versions)
	return slices.DeleteFunc(slices.Compact(versions), func(v string) bool { return v == "" })
}
