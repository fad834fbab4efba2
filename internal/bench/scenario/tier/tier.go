package tier

import (
	"context"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

const (
	// ramBytes is the RAM that places have which spill, and times how many times that is written.
	ramBytes = 512 << 20
	times    = 4
	// steps are the points of a curve.
	steps = 8
	// swapSpare is what the writer itself takes of the memory that it has with a swapped tmpfs, in bytes.
	swapSpare = 48 << 20
)

// Measures beside the rate of ordinary writes.
const (
	readBack    = "read back"
	writePast   = "write past the page cache"
	readPast    = "read past the page cache"
	longest     = "longest write"
	longestPast = "longest write past the page cache"
	mounting    = "made and mounted in"
	smallFiles  = "small files"
	givenBack   = "memory given back in"
	spilled     = "spilled to the disk"
)

// Names of places, as rows have them.
const (
	disk     = "disk"
	synced   = "disk, mounted sync"
	tmpfs    = "tmpfs"
	swap     = "tmpfs with swap"
	mergerfs = "mergerfs"
	wheat    = "wheatfs"
)

// tiering is the scenario while it is made and concluded.
type tiering struct {
	lab       *lab.Lab
	ram, step int64
	places    []*place
}

// Scenario measures a writer that writes four times the RAM of its file system, and reads it back.
func Scenario(l *lab.Lab) runner.Scenario { return newTiering(l).scenario() }

func newTiering(l *lab.Lab) *tiering {
	o := &tiering{lab: l}
	o.step = max(int64(l.Options.Scaled(ramBytes*times))/steps/blockBytes, leastStep) * blockBytes
	o.ram = o.step * steps / times
	o.places = o.newPlaces()
	return o
}

// leastStep is the smallest step, in blocks: a wheatfs has at least 64 MB.
const leastStep = 8

// all is what is written in a pass.
func (o *tiering) all() int64 { return o.step * steps }

// room is the size of a file system on the disk that is to hold it: sparse, and so large that it is never
// nearly full, which has costs of its own.
func (o *tiering) room() int64 { return 4*o.all() + 256<<20 }

// newPlaces are the rows' places.
func (o *tiering) newPlaces() []*place {
	l := o.lab
	ram, rate := runner.Bytes.Format(float64(o.ram)), runner.BytesPerSecond.Format(lab.SlowRate)
	held := "a loop device that is held to " + rate + " each way"
	list := []*place{
		{name: disk, says: "a directory on disk, the page cache before it", onDisk: true,
			make: func(_ context.Context, dir string) (*lab.Scratch, error) { return l.DirScratch(dir) }},
		{name: synced, says: "an XFS in a file on disk, by a loop device, mounted with -o sync", onDisk: true,
			make: func(ctx context.Context, dir string) (*lab.Scratch, error) { return l.SyncScratch(ctx, dir, o.room()) }},
		{name: tmpfs, says: "a tmpfs of " + ram, mayFail: true,
			make: func(_ context.Context, dir string) (*lab.Scratch, error) { return l.TmpfsScratch(dir, o.ram) }},
		{name: swap, says: "a tmpfs that is swapped to a file on disk, its writer and its files having " + ram + " of memory", mayFail: true,
			make: func(_ context.Context, dir string) (*lab.Scratch, error) {
				return l.SwapScratch(dir, o.ram+swapSpare, o.all()+o.all()/8)
			}},
		{name: mergerfs, says: "mergerfs over a tmpfs of " + ram + " and a directory on disk: a new file goes to the first with room (ff), and is moved when that is full (moveonenospc); it writes there through the page cache, whatever it is asked for", mayFail: true,
			make: func(ctx context.Context, dir string) (*lab.Scratch, error) { return l.MergerfsScratch(ctx, dir, o.ram) }},
		{name: wheat, says: "a wheatfs with " + ram + " of RAM", ours: true,
			make: func(ctx context.Context, dir string) (*lab.Scratch, error) {
				return l.WheatScratch(ctx, dir, o.ram, l.Dir, nil)
			}},
		{name: o.slow(disk), says: "an XFS in a file on disk, by " + held + "; the page cache is before it", onDisk: true,
			make: func(ctx context.Context, dir string) (*lab.Scratch, error) {
				return l.SlowScratch(ctx, dir, o.room(), lab.SlowRate)
			}},
		{name: o.slow(wheat), says: "a wheatfs with " + ram + " of RAM, the rest on such a disk", ours: true,
			make: func(ctx context.Context, dir string) (*lab.Scratch, error) {
				return l.SlowWheatScratch(ctx, dir, o.ram, o.room(), lab.SlowRate)
			}},
	}
	for _, p := range list {
		p.tiering = o
	}
	return list
}

// slow is the name of a place on the slow disk.
func (o *tiering) slow(name string) string {
	if name != disk {
		name += ", disk"
	}
	return name + " EMULATED " + runner.BytesPerSecond.Format(lab.SlowRate)
}

func (o *tiering) scenario() runner.Scenario {
	l := o.lab
	settings := map[string]string{
		"RAM":    runner.Bytes.Format(float64(o.ram)) + ", of those that spill and of tmpfs",
		"data":   fmt.Sprintf("one file, written by one process in calls of 1 MiB, read back and compared, removed; once as any program does, and once past the page cache (O_DIRECT; where that cannot be, fdatasync every %s)", runner.Bytes.Format(syncEvery)),
		"round":  "a place is made, written to, and taken away: all points of a curve are of one pass",
		"files":  fmt.Sprintf("small files have %s, and are made, written and removed one after the other", runner.Bytes.Format(smallBytes)),
		"memory": "given back: from the call that removes the file until nine tenths of what it had in memory are free. Of a wheatfs that is the memory of its daemon",
	}
	s := runner.Scenario{
		Name: "tier", Rounds: 4, Warm: true, Unit: runner.BytesPerSecond, XName: "times the RAM", Settings: settings,
		Title: fmt.Sprintf("one writer writes %s, and reads it back: the rate by what was written before, in times of the RAM", runner.Bytes.Format(float64(o.all()))),
		Beside: []runner.Measure{
			{Name: readBack, Unit: runner.BytesPerSecond}, {Name: writePast, Unit: runner.BytesPerSecond}, {Name: readPast, Unit: runner.BytesPerSecond},
			{Name: longest, Unit: runner.Seconds}, {Name: longestPast, Unit: runner.Seconds},
			{Name: mounting, Unit: runner.Seconds}, {Name: smallFiles, Unit: runner.PerSecond}, {Name: givenBack, Unit: runner.Seconds}, {Name: spilled, Unit: runner.Bytes},
		},
	}
	for _, p := range o.places {
		for at := 1; at <= steps; at++ {
			s.Cases = append(s.Cases, o.point(p, at))
		}
	}
	s.Conclusion = l.IfDisk(true, o.conclusion)
	// One place is there at a time.
	s.Disk, s.Memory = 2*o.all(), o.ram+swapSpare
	return s
}

// x is where a step ends, in times of the RAM.
func x(at int) float64 { return float64(at) * times / steps }

// point is a place after so many steps.
func (o *tiering) point(p *place, at int) runner.Case {
	where := fmt.Sprintf(", %g times", x(at))
	return runner.Case{
		Name: p.name + where, Base: o.places[0].name + where, Settings: p.says, Series: p.name, X: x(at), Ours: p.ours,
		Prepare: func(ctx context.Context) error {
			if err := p.prepare(ctx); err != nil {
				return err
			}
			if at > p.steps {
				return lab.NotApplicableError("there is no room: " + p.full)
			}
			return nil
		},
		Found: func() string { return p.lies },
		Round: func(ctx context.Context) (runner.Sample, error) { return p.round(ctx, at) },
		Check: p.check,
	}
}
