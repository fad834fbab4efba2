package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	// fsyncRounds is how many writes MeasureFsync times: enough for a 99th percentile
	// that is not merely the worst, at about a second on a slow disk.
	fsyncRounds = 200
	// fsyncLimit ends the measurement early on storage that is slower than that.
	fsyncLimit = 5 * time.Second
	// fsyncBlock is the size of each write, that of a redo log's block group.
	fsyncBlock = 4096
)

// MeasureFsync fills in how long a 4 KiB append and fsync(2) take there, in
// a file that is removed afterwards. It ends with ctx.
func (d *Directory) MeasureFsync(ctx context.Context) error {
	samples, err := FsyncSamples(ctx, d.Path)
	if err != nil {
		return err
	}
	s := Summarise(Seconds, samples)
	d.FsyncP50, d.FsyncP99 = s.Median, s.P99
	return nil
}

// FsyncSamples measures what appends of 4 KiB with fsync(2) take in a directory, each in seconds,
// in a file that is removed afterwards. It ends with ctx, which is an error.
func FsyncSamples(ctx context.Context, dir string) (samples []float64, err error) {
	f, err := os.CreateTemp(dir, "ramaria-fsync-")
	if err != nil {
		return nil, fmt.Errorf("measure fsync: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	block := make([]byte, fsyncBlock)
	for begin := time.Now(); len(samples) < fsyncRounds && time.Since(begin) < fsyncLimit; {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("measure fsync: %w", err)
		}
		start := time.Now()
		if _, err := f.Write(block); err != nil {
			return nil, fmt.Errorf("measure fsync: %w", err)
		}
		if err := f.Sync(); err != nil {
			return nil, fmt.Errorf("measure fsync: %w", err)
		}
		samples = append(samples, time.Since(start).Seconds())
	}
	return samples, nil
}
