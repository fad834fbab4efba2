package numbers

import (
	"fmt"
	"math"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// effort is what a round does: so many of something, and so many commits.
type effort struct {
	count, commits int
	of             string // "rows"
}

// numbersConclusion says what RAM gains over a stock server on disk, what of that the disk alone
// would give with relaxed settings, and what the server computes meanwhile. What binds it is not
// said: the client was not measured, nor what else the machine did.
func numbersConclusion(r *runner.Result, places []lab.Place, e effort) string {
	first := map[string]*runner.Row{} // the first measured one by the name of the place
	var best, own *runner.Row         // in RAM, and of ramaria's there
	for i, s := range places {
		row := &r.Rows[i]
		if row.Count == 0 || math.IsNaN(row.Median) || row.Median <= 0 {
			continue
		}
		if first[s.Name] == nil {
			first[s.Name] = row
		}
		if s.InRAM() && (best == nil || row.Median > best.Median) {
			best = row
		}
		if s.InRAM() && s.Ramaria && !s.LogOff && (own == nil || row.Median > own.Median) {
			own = row
		}
	}
	disk := first[lab.PlaceDisk]
	if disk == nil || best == nil {
		return ""
	}
	ratio := best.Median / disk.Median
	var parts []string
	say := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if !r.Beats(best, disk) {
		say("RAM %s: %s has %.2f times the %s of %s", r.NoGain(ratio), best.Name, ratio, e.of, disk.Name)
	} else {
		say("%s has %.2f times the %s of %s", best.Name, ratio, e.of, disk.Name)
	}
	if own != nil && own != best {
		say("%s has %.2f times, with its binary log", own.Name, own.Median/disk.Median)
	}
	if relaxed := first[lab.PlaceRelaxed]; relaxed != nil {
		say("the disk alone gives %.2f times with relaxed settings", relaxed.Median/disk.Median)
	}
	seconds := func(row *runner.Row) float64 { return float64(e.count) / row.Median }
	if fsync := disk.Beside[lab.FsyncMedian]; fsync > 0 {
		text := "an fsync of 4 KiB took " + runner.Seconds.Format(fsync) + " on the disk before the first round"
		// Above 1, the disk had more to do then, and its fsync is not that of the rounds.
		if share := fsync * float64(e.commits) / seconds(disk); share <= 1 {
			text += fmt.Sprintf(", one for each commit is %.0f %% of that row's time", 100*share)
		}
		say("%s", text)
	}
	there, here := disk.Beside[lab.ServerCPU]/seconds(disk), best.Beside[lab.ServerCPU]/seconds(best)
	if there > 0 && here > 0 {
		say("the server uses %.2f of a processor on disk, and %.2f in RAM", there, here)
	}
	return strings.Join(parts, "; ") + "."
}
