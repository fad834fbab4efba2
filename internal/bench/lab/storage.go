package lab

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// The time of an fsync of 4 KiB where the files of a row are, measured once before its first round
// for a process that is held back as its server is.
const (
	FsyncMedian = "fsync p50"
	FsyncTail   = "fsync p99"
	FsyncMean   = "fsync mean"
)

// FsyncBeside are those measures.
func FsyncBeside() []runner.Measure {
	return []runner.Measure{{Name: FsyncMedian, Unit: runner.Seconds}, {Name: FsyncTail, Unit: runner.Seconds}, {Name: FsyncMean, Unit: runner.Seconds}}
}

// AddFsync has them among the measures of a round.
func AddFsync(beside map[string]float64, samples []float64) {
	if len(samples) == 0 {
		return
	}
	s := runner.Summarise(runner.Seconds, samples)
	beside[FsyncMedian], beside[FsyncTail], beside[FsyncMean] = s.Median, s.P99, mean(samples)
}

// Storage is what the files of a row lie on.
type Storage struct {
	// lies says what file system that is, and fsyncs are what some fsyncs took there, in seconds,
	// for a process that is held back as the server is.
	Description string
	Fsyncs      []float64
}

// Describe says what the files lie on.
func (s *Storage) Describe() string { return s.Description }

// WithStorage makes rows state what their files lie on, and what an fsync takes there: where is asked
// once a row is prepared.
func WithStorage(where func(context.Context) (Storage, error), cases ...runner.Case) []runner.Case {
	for i, c := range cases {
		var s Storage
		prepare, round := c.Prepare, c.Round
		cases[i].Prepare = func(ctx context.Context) (err error) {
			if prepare != nil {
				if err := prepare(ctx); err != nil {
					return err
				}
			}
			s, err = where(ctx)
			return err
		}
		cases[i].Found = s.Describe
		cases[i].Round = func(ctx context.Context) (runner.Sample, error) {
			sample, err := round(ctx)
			if sample.Beside == nil {
				sample.Beside = map[string]float64{}
			}
			AddFsync(sample.Beside, s.Fsyncs)
			return sample, err
		}
	}
	return cases
}

// DiskStorage is the disk, for WithStorage.
func (l *Lab) DiskStorage(ctx context.Context) (Storage, error) {
	return l.storageOf(ctx, l.Dir, false)
}

// VolumeStorage is a volume, "" for that of RamKind, for WithStorage.
func (l *Lab) VolumeStorage(kind volume.Kind) func(context.Context) (Storage, error) {
	return func(ctx context.Context) (_ Storage, err error) {
		kind := kind
		if kind == "" {
			if kind, err = l.RAMKind(ctx); err != nil {
				return Storage{}, err
			}
		}
		v, err := l.AvailableVolume(ctx, kind)
		if err != nil {
			return Storage{}, err
		}
		s, err := l.storageOf(ctx, v.Dir(), kind != volume.Disk)
		return s, errors.Join(err, v.Close())
	}
}

// storageOf looks at a directory, once.
func (l *Lab) storageOf(ctx context.Context, dir string, inRAM bool) (Storage, error) {
	if s, known := l.storages[dir]; known {
		return s, nil
	}
	s := Storage{Description: l.DescribeStorage(dir, inRAM)}
	var err error
	if s.Fsyncs, err = runner.FsyncSamples(ctx, dir); err != nil { // the row can be measured all the same
		s.Description += ", where no fsync could be measured"
	}
	if l.storages == nil {
		l.storages = map[string]Storage{}
	}
	l.storages[dir] = s
	return s, ctx.Err()
}

// AddWritten adds what was written to a device to the measures of a round, where that is
// known: in RAM nothing is, and of a disk without a device that counts it is unknown.
func AddWritten(beside map[string]float64, name string, n int64, inRAM bool, on runner.Device) {
	if inRAM || on.Exists() {
		beside[name] = float64(n)
	}
}

// numbered are block devices that have another number in each run.
var numbered = regexp.MustCompile(`/dev/(loop|zram)[0-9]+$`)

// DescribeStorage says what a directory lies on, the same in each run. One that is told to be on disk, and
// is not, is called what it is.
func (l *Lab) DescribeStorage(dir string, inRAM bool) string {
	text := numbered.ReplaceAllString(runner.Filesystem(l.Host, dir), "a $1 device")
	if _, ram := runner.InRAM(l.Host, dir); ram && !inRAM {
		text += ", which is RAM and no disk"
	}
	return text
}

// IfDisk keeps a scenario with rows on disk from a conclusion where this disk is memory: all that it
// would say of RAM against a disk would be of RAM against RAM.
func (l *Lab) IfDisk(rows bool, conclusion func(*runner.Result) string) func(*runner.Result) string {
	how, ram := runner.InRAM(l.Host, l.Dir)
	if !rows || !ram {
		return conclusion
	}
	return func(*runner.Result) string {
		return fmt.Sprintf("%s is in RAM (%s): rows on it are on no disk, and nothing is concluded; --disk DIR has them on one.", l.Disk(), how)
	}
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(values), 1))
}
