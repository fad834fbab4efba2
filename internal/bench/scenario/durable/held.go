package durable

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// writesName is what the rows of --disk-writes are drawn over.
const writesName = "writes a second of the disk"

// heldSeconds is how long a round of a row runs on a disk that is held back: its throttle counts by tenths of a
// second, and an instance needs one to find out.
const heldSeconds = 4

// held says whether --disk-writes was given: the servers that wait for the disk are measured then, over how many
// writes a second it makes.
func (b *bench) held() bool { return len(b.lab.Options.DiskWrites) > 0 }

// writes are the rates that the disk is held to in turn, the slowest first and 0, the disk as it is, last.
func (b *bench) writes() []int {
	if !b.held() {
		return []int{0}
	}
	list := slices.Clone(lab.Unique(b.lab.Options.DiskWrites))
	slices.Sort(list)
	if list[0] == 0 {
		list = append(list[1:], 0)
	}
	return list
}

// NoLimit is what --disk-writes says for the disk as it is.
const NoLimit = "none"

func writesText(writes int) string {
	if writes == 0 {
		return NoLimit
	}
	return strconv.Itoa(writes)
}

// heldName is a rate in the name of a row.
func heldName(writes int) string {
	if writes == 0 {
		return "disk as it is"
	}
	return fmt.Sprintf("disk EMULATED %d writes/s", writes)
}

// setHeld makes a row one of a disk that is held back.
func (b *bench) setHeld(c *runner.Case, p point) {
	c.Series, c.Panel = p.Row+", "+p.workload+", "+lab.ThreadsOf(p.threads), p.workload
	c.X = float64(p.writes)
	rate, err := b.lab.Held.Rate(p.writes)
	if p.writes == 0 {
		c.X = rounded(rate.Plain)
	}
	if err != nil {
		c.Prepare = func(context.Context) error { return err }
	}
}

// rounded has two digits that are not zero: where the point of the disk as it is stands.
func rounded(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return math.Round(v/unit) * unit
}

// heldAs says what the disk was held to, and what was made then.
func (b *bench) heldAs() string {
	var parts []string
	for _, writes := range b.writes() {
		rate, err := b.lab.Held.Rate(writes)
		if err != nil {
			parts = append(parts, heldName(writes)+": not measured")
			continue
		}
		parts = append(parts, fmt.Sprintf("%s: %.0f of 4 KiB a second were measured past the page cache, %.0f synchronous", heldName(writes), rate.Plain, rate.Synced))
	}
	return strings.Join(parts, "; ") + "; server and supervisor together, by a control group, which counts emptying the disk's cache as a write; the file system's journal is not held back"
}

// join has the disk hold back what the server writes, and its supervisor.
func (s *dbServer) join() error {
	if !s.bench.held() {
		return nil
	}
	if !s.Ramaria {
		s.members = []int{s.Plain.Proc.PID()}
	} else {
		i, err := s.Lab.Instance(s.Name)
		if err != nil {
			return err
		}
		state, err := i.State()
		if err != nil {
			return err
		}
		s.members = []int{state.SupervisorPID, state.ServerPID}
	}
	return s.Lab.Held.Add(s.members[0])
}

// heldTo does work with the disk held to a rate.
func (s *dbServer) heldTo(writes int, work func() error) error {
	if !s.bench.held() {
		return work()
	}
	return s.Lab.Held.Hold(writes, work, s.members...)
}

// heldConclusion says what being durable gains on each disk.
func (b *bench) heldConclusion(r *runner.Result) string {
	var parts, slower []string
	for _, workload := range b.workloads() {
		for _, writes := range b.writes() {
			times, worse := b.gains(r, workload, writes)
			if times != "" {
				parts = append(parts, times)
			}
			slower = append(slower, worse...)
		}
	}
	if parts == nil {
		return ""
	}
	text := RowDurable + ", which loses nothing, has of the transactions of a stock server that syncs each to the disk: " + strings.Join(parts, "; ")
	if slower == nil {
		return text + ". 99 % of them take no longer than the stock server's anywhere."
	}
	return text + ". 99 % of them take longer than the stock server's with " + strings.Join(slower, ", ") + "."
}

// gains says how many times the stock server's transactions there are under a workload on a disk, "" for nothing, and
// where the slowest hundredth of them takes longer.
func (b *bench) gains(r *runner.Result, workload string, writes int) (text string, worse []string) {
	var times, threads []string
	for _, n := range b.threads() {
		p := point{workload: workload, threads: n, writes: writes}
		mine, stock := b.find(r, RowDurable, p), b.find(r, RowStock, p)
		if mine == nil || stock == nil {
			continue
		}
		threads = append(threads, strconv.Itoa(n))
		times = append(times, fmt.Sprintf("%.2f", mine.Ratio))
		if mine.Beside[lab.TailLatency] > stock.Beside[lab.TailLatency] {
			worse = append(worse, workload+", "+lab.ThreadsOf(n)+", "+heldName(writes))
		}
	}
	if times == nil {
		return "", nil
	}
	return fmt.Sprintf("%s, %s, %s times (threads: %s)", workload, heldName(writes), strings.Join(times, ", "), strings.Join(threads, ", ")), worse
}

// find is the row of a server under a load, nil if it has no figures.
func (b *bench) find(r *runner.Result, server string, p point) *runner.Row {
	i := slices.IndexFunc(r.Rows, func(row runner.Row) bool { return row.Name == b.rowName(server, p) && row.Count > 0 })
	if i < 0 {
		return nil
	}
	return &r.Rows[i]
}
