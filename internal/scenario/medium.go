package scenario

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// What an fsync of 4 KiB takes where the files of a row are, measured once before its first round
// for a process that is held back as its server is.
const (
	fsyncMedian = "fsync p50"
	fsyncTail   = "fsync p99"
	fsyncMean   = "fsync mean"
)

// fsyncBeside are those measures.
func fsyncBeside() []bench.Measure {
	return []bench.Measure{{Name: fsyncMedian, Unit: bench.Seconds}, {Name: fsyncTail, Unit: bench.Seconds}, {Name: fsyncMean, Unit: bench.Seconds}}
}

// tellFsync has them among the measures of a round.
func tellFsync(beside map[string]float64, samples []float64) {
	if len(samples) == 0 {
		return
	}
	s := bench.Summarise(bench.Seconds, samples)
	beside[fsyncMedian], beside[fsyncTail], beside[fsyncMean] = s.Median, s.P99, mean(samples)
}

// site is what the files of a row lie on.
type site struct {
	// lies says what file system that is, and fsyncs are what some fsyncs took there, in seconds,
	// for a process that is held back as the server is.
	lies   string
	fsyncs []float64
}

// found says what the files lie on.
func (s *site) found() string { return s.lies }

// located has rows state what their files lie on, and what an fsync takes there: where is asked
// once a row is prepared.
func located(where func(context.Context) (site, error), cases ...bench.Case) []bench.Case {
	for i, c := range cases {
		var s site
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
		cases[i].Found = s.found
		cases[i].Round = func(ctx context.Context) (bench.Sample, error) {
			sample, err := round(ctx)
			if sample.Beside == nil {
				sample.Beside = map[string]float64{}
			}
			tellFsync(sample.Beside, s.fsyncs)
			return sample, err
		}
	}
	return cases
}

// onThisDisk is the disk, for located.
func (l *Lab) onThisDisk(ctx context.Context) (site, error) { return l.siteOf(ctx, l.Dir, false) }

// onVolume is a volume, "" for that of ramKind, for located.
func (l *Lab) onVolume(kind volume.Kind) func(context.Context) (site, error) {
	return func(ctx context.Context) (_ site, err error) {
		kind := kind
		if kind == "" {
			if kind, err = l.ramKind(ctx); err != nil {
				return site{}, err
			}
		}
		v, err := l.fitting(ctx, kind)
		if err != nil {
			return site{}, err
		}
		s, err := l.siteOf(ctx, v.Dir(), kind != volume.Disk)
		return s, errors.Join(err, v.Close())
	}
}

// siteOf looks at a directory, once.
func (l *Lab) siteOf(ctx context.Context, dir string, inRAM bool) (site, error) {
	if s, known := l.sites[dir]; known {
		return s, nil
	}
	s := site{lies: l.medium(dir, inRAM)}
	var err error
	if s.fsyncs, err = bench.FsyncSamples(ctx, dir); err != nil { // the row can be measured all the same
		s.lies += ", where no fsync could be measured"
	}
	if l.sites == nil {
		l.sites = map[string]site{}
	}
	l.sites[dir] = s
	return s, ctx.Err()
}

// tellWritten has what was written to a device among the measures of a round, where that is
// known: in RAM nothing is, and of a disk without a device that counts nobody can tell.
func tellWritten(beside map[string]float64, name string, n int64, inRAM bool, on bench.Device) {
	if inRAM || on.Exists() {
		beside[name] = float64(n)
	}
}

// numbered are block devices that have another number in each run.
var numbered = regexp.MustCompile(`/dev/(loop|zram)[0-9]+$`)

// medium says what a directory lies on, the same in each run. One that is told to be on disk, and
// is not, is called what it is.
func (l *Lab) medium(dir string, inRAM bool) string {
	text := numbered.ReplaceAllString(bench.Filesystem(l.Host, dir), "a $1 device")
	if _, ram := bench.InRAM(l.Host, dir); ram && !inRAM {
		text += ", which is RAM and no disk"
	}
	return text
}

// ofDisk has a scenario with rows on disk conclude nothing where this disk is memory: all that it
// would say of RAM against a disk would be of RAM against RAM.
func (l *Lab) ofDisk(rows bool, conclude func(*bench.Result) string) func(*bench.Result) string {
	how, ram := bench.InRAM(l.Host, l.Dir)
	if !rows || !ram {
		return conclude
	}
	return func(*bench.Result) string {
		return fmt.Sprintf("%s is in RAM (%s): rows on it are on no disk, and nothing is concluded; --disk DIR has them on one.", l.Disk(), how)
	}
}
