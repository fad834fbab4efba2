package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/progress"
	"github.com/ramaria-db/ramaria/internal/room"
	"github.com/ramaria-db/ramaria/internal/view"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// plainWidth is how wide a look is that goes to no terminal, in columns.
const plainWidth = 160

// topScreen is what ramaria top shows.
type topScreen struct {
	seen          view.Overview
	width, height int
	coloured      bool
	// sort is the index of the order in topOrders, selected the row of the chosen instance, and first the
	// row at which the list begins.
	sort, selected, first int
	// name is that of the chosen instance, which stays so in another order; "" for whichever is in its row.
	name string
	// all shows those that are stopped, too; else they are folded to a line.
	all bool
	// held are the ranks by which the list was sorted last, of the order heldOf.
	held   map[string]float64
	heldOf int
}

// topOrders are the orders of the list; those of equal rank are sorted by name.
var topOrders = []struct {
	name string
	rank func(view.Instance) float64
}{
	{"queries", queriesOf},
	{"name", func(view.Instance) float64 { return 0 }},
	{"RAM", func(i view.Instance) float64 { return float64(i.ServerBytes + i.DataBytes) }},
	{"connections", func(i view.Instance) float64 { return float64(connectionsOf(i)) }},
}

func queriesOf(i view.Instance) float64 {
	if i.Traffic == nil || i.Traffic.QueriesPerSecond == nil {
		return -1
	}
	return *i.Traffic.QueriesPerSecond
}

func connectionsOf(i view.Instance) int64 {
	if i.Traffic == nil {
		return -1
	}
	return i.Traffic.Connections
}

// topColumn is a column of the list. Where there is no room the one of the greatest rank goes first; no two have
// the same, but for those that stay, of rank 0.
type topColumn struct {
	head string
	rank int
	cell func(view.Instance) string
	// right aligns numbers.
	right bool
}

var topColumns = []topColumn{
	{"NAME", 0, func(i view.Instance) string { return i.Name }, false},
	{"STATE", 0, stateWords, false},
	{"ROLE", 5, roleWords, false},
	{"SERVER", 10, func(i view.Instance) string { return i.Server }, false},
	{"VOLUME", 6, topVolume, false},
	{"FULL IN", 7, fullWords, false},
	{"RAM", 2, func(i view.Instance) string { return volume.FormatBytes(i.ServerBytes + i.DataBytes) }, true},
	{"CONN", 3, func(i view.Instance) string { return known(float64(connectionsOf(i))) }, true},
	{"QUERY/S", 1, func(i view.Instance) string { return known(queriesOf(i)) }, true},
	{"LEASES", 8, func(i view.Instance) string {
		if i.Leases == nil {
			return "-"
		}
		return strconv.Itoa(i.Leases.Used)
	}, true},
	{"RESET/S", 4, func(i view.Instance) string {
		if i.Leases == nil || i.Leases.ResetsPerSecond == nil {
			return "-"
		}
		return known(*i.Leases.ResetsPerSecond)
	}, true},
	{"DURABLE", 9, func(i view.Instance) string { return durableWords(i.Durable) }, false},
}

// known is a number of three digits or so, or - for one that is not known.
func known(n float64) string {
	switch {
	case n < 0:
		return "-"
	case n > 0 && n < 9.95:
		return strings.TrimSuffix(strconv.FormatFloat(n, 'f', 1, 64), ".0")
	}
	return strconv.FormatFloat(n, 'f', 0, 64)
}

func stateWords(i view.Instance) string {
	text := string(i.Phase)
	if i.Moving != nil {
		text = "moving"
	}
	if len(i.Warnings) > 0 || i.Trouble != "" {
		text += " !"
	}
	return text
}

func topVolume(i view.Instance) string {
	if i.Volume.Level == "" {
		return i.Volume.Kind
	}
	return fmt.Sprintf("%s %d %%", i.Volume.Kind, i.Volume.UsedPercent)
}

func fullWords(i view.Instance) string {
	if i.Volume.FullSeconds == nil {
		return "-"
	}
	return room.Say(seconds(*i.Volume.FullSeconds))
}

// durableWords say what may be lost, and how long a recovery takes of the time that it may.
func durableWords(d *client.Durable) string {
	switch {
	case d == nil:
		return "-"
	case d.Error != "":
		return "archive!"
	case d.BlindSince != nil:
		return "log blinded!"
	}
	loss := "none lost"
	if d.Level != instance.DurableCommit {
		loss = instance.FormatTimeText(d.Level) + " lost"
	}
	return fmt.Sprintf("%s, %s of %s", loss, seconds(d.RecoverSeconds).Round(100*time.Millisecond), instance.FormatTime(seconds(d.RecoverWithinSeconds)))
}

