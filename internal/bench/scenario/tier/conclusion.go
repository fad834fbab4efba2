package tier

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// curve is the rows of a place, by their steps; without figures where it had no room.
func (o *tiering) curve(r *runner.Result, name string) []runner.Row {
	i := slices.IndexFunc(o.places, func(p *place) bool { return p.name == name })
	return r.Rows[i*steps:][:steps]
}

// rate is that of a measure of a place over the steps from a step on to another, NaN where one is missing.
func rate(rows []runner.Row, name string, from, to int) float64 {
	slowness := 0.0
	for _, row := range rows[from:to] {
		v := row.Median
		if name != "" {
			v = beside(row, name)
		}
		slowness += 1 / v
	}
	return float64(to-from) / slowness
}

func beside(row runner.Row, name string) float64 {
	if v, told := row.Beside[name]; told {
		return v
	}
	return math.NaN()
}

// conclusion says where the page cache is as fast, what the RAM gains past it, and how smooth the way from
// one to the other is.
func (o *tiering) conclusion(r *runner.Result) string {
	var parts []string
	for _, s := range []string{o.ordinary(r), o.past(r), o.slowDisk(r), o.knee(r), o.rest(r)} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if parts == nil {
		return ""
	}
	return strings.Join(parts, ". ") + "."
}

var format = runner.BytesPerSecond.Format

// ordinary compares what any program sees.
func (o *tiering) ordinary(r *runner.Result) string {
	first, own := o.curve(r, disk), o.curve(r, wheat)
	cache, mine := rate(first, "", 0, steps), rate(own, "", 0, steps)
	if math.IsNaN(cache) || math.IsNaN(mine) {
		return ""
	}
	gains, loses := 0, 0
	for i := range own {
		if r.Beats(&own[i], &first[i]) {
			gains++
		}
		if r.Beats(&first[i], &own[i]) {
			loses++
		}
	}
	s := fmt.Sprintf("As any program writes, the page cache before the disk takes %s, and a wheatfs %s: ", format(cache), format(mine))
	switch {
	case gains > steps/2:
		return s + "the wheatfs helps on this machine"
	case loses > steps/2:
		return s + "on this machine the page cache is faster, and there is no use for a wheatfs as long as it has room"
	}
	return s + "on this machine the page cache is as fast, and a wheatfs helps only where that has no room, or must wait for the disk"
}

// inRAMSteps are those that fit into the RAM.
const inRAMSteps = steps / times

// past tells plateau and plateau.
func (o *tiering) past(r *runner.Result) string {
	own := o.curve(r, wheat)
	in, out := rate(own, writePast, 0, inRAMSteps), rate(own, writePast, inRAMSteps, steps)
	device := rate(o.curve(r, disk), writePast, 0, steps)
	if math.IsNaN(in) || math.IsNaN(out) || math.IsNaN(device) {
		return ""
	}
	s := fmt.Sprintf("Past the page cache a wheatfs takes %s while there is RAM and %s beyond, where the disk takes %s", format(in), format(out), format(device))
	if v := rate(o.curve(r, tmpfs), writePast, 0, inRAMSteps-1); !math.IsNaN(v) {
		s += ", and a tmpfs, while there is room, " + format(v)
	}
	if v := rate(o.curve(r, swap), writePast, inRAMSteps, steps); !math.IsNaN(v) {
		s += "; a tmpfs with swap takes " + format(v) + " beyond"
	}
	return s
}

// slowDisk compares what a wheatfs and the page cache make of a slow disk.
func (o *tiering) slowDisk(r *runner.Result) string {
	first, own := o.curve(r, o.slow(disk)), o.curve(r, o.slow(wheat))
	in, out := rate(own, writePast, 0, inRAMSteps), rate(own, writePast, inRAMSteps, steps)
	device := rate(first, writePast, 0, steps)
	cache, mine := rate(first, "", 0, steps), rate(own, "", 0, steps)
	if math.IsNaN(in) || math.IsNaN(out) || math.IsNaN(device) {
		return ""
	}
	return fmt.Sprintf("Before a disk %s, which takes %s past the page cache, a wheatfs takes %s while there is RAM and %s beyond, %.2f times as much in all; as any program writes, %.2f times what the page cache takes there",
		strings.TrimPrefix(o.slow(disk), disk+" "), format(device), format(in), format(out), rate(own, writePast, 0, steps)/device, mine/cache)
}

// knee tells the longest writes.
func (o *tiering) knee(r *runner.Result) string {
	var said []string
	for _, p := range o.places {
		most := math.NaN()
		for _, row := range o.curve(r, p.name) {
			for _, v := range []float64{beside(row, longest), beside(row, longestPast)} {
				if !(most >= v) && !math.IsNaN(v) {
					most = v
				}
			}
		}
		if !math.IsNaN(most) {
			said = append(said, p.name+" "+runner.Seconds.Format(most))
		}
	}
	if said == nil {
		return ""
	}
	return "The longest write of 1 MiB takes: " + strings.Join(said, "; ")
}

// rest tells of a wheatfs what is no rate, and which places had no room.
func (o *tiering) rest(r *runner.Result) string {
	last := o.curve(r, wheat)[steps-1]
	var said []string
	for _, m := range []struct{ name, text string }{
		{givenBack, "gives its memory back in %s"}, {smallFiles, "makes and removes %s of small files"}, {mounting, "is mounted in %s"},
	} {
		v := beside(last, m.name)
		if math.IsNaN(v) {
			continue
		}
		unit := runner.Seconds
		if m.name == smallFiles {
			unit = runner.PerSecond
		}
		said = append(said, fmt.Sprintf(m.text, unit.Format(v)))
	}
	s := ""
	if said != nil {
		s = "A wheatfs " + strings.Join(said, ", ")
	}
	for _, p := range o.places {
		if p.full != "" {
			if s != "" {
				s += "; "
			}
			s += fmt.Sprintf("%s fails after %g times the RAM", p.name, x(p.steps))
		}
	}
	return s
}
