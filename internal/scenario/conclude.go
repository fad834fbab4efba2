package scenario

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench"
)

func medians(r *bench.Result) map[string]float64 {
	median := map[string]float64{}
	for _, row := range r.Rows {
		median[row.Name] = row.Median
	}
	return median
}

// faster says whether a row is better than another beyond noise, both by their names.
func faster(r *bench.Result, name, than string) bool {
	row, other := rowOf(r, name), rowOf(r, than)
	return row != nil && other != nil && r.Beats(row, other)
}

func rowOf(r *bench.Result, name string) *bench.Row {
	i := slices.IndexFunc(r.Rows, func(row bench.Row) bool { return row.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Rows[i]
}

// concludeBranch says what a branch costs beyond what nobody can avoid, and what the
// size of the data does.
func concludeBranch(r *bench.Result) string {
	m := medians(r)
	over := m[RowBranchLarge] - m[RowSnapshotLarge] - m[RowStart]
	larger := m[RowUpLarge] / m[RowUpSmall]
	if math.IsNaN(over) || math.IsNaN(larger) {
		return ""
	}
	return fmt.Sprintf("a branch of 2 GB takes %s its snapshot and a bare start; up from 2 GB takes %.2f times as long as from the small image.", beyond(over), larger)
}

// beyond says by how much something takes longer than something else, in seconds. Medians of
// rounds may be apart the other way round, which is no gain of the longer way.
func beyond(over float64) string {
	if over <= 0 {
		return "no longer than"
	}
	return fmt.Sprintf("%.1f ms beyond", over*1000)
}

// cost is a share of a throughput, in percent: it is none where noise has made it negative.
func cost(share float64) string {
	if share < 0.5/100 {
		return "nothing"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// concludeReset says what a reset takes, and that its cost follows the change.
func concludeReset(r *bench.Result) string {
	m := medians(r)
	three := m[RowThree]
	var b strings.Builder
	say := func(format string, figures ...float64) {
		list := make([]any, len(figures))
		for i, v := range figures {
			if math.IsNaN(v) || v == 0 {
				return
			}
			list[i] = v
		}
		fmt.Fprintf(&b, format, list...)
	}
	if faster(r, RowThree, RowHand) {
		say("a reset after 3 rows takes %.2f ms, %.0f times less than by hand", three*1000, m[RowHand]/three)
	} else {
		say("a reset after 3 rows takes %.2f ms; by hand it is %.2f times that, which is within noise or less", three*1000, m[RowHand]/three)
	}
	say("; in 2 GB %.2f times as long", m[RowThreeLarge]/three)
	say("; undoing 10,000 rows %.2f times as long as changing them", m[RowUndo]/m[RowMake])
	say("; a clone of sakila %.2f times as long as its INSERT ... SELECT alone", m[RowSakilaClone]/m[RowSakilaFill])
	if b.Len() == 0 {
		return ""
	}
	return strings.TrimPrefix(b.String(), "; ") + "."
}

// concludeCycle compares whole cycles: of two workers, and the ends of the ladder of one.
func concludeCycle(r *bench.Result) string {
	m := medians(r)
	var list []string
	if reset, times := m[RowCycleReset], m[RowCycleReset]/m[RowCycleHand]; reset > 0 && times > 0 {
		list = append(list, fmt.Sprintf("of two workers, %.0f resets a second, each of three changed rows, %s times as many cycles as by hand", reset, twoDigits(times)))
	}
	if stock := m[RowCycleStock]; stock > 0 && m[RowCycleSession] > 0 && m[RowCycleOne] > 0 {
		list = append(list, fmt.Sprintf("of one worker, the best by hand is %s times a stock server on disk, a reset, which puts back three changed rows, %s times", twoDigits(m[RowCycleSession]/stock), twoDigits(m[RowCycleOne]/stock)))
	}
	if list == nil {
		return ""
	}
	return strings.Join(list, "; ") + "."
}

// twoDigits writes a ratio as exactly as a few rounds tell it: 489.1 is 490.
func twoDigits(v float64) string {
	if v <= 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	step := math.Pow(10, math.Floor(math.Log10(v))-1)
	return fmt.Sprintf("%.*f", max(0, -int(math.Round(math.Log10(step)))), math.Round(v/step)*step)
}

// concludeLog says what share of the throughput the log and the journal cost.
func concludeLog(r *bench.Result) string {
	m := medians(r)
	var list []string
	for _, w := range LogWorkloads {
		off := m[RowNoLog(w)]
		log, both := 1-m[RowLog(w)]/off, 1-m[RowWatched(w)]/off
		if !math.IsNaN(log) && !math.IsNaN(both) {
			list = append(list, fmt.Sprintf("%s %s (%s the log alone)", w, cost(both), cost(log)))
		}
	}
	if list == nil {
		return ""
	}
	return "the log and the journal cost: " + strings.Join(list, ", ") + "."
}

// concludeLoad says how much faster loading is than by the client.
func concludeLoad(r *bench.Result) string {
	m := medians(r)
	var list []string
	extended := "the client with extended INSERTs"
	if m[RowLoadSlow] > 0 { // where RowLoad has them too
		extended = "the client, both with extended INSERTs"
	}
	for _, c := range []struct{ fast, slow, than string }{
		{RowLoadSlow, RowLoadOneRow, "the client, both a row an INSERT"},
		{RowLoad, RowLoadExtended, extended},
		{RowLoad, RowMyloader, "myloader"},
		{RowLoad, RowLoadOwn, "the client"},
		{RowLoad, RowLoadPacked, "the client with the packed dump"},
		{RowLoad, RowLoadOpen, "extended INSERTs over an open connection, which starts no program"},
	} {
		if times := m[c.slow] / m[c.fast]; m[c.fast] > 0 && times > 0 {
			list = append(list, fmt.Sprintf("%.1f times as fast as %s", times, c.than))
		}
	}
	if m[RowLoadSlow] == 0 && m[RowLoad] > 0 && m[RowLoadOneRow] > 0 {
		list = append(list, fmt.Sprintf("%.1f times as fast as the client", m[RowLoadOneRow]/m[RowLoad]))
	}
	if list == nil {
		return ""
	}
	s := "ramaria load is " + strings.Join(list, "; ") + "."
	if image := m[RowLoadImage]; image > 0 {
		s += fmt.Sprintf(" A fresh server that has it, from an image, is there in %s.", bench.Seconds.Format(image))
	}
	return s
}
