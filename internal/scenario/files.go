package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

const (
	// filesCount is the standard number of files, and fileBytes the size of each: 102 KB, as
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

// inRAM tells places whose files are in memory.
func (p filesPlace) inRAM() bool { return p.name == placeRAMByHand || p.name == PlaceRamaria }

// FilesScenario measures how long it takes to make files, and to make them last.
func (l *Lab) FilesScenario() bench.Scenario {
	count := l.filesCount()
	s := bench.Scenario{
		Name: "files", Rounds: 10, Unit: bench.Seconds, Settings: l.settings(),
		Title:  fmt.Sprintf("make %d files of %d KiB: open, write, close, and in every second row fsync before that", count, fileBytes>>10),
		Beside: []bench.Measure{{Name: bench.Written, Unit: bench.Bytes}, {Name: filesTimedMeasure, Unit: bench.Bytes}},
	}
	delete(s.Settings, "server")
	delete(s.Settings, "origin")
	s.Settings[bench.Published] = "1000 files of 102 KB: 47.7 s on disk, 0.083 s in shared memory"
	s.Settings["data"] = fmt.Sprintf("%d files of %d KiB, random, other in each round, so that zram cannot compress it; the directory itself is not synced", count, fileBytes>>10)
	places := l.filesPlaces()
	onDisk := slices.ContainsFunc(places, func(p filesPlace) bool { return p.name == placeDisk })
	s.Conclude = l.ofDisk(onDisk, func(r *bench.Result) string { return concludeFiles(r, places) })
	s.Beside = append(s.Beside, fsyncBeside()...)
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
	if slices.ContainsFunc(places, func(p filesPlace) bool { return p.name == placeRAMByHand }) {
		s.Shm = l.roomIfFits(room{shm: size}).shm
	}
	return s
}

func (l *Lab) filesCount() int { return l.Options.scaled(filesCount) }

// filesBytes is what so many files take at most.
func filesBytes(count int) int64 { return int64(count) * (fileBytes + besideFile) }

// filesPlaces are those that were asked for. The settings of a server are nothing here.
func (l *Lab) filesPlaces() []filesPlace {
	wants := func(name string) bool { return len(l.Options.Places) == 0 || slices.Contains(l.Options.Places, name) }
	var list []filesPlace
	if wants(placeDisk) {
		list = append(list, filesPlace{row: "disk", says: "the file system of " + l.Disk(), name: placeDisk, open: keep(l.Dir)})
	}
	if wants(placeRAMByHand) {
		list = append(list, filesPlace{row: "/dev/shm", says: "shared memory as it is", name: placeRAMByHand, open: l.inShmOf(filesBytes(l.filesCount()))})
	}
	kinds := l.Options.Volumes
	if len(kinds) == 0 {
		kinds = []volume.Kind{volume.Tmpfs, volume.XFS, volume.Zram, volume.Ramfs}
	}
	for _, kind := range Unique(kinds) {
		if kind == volume.Disk || kind == volume.Shm || !wants(PlaceRamaria) {
			continue // they are directories of the two above
		}
		list = append(list, filesPlace{row: string(kind), says: "ramaria's volume in RAM", name: PlaceRamaria, kind: kind, open: l.inVolume(kind)})
	}
	// The last: the others are compared with the first, and these have no figures.
	for _, name := range Unique(l.Options.Places) {
		p, err := placeNamed(name)
		switch {
		case err != nil: // CheckPlaces has told
		case p.rate > 0:
			list = append(list, filesPlace{row: fmt.Sprintf("disk EMULATED %d io/s", p.rate), says: p.says, name: name, open: notHeldBack})
		case name == placeRelaxed || name == placeRamariaDisk:
			list = append(list, filesPlace{row: p.row, says: p.says, name: name, open: noServer})
		}
	}
	return list
}

// keep is a directory that is there anyway.
func keep(dir string) func(context.Context) (string, func() error, error) {
	return func(context.Context) (string, func() error, error) { return dir, func() error { return nil }, nil }
}

func notHeldBack(context.Context) (string, func() error, error) {
	return "", nil, fmt.Errorf("%w: servers are held back, and these files are made by ramaria bench itself", bench.ErrUnavailable)
}

func noServer(context.Context) (string, func() error, error) {
	return "", nil, leftOutError("these are settings of a server, and ramaria bench makes the files itself: --place disk is the same place")
}

// inShmOf is shared memory with so much room, if there is so much.
func (l *Lab) inShmOf(size int64) func(context.Context) (string, func() error, error) {
	return func(ctx context.Context) (string, func() error, error) {
		if err := l.fits(room{shm: size}); err != nil {
			return "", nil, err
		}
		return l.inVolume(volume.Shm)(ctx)
	}
}

func (l *Lab) inVolume(kind volume.Kind) func(context.Context) (string, func() error, error) {
	return func(ctx context.Context) (string, func() error, error) {
		v, err := l.fitting(ctx, kind)
		if err != nil {
			return "", nil, err
		}
		return v.Dir(), v.Close, nil
	}
}

// filesDir is a directory for the files of a place's two rows.
type filesDir struct {
	lab   *Lab
	place filesPlace
	count int

	dir     string
	device  bench.Device // "" in RAM
	closing func() error
	fsyncs  []float64 // there, in seconds
	rounds  uint64
	data    []byte // of this round's files
}

func (d *filesDir) row(sync bool) bench.Case {
	c := bench.Case{
		Name: d.place.row, Settings: d.place.says, Command: d.lab.again("files", place{name: d.place.name, kind: d.place.kind}),
		Prepare: d.open, Found: func() string { return d.lab.medium(d.dir, d.place.inRAM()) },
		Round:   func(ctx context.Context) (bench.Sample, error) { return d.round(ctx, sync) },
		Check:   d.check,
		Cleanup: func(context.Context) error { return d.close() },
	}
	if sync {
		c.Name += ", fsync each"
		c.Settings += ", fsync before close"
	}
	return c
}

// open makes the directory, once for both rows.
func (d *filesDir) open(ctx context.Context) error {
	if d.dir != "" {
		return nil
	}
	parent, closing, err := d.place.open(ctx)
	if err != nil {
		return err
	}
	d.closing = closing
	if d.dir, err = os.MkdirTemp(parent, "files-"); err != nil {
		return err
	}
	if d.place.name == placeDisk {
		d.device = bench.DeviceOf(d.lab.Host, d.dir)
	}
	d.fsyncs, err = bench.FsyncSamples(ctx, d.dir)
	return err
}

// close removes it. It may be called more than once.
func (d *filesDir) close() error {
	if d.closing == nil {
		return nil
	}
	closing := d.closing
	d.closing = nil
	return errors.Join(os.RemoveAll(d.dir), closing())
}

// here is where a round has its files.
func (d *filesDir) here() string { return filepath.Join(d.dir, "here") }

func (d *filesDir) path(i int) string { return filepath.Join(d.here(), fmt.Sprintf("%06d", i)) }

// contents are those of a file.
func (d *filesDir) contents(i int) []byte { return d.data[i*fileStep:][:fileBytes] }

func (d *filesDir) round(ctx context.Context, sync bool) (bench.Sample, error) {
	d.data = randomBytes(d.rounds, d.count*fileStep+fileBytes)
	d.rounds++
	if err := os.Mkdir(d.here(), 0o700); err != nil {
		return bench.Sample{}, err
	}
	// What others have left in the page cache is not this round's.
	if err := d.flush(); err != nil {
		return bench.Sample{}, err
	}
	var took time.Duration
	var within int64
	all, err := d.device.Count(func() (err error) {
		within, err = d.device.Count(func() error {
			began := time.Now()
			if err := d.make(ctx, sync); err != nil {
				return err
			}
			took = time.Since(began)
			return nil
		})
		return errors.Join(err, d.flush())
	})
	sample := bench.Sample{Value: took.Seconds(), Beside: map[string]float64{}}
	tellWritten(sample.Beside, bench.Written, all, d.place.inRAM(), d.device)
	tellWritten(sample.Beside, filesTimedMeasure, within, d.place.inRAM(), d.device)
	tellFsync(sample.Beside, d.fsyncs)
	return sample, err
}

// flush has the disk take what is in the page cache; the next round does not pay for it then.
func (d *filesDir) flush() error {
	if d.place.inRAM() {
		return nil
	}
	return sys.SyncFS(d.dir)
}

func (d *filesDir) make(ctx context.Context, sync bool) error {
	for i := range d.count {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, err := os.OpenFile(d.path(i), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(d.contents(i))
		if err == nil && sync {
			err = f.Sync()
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// check reads all files back, and removes them.
func (d *filesDir) check(context.Context) error {
	entries, err := os.ReadDir(d.here())
	if err != nil {
		return err
	}
	if len(entries) != d.count {
		return fmt.Errorf("check %s: %d files, not %d", d.here(), len(entries), d.count)
	}
	for i := range d.count {
		have, err := os.ReadFile(d.path(i))
		if err != nil {
			return err
		}
		if !bytes.Equal(have, d.contents(i)) {
			return fmt.Errorf("check %s: it is not what was written", d.path(i))
		}
	}
	return errors.Join(os.RemoveAll(d.here()), d.flush())
}

// randomBytes are the same in each place, and other ones in each round.
func randomBytes(round uint64, n int) []byte {
	b := make([]byte, 0, n+8)
	for i := uint64(0); len(b) < n; i++ {
		v := mix(streamRounds+round, i)
		b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24), byte(v>>32), byte(v>>40), byte(v>>48), byte(v>>56))
	}
	return b
}
