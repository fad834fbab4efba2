package scenario

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/volume"
)

const (
	// countOfFiles is the standard number of files, and fileBytes the size of each: 102 KB, as
	// in the published comparison.
	filesCount = 1000
	fileBytes  = 102 << 10
	// fileStep is how far the contents of one file begin behind those of the one before.
	fileStep = 64
	// besideFile is what a file takes at most beside its contents.
	besideFile = 8 << 10
	// filesTimedMeasure is what of it the disk had got when the files were made.
	filesTimedMeasure = "of it within the time"
)

// filesPlace is where files are made.
type filesPlace struct {
	row  string
	says string
	name string      // as --place has it
	kind volume.Kind // of a volume, "" for none
	// open returns the directory that files are made below, and a function that lets it go.
	open func(ctx context.Context) (string, func() error, error)
}

// ramPlace tells places whose files are in memory.
func (p filesPlace) inRAM() bool { return p.name == lab.PlaceRAMByHand || p.name == lab.PlaceRamaria }

// FilesScenario measures how long it takes to make files, and to make them last.
func FilesScenario(l *lab.Lab) runner.Scenario {
	count := countOfFiles(l)
	s := runner.Scenario{
		Name: "files", Rounds: 10, Unit: runner.Seconds, Settings: l.Settings(),
		Title:  fmt.Sprintf("make %d files of %d KiB: open, write, close, and in every second row fsync before that", count, fileBytes>>10),
		Beside: []runner.Measure{{Name: runner.Written, Unit: runner.Bytes}, {Name: filesTimedMeasure, Unit: runner.Bytes}},
	}
	delete(s.Settings, "server")
	delete(s.Settings, "origin")
	s.Settings[runner.Published] = "1000 files of 102 KB: 47.7 s on disk, 0.083 s in shared memory"
	s.Settings["data"] = fmt.Sprintf("%d files of %d KiB, random, other in each round, so that zram cannot compress it; the directory itself is not synced", count, fileBytes>>10)
	places := filesPlaces(l)
	onDisk := slices.ContainsFunc(places, func(p filesPlace) bool { return p.name == lab.PlaceDisk })
	s.Conclusion = l.IfDisk(onDisk, func(r *runner.Result) string { return filesConclusion(r, places) })
	s.Beside = append(s.Beside, lab.FsyncBeside()...)
	for _, p := range places {
		dir := &filesDir{lab: l, place: p, count: count}
		s.Cases = append(s.Cases, dir.row(false), dir.row(true))
	}
	for i := range s.Cases {
		s.Cases[i].Base = s.Cases[i%2].Name // the first place's, which is the disk if it is there
	}
	// A place's files are removed before the next has its own, but an XFS in RAM keeps the
	// memory.
	size := filesBytes(count)
	s.Disk, s.Memory = size, int64(len(places))*size
	if slices.ContainsFunc(places, func(p filesPlace) bool { return p.name == lab.PlaceRAMByHand }) {
		s.Shm = l.NeedIfFits(lab.Need{Shm: size}).Shm
	}
	return s
}

func countOfFiles(l *lab.Lab) int { return l.Options.Scaled(filesCount) }

// filesBytes is what so many files take at most.
func filesBytes(count int) int64 { return int64(count) * (fileBytes + besideFile) }

// filesConclusion says what RAM gains, and of what the page cache had taken it.
func filesConclusion(r *runner.Result, places []filesPlace) string {
	at := slices.IndexFunc(places, func(p filesPlace) bool { return p.name == lab.PlaceDisk })
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
		var found *runner.Row
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
			times := disk.Median / found.Median
			say(says+", which "+r.NoGain(times), name, times)
		}
	}
	best(1, "with fsync %s is %.1f times as fast as the disk")
	best(0, "without fsync %s is %.2f times as fast")
	if within, all := row.Beside[filesTimedMeasure], row.Beside[runner.Written]; all > 0 {
		took := "the page cache took the files without fsync"
		if within > all/2 {
			took = "the page cache did not take all of the files without fsync"
		}
		say("%s: the disk had %.0f %% of them when the clock stopped", took, 100*within/all)
	}
	return strings.Join(parts, "; ") + "."
}

// filesPlaces are those that were asked for. The settings of a server are nothing here.
func filesPlaces(l *lab.Lab) []filesPlace {
	wants := func(name string) bool { return len(l.Options.Places) == 0 || slices.Contains(l.Options.Places, name) }
	var list []filesPlace
	if wants(lab.PlaceDisk) {
		list = append(list, filesPlace{row: "disk", says: "the file system of " + l.Disk(), name: lab.PlaceDisk, open: keep(l.Dir)})
	}
	if wants(lab.PlaceRAMByHand) {
		list = append(list, filesPlace{row: "/dev/shm", says: "shared memory as it is", name: lab.PlaceRAMByHand, open: inShmOf(l, filesBytes(countOfFiles(l)))})
	}
	kinds := l.Options.Volumes
	if len(kinds) == 0 {
		kinds = []volume.Kind{volume.Tmpfs, volume.XFS, volume.Zram, volume.Ramfs}
	}
	for _, kind := range lab.Unique(kinds) {
		if kind == volume.Disk || kind == volume.Shm || !wants(lab.PlaceRamaria) {
			continue // they are directories of the two above
		}
		list = append(list, filesPlace{row: string(kind), says: "ramaria's volume in RAM", name: lab.PlaceRamaria, kind: kind, open: inVolume(l, kind)})
	}
	// The last: the others are compared with the first, and these have no figures.
	for _, name := range lab.Unique(l.Options.Places) {
		p, err := lab.PlaceNamed(name)
		switch {
		case err != nil: // CheckPlaces has told
		case p.Rate > 0:
			list = append(list, filesPlace{row: fmt.Sprintf("disk EMULATED %d io/s", p.Rate), says: p.About, name: name, open: notHeldBack})
		case name == lab.PlaceRelaxed || name == lab.PlaceRAMRelaxed || name == lab.PlaceRamariaDisk:
			list = append(list, filesPlace{row: p.Row, says: p.About, name: name, open: noServer})
		}
	}
	return list
}

// keep is a directory that is there anyway.
func keep(dir string) func(context.Context) (string, func() error, error) {
	return func(context.Context) (string, func() error, error) { return dir, func() error { return nil }, nil }
}

func notHeldBack(context.Context) (string, func() error, error) {
	return "", nil, fmt.Errorf("%w: servers are held back, and these files are made by ramaria bench itself", runner.ErrUnavailable)
}

func noServer(context.Context) (string, func() error, error) {
	return "", nil, lab.NotApplicableError("these are settings of a server, and ramaria bench makes the files itself: --place disk is the same place")
}

// inShmOf is shared memory with so much room, if there is so much.
func inShmOf(l *lab.Lab, size int64) func(context.Context) (string, func() error, error) {
	return func(ctx context.Context) (string, func() error, error) {
		if err := l.Fits(lab.Need{Shm: size}); err != nil {
			return "", nil, err
		}
		return inVolume(l, volume.Shm)(ctx)
	}
}

func inVolume(l *lab.Lab, kind volume.Kind) func(context.Context) (string, func() error, error) {
	return func(ctx context.Context) (string, func() error, error) {
		v, err := l.AvailableVolume(ctx, kind)
		if err != nil {
			return "", nil, err
		}
		return v.Dir(), v.Close, nil
	}
}
