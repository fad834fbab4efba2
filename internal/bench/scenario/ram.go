package scenario

import (
	"context"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// RAMScenario measures how much memory a volume takes for a gigabyte of data.
func RAMScenario(l *lab.Lab) runner.Scenario {
	shm := lab.Need{Shm: l.FreshBytes() + lab.RAMData.Memory()}
	s := runner.Scenario{
		Name: "ram", Rounds: 2, Title: "memory that a volume takes for 1 GB (10^9 bytes) of sysbench data and its images", Unit: runner.Bytes, Memory: l.ResidentBytes() + 5*l.FreshBytes() + 2*lab.RAMData.Memory(), Shm: l.NeedIfFits(shm).Shm, Settings: l.SysbenchSettings(lab.RAMData),
	}
	for _, kind := range []volume.Kind{volume.Tmpfs, volume.XFS, volume.Zram, volume.Ramfs, volume.Shm} {
		row := ramCase(l, kind)
		if kind == volume.Shm {
			row = lab.UnlessFull(func() error { return l.Fits(shm) }, row)
		}
		s.Cases = append(s.Cases, row)
	}
	return s
}

func ramCase(l *lab.Lab, kind volume.Kind) runner.Case {
	data := lab.RAMData
	var flags []string
	var v volume.Volume
	var id string
	return runner.Case{
		Name: string(kind), Ours: true, Settings: "an image",
		Prepare: func(ctx context.Context) (err error) {
			if flags, err = l.SysbenchFlags(ctx, data, string(kind)); err != nil {
				return err
			}
			empty := slices.Concat(l.From(string(kind))[:2], []string{"--volume", string(kind)})
			if err := l.PrepareImage(ctx, kind, empty); err != nil {
				return err
			}
			v, err = l.OpenVolume(ctx, kind)
			return err
		},
		Round: func(ctx context.Context) (runner.Sample, error) {
			before, err := v.Usage()
			if err != nil {
				return runner.Sample{}, err
			}
			out, err := l.Run(ctx, append([]string{"image", "build"}, flags...)...)
			if err != nil {
				return runner.Sample{}, err
			}
			id = strings.TrimSpace(out)
			after, err := v.Usage()
			if err != nil {
				return runner.Sample{}, err
			}
			size, err := l.ImageSize(id, v)
			return runner.Sample{Value: float64(after.Memory-before.Memory) / float64(size) * 1e9}, err
		},
		Check: func(ctx context.Context) error {
			_, err := l.Run(ctx, "image", "rm", id)
			return err
		},
	}
}