// head are the lines above the list.
func (s *topScreen) head(all []view.Instance) []string {
	running, queries, connections, resets := 0, 0.0, int64(0), 0.0
	for _, i := range all {
		if i.Phase == instance.Running {
			running++
		}
		queries += max(0, queriesOf(i))
		connections += max(0, connectionsOf(i))
		if i.Leases != nil && i.Leases.ResetsPerSecond != nil {
			resets += *i.Leases.ResetsPerSecond
		}
	}
	m := s.seen.Machine
	memory := []string{"memory: " + volume.FormatBytes(m.TakenBytes) + " taken", volume.FormatBytes(m.AvailableBytes) + " of " + volume.FormatBytes(m.TotalBytes) + " available"}
	if m.LimitBytes > 0 {
		memory[1] = fmt.Sprintf("%s of the limit of %s left", volume.FormatBytes(max(0, m.LimitBytes-m.LimitUsedBytes)), volume.FormatBytes(m.LimitBytes))
	}
	if m.SwapUsedBytes > 0 {
		memory = append(memory, volume.FormatBytes(m.SwapUsedBytes)+" swapped out")
	}
	return []string{
		joined(s.width, "  ", "ramaria "+s.seen.At.Local().Format("15:04:05"), fmt.Sprintf("%d of %d running", running, len(all)), known(queries)+" queries/s", fmt.Sprintf("%d connections", connections), known(resets)+" resets/s"),
		joined(s.width, ", ", memory...),
	}
}

// joined joins so many parts as there is room for, the first at least.
func joined(width int, between string, parts ...string) string {
	text := parts[0]
	for _, p := range parts[1:] {
		if utf8.RuneCountInString(text+between+p) > width {
			break
		}
		text += between + p
	}
	return text
}

// gap is what lies between two columns.
const gap = 2

// drawn is a column with its cells, the head first, and its width.
type drawn struct {
	topColumn
	cells []string
	wide  int
}

// draw fills a column.
func (c topColumn) draw(rows []topRow) drawn {
	d := drawn{topColumn: c, cells: []string{c.head}, wide: len(c.head)}
	for _, r := range rows {
		if r.text != "" {
			d.cells = append(d.cells, "")
			continue
		}
		cell := line(c.cell(r.Instance))
		if c.head == topColumns[0].head {
			cell = r.branch + cell
		}
		d.cells = append(d.cells, cell)
		d.wide = max(d.wide, utf8.RuneCountInString(cell))
	}
	return d
}

// list are the lines of the list, the heads first, in so many columns of the screen.
func (s *topScreen) list(rows []topRow, width int) []string {
	var columns []drawn
	total := -gap
	for _, c := range topColumns {
		d := c.draw(rows)
		if c.head == "ROLE" && !slices.ContainsFunc(rows, func(r topRow) bool { return r.text == "" && roleWords(r.Instance) != "" }) {
			continue // of no instance
		}
		columns = append(columns, d)
		total += d.wide + gap
	}
	for total > width {
		least := slices.MaxFunc(columns, func(a, b drawn) int { return cmp.Compare(a.rank, b.rank) })
		if least.rank == 0 {
			break // what is left is cut off
		}
		columns = slices.DeleteFunc(columns, func(d drawn) bool { return d.rank == least.rank })
		total -= least.wide + gap
	}
	lines := make([]string, len(rows)+1)
	for n := range lines {
		if n > 0 && rows[n-1].text != "" {
			lines[n] = rows[n-1].text
			continue
		}
		var b strings.Builder
		for _, d := range columns {
			pad := strings.Repeat(" ", d.wide-utf8.RuneCountInString(d.cells[n]))
			if d.right {
				b.WriteString(pad + d.cells[n])
			} else {
				b.WriteString(d.cells[n] + pad)
			}
			b.WriteString(strings.Repeat(" ", gap))
		}
		lines[n] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// line is a text on one line, without what a terminal obeys.
func line(text string) string {
	return strings.ReplaceAll(progress.Plain(strings.ReplaceAll(text, "\t", " ")), "\n", "; ")
}

// said are what there is to say of an instance in words, the worst first.
func said(i view.Instance) (lines []string) {
	if i.Trouble != "" {
		lines = append(lines, i.Name+": "+line(i.Trouble))
	}
	if i.Reason != "" && i.Phase != instance.Running {
		lines = append(lines, i.Name+": "+line(i.Reason))
	}
	for _, w := range i.Warnings {
		lines = append(lines, i.Name+": warning: "+line(w))
	}
	for _, n := range i.Notices {
		lines = append(lines, i.Name+": notice: "+line(n))
	}
	return lines
}

// plain is a look as text.
func (s *topScreen) plain() string {
	rows := s.arranged()
	lines := append(s.head(s.seen.Instances), "")
	if len(s.seen.Instances) == 0 {
		lines = append(lines, "no instances; ramaria up makes one")
	} else {
		lines = append(lines, s.list(rows, s.width)...)
	}
	for _, r := range rows {
		if r.text == "" {
			lines = append(lines, said(r.Instance)...)
		}
	}
	for _, n := range s.seen.Notes {
		lines = append(lines, line(n))
	}
	return strings.Join(lines, "\n") + "\n"
}
