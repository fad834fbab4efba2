package scenario

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench"
)

// concludeFiles says what RAM gains, and of what the page cache had taken it.
func concludeFiles(r *bench.Result, places []filesPlace) string {
	at := slices.IndexFunc(places, func(p filesPlace) bool { return p.name == placeDisk })
	if at < 0 {
		return ""
	}
	// The rows of a place are beside each other, that with fsync is the second.
	row := &r.Rows[2*at]
	disk, synced := row.Median, r.Rows[2*at+1].Median
	if !(disk > 0) || !(synced > 0) {
		return ""
	}
	var parts []string
	say := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	// The best of several is somewhat better by chance alone: it counts if all of its rounds are.
	best := func(sync int, says string) {
		var found *bench.Row
		name := ""
		for i, p := range places {
			row := &r.Rows[2*i+sync]
			if p.inRAM() && !math.IsNaN(row.Median) && (found == nil || row.Median < found.Median) {
				found, name = row, p.row
			}
		}
		disk := &r.Rows[2*at+sync]
		switch {
		case found == nil:
		case r.Beats(found, disk):
			say(says, name, disk.Median/found.Median)
		default:
			say(says+", which gains nothing that stands out from the noise", name, disk.Median/found.Median)
		}
	}
	best(1, "with fsync %s is %.1f times as fast as the disk")
	best(0, "without fsync %s is %.2f times as fast")
	if within, all := row.Beside[filesTimedMeasure], row.Beside[bench.Written]; all > 0 {
		took := "the page cache took the files without fsync"
		if within > all/2 {
			took = "the page cache did not take all of the files without fsync"
		}
		say("%s: the disk had %.0f %% of them when the clock stopped", took, 100*within/all)
	}
	return strings.Join(parts, "; ") + "."
}
