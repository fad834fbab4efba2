package sort

import (
	"context"
	"fmt"
	"math"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

const (
	// ramPart is the part of what a sort writes that rows have in RAM which spill, one in so many.
	ramPart = 4
	// swapSpare is what a server takes of its memory for other things than files, in bytes.
	swapSpare = 64 << 20
)

// tier is what temporary files lie in where that is made for a row.
type tier struct {
	where, says string
	make        func(ctx context.Context, dir string) (*lab.Scratch, error) // nil where nothing is made
	ram         int64                                                       // at most
	image       int64                                                       // the size of the file that its disk is, 0 without one
	synced      bool                                                        // every write waits for the device
	ours        bool
	spare       bool   // its rows are left out where there is little room, and of a quick run
	mayFail     bool   // queries may find no room
	base        string // the place that it is compared with, "" for the first
}

// Names of places that others are compared with, or that the conclusion speaks of.
const (
	mountedSync = "tmpdir on disk, mounted sync"
	wheatAll    = "tmpdir on wheatfs, all in RAM"
	wheatPart   = "tmpdir on wheatfs, a quarter in RAM"

	swapPart     = "tmpdir on tmpfs with swap, a quarter in RAM"
	mergerfsPart = "tmpdir on mergerfs, a quarter in RAM"
)

// slowDisk is the disk that is held back, and wheatSlow a wheatfs over such a one.
func slowDisk() string {
	return "tmpdir on disk EMULATED " + runner.BytesPerSecond.Format(lab.SlowRate)
}

func wheatSlow() string {
	return wheatPart + ", disk EMULATED " + runner.BytesPerSecond.Format(lab.SlowRate)
}

// sortedBytes is about what the sorts of a round write.
func (o *sorting) sortedBytes() int64 { return sortThreads * o.bytes() }

// tiers are the file systems on the disk that are compared with its page cache.
func (o *sorting) tiers() []tier {
	l := o.lab
	part, most, image := o.sortedBytes()/ramPart, 2*o.temporaryBytes(), o.imageBytes()
	quarter := fmt.Sprintf("RAM for %s, a quarter of what a sort writes", runner.Bytes.Format(float64(part)))
	rate := runner.BytesPerSecond.Format(lab.SlowRate)
	list := []tier{
		{where: mountedSync, says: "an XFS in a file on disk, by a loop device, mounted with -o sync", synced: true, image: image,
			make: func(ctx context.Context, dir string) (*lab.Scratch, error) { return l.SyncScratch(ctx, dir, image) }},
		{where: wheatAll, says: "a wheatfs with RAM for all of it", ram: most, ours: true,
			make: func(ctx context.Context, dir string) (*lab.Scratch, error) {
				return l.WheatScratch(ctx, dir, most, l.Dir, nil)
			}},
		{where: wheatPart, says: "a wheatfs with " + quarter, ram: part, ours: true,
			make: func(ctx context.Context, dir string) (*lab.Scratch, error) {
				return l.WheatScratch(ctx, dir, part, l.Dir, nil)
			}},
		{where: slowDisk(), says: "an XFS in a file on disk, by a loop device that is held to " + rate + " each way; the page cache is before it", image: image,
			make: func(ctx context.Context, dir string) (*lab.Scratch, error) {
				return l.SlowScratch(ctx, dir, image, lab.SlowRate)
			}},
		{where: wheatSlow(), says: "a wheatfs with " + quarter + ", the rest on that disk", ram: part, ours: true, base: slowDisk(), image: image,
			make: func(ctx context.Context, dir string) (*lab.Scratch, error) {
				return l.SlowWheatScratch(ctx, dir, part, image, lab.SlowRate)
			}},
		{where: swapPart, says: "a tmpfs that is swapped to a file on disk: server and files have " + quarter + ", more than the server had before", ram: part + swapSpare, mayFail: true,
			make: func(_ context.Context, dir string) (*lab.Scratch, error) {
				return l.SwapScratch(dir, part+swapSpare, most)
			}},
		{where: mergerfsPart, says: "mergerfs over a tmpfs, which has " + quarter + ", and a directory on disk: a new file goes to the first with room (ff), and is moved when that is full (moveonenospc)", ram: part, mayFail: true,
			make: func(ctx context.Context, dir string) (*lab.Scratch, error) { return l.MergerfsScratch(ctx, dir, part) }},
	}
	if l.Options.Quick { // each has a server
		return list[:2]
	}
	for i := range list {
		list[i].spare = !list[i].synced
	}
	return list
}

// tierConclusion says what a wheatfs gives against the page cache, and where it helps, if anywhere; and what
// else spills.
func (o *sorting) tierConclusion(r *runner.Result, rows []runner.Row) string {
	at := map[string]*runner.Row{}
	for i, p := range o.places {
		if p.tier.make != nil && !math.IsNaN(rows[i].Median) {
			at[p.where] = &rows[i]
		}
	}
	wheat := at[wheatAll]
	if wheat == nil || math.IsNaN(wheat.Ratio) {
		return ""
	}
	s := fmt.Sprintf("a wheatfs has %.2f times the rows with all in RAM", wheat.Ratio)
	if part := at[wheatPart]; part != nil {
		s += fmt.Sprintf(" and %.2f times with a quarter", part.Ratio)
		if n := part.Beside[spilled]; n > 0 {
			s += ", " + runner.Bytes.Format(n) + " spilled"
		} else {
			s += ", of which the page cache let nothing spill"
		}
	}
	switch {
	case r.Gains(wheat):
		s += ": it helps on this machine"
	case r.Loses(wheat):
		s += ": on this machine the page cache is faster"
	default:
		s += ": on this machine the page cache is as fast"
	}
	if synced := at[mountedSync]; synced != nil && r.Beats(wheat, synced) {
		s += fmt.Sprintf("; where the disk is mounted sync it has %.1f times its rows", wheat.Median/synced.Median)
	}
	rate := runner.BytesPerSecond.Format(lab.SlowRate)
	for _, other := range []struct{ where, text string }{
		{wheatSlow(), "before a disk of " + rate + " (EMULATED) it has %.2f times the rows of the page cache there"},
		{swapPart, "a tmpfs with swap has %.2f times the rows of the disk"},
		{mergerfsPart, "mergerfs %.2f times"},
	} {
		if row := at[other.where]; row != nil && !math.IsNaN(row.Ratio) {
			s += "; " + fmt.Sprintf(other.text, row.Ratio)
		}
	}
	return s
}
