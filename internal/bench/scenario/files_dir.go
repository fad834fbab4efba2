package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// filesDir is a directory for the files of a place's two rows.
type filesDir struct {
	lab   *lab.Lab
	place filesPlace
	count int

	dir     string
	device  runner.Device // "" in RAM
	closing func() error
	fsyncs  []float64 // there, in seconds
	rounds  uint64
	data    []byte // of this round's files
}

func (d *filesDir) row(sync bool) runner.Case {
	c := runner.Case{
		Name: d.place.row, Settings: d.place.says, Command: d.lab.RepeatCommand("files", lab.Place{Name: d.place.name, Kind: d.place.kind}),
		Prepare: d.open, Found: func() string { return d.lab.DescribeStorage(d.dir, d.place.inRAM()) },
		Round:   func(ctx context.Context) (runner.Sample, error) { return d.round(ctx, sync) },
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
	if d.place.name == lab.PlaceDisk {
		d.device = runner.DeviceOf(d.lab.Host, d.dir)
	}
	d.fsyncs, err = runner.FsyncSamples(ctx, d.dir)
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

func (d *filesDir) round(ctx context.Context, sync bool) (runner.Sample, error) {
	d.data = randomBytes(d.rounds, d.count*fileStep+fileBytes)
	d.rounds++
	if err := os.Mkdir(d.here(), 0o700); err != nil {
		return runner.Sample{}, err
	}
	// The dirty pages of other rounds must not count for this one.
	if err := d.flush(); err != nil {
		return runner.Sample{}, err
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
	sample := runner.Sample{Value: took.Seconds(), Beside: map[string]float64{}}
	lab.AddWritten(sample.Beside, runner.Written, all, d.place.inRAM(), d.device)
	lab.AddWritten(sample.Beside, filesTimedMeasure, within, d.place.inRAM(), d.device)
	lab.AddFsync(sample.Beside, d.fsyncs)
	return sample, err
}

// flush writes the page cache to the disk, so that the next round does not pay for it.
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
		v := lab.Mix(lab.StreamRounds+round, i)
		b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24), byte(v>>32), byte(v>>40), byte(v>>48), byte(v>>56))
	}
	return b
}
