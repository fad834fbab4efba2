package scenario

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// volumeSeconds is how long one round of the VolumesScenario runs.
const volumeSeconds = 10

// VolumesScenario measures the transactions per second of two sysbench workloads on every
// kind of volume, on instances that run all the time, as people's do, and whose data
// fits into the buffer pool. The warm-up round takes the first touch of memory, which in
// a virtual machine costs more than anything that is compared here.
func (l *Lab) VolumesScenario() bench.Scenario {
	shm := room{shm: 3 * poolData.memory()} // two instances and an image
	fits := sync.OnceValue(func() error { return l.fits(shm) })
	s := bench.Scenario{
		Name: "volumes", Rounds: 5, Unit: bench.PerSecond, Disk: 2 * poolData.memory(), Memory: 12 * (l.residentBytes() + poolData.memory()), Shm: l.roomIfFits(shm).shm, Settings: l.sysbenchSettings(poolData), Beside: fsyncBeside(),
		Title: fmt.Sprintf("sysbench on every volume, %d threads, %d s in turn on running instances, %s of data", sysbenchThreads, volumeSeconds, bench.Bytes.Format(float64(poolData.size()))),
	}
	for _, workload := range []string{"oltp_update_index", "oltp_read_write"} {
		for _, kind := range []volume.Kind{volume.Tmpfs, volume.XFS, volume.Zram, volume.Ramfs, volume.Shm, volume.Disk} {
			row := located(l.onVolume(kind), l.volumeCase(workload, kind, volume.Tmpfs))[0]
			if kind == volume.Shm {
				row = unlessFull(fits, row)
			}
			s.Cases = append(s.Cases, row)
		}
	}
	return s
}

func (l *Lab) volumeCase(workload string, kind, base volume.Kind) bench.Case {
	name, up := strings.ReplaceAll(workload, "_", "-")+"-"+string(kind), false
	row := func(kind volume.Kind) string { return strings.TrimPrefix(workload, "oltp_") + ", " + string(kind) }
	return bench.Case{
		Name: row(kind), Ours: true, Base: row(base), Settings: "ramaria's settings",
		Prepare: func(ctx context.Context) error {
			flags, err := l.sysbenchFrom(ctx, poolData, string(kind))
			if err != nil {
				return err
			}
			if err := l.buildOn(ctx, kind, flags); err != nil {
				return err
			}
			_, err = l.Run(ctx, append([]string{"up", name}, flags...)...)
			up = err == nil
			return err
		},
		Round: func(ctx context.Context) (bench.Sample, error) {
			wait, err := l.startSysbench(ctx, name, workload, poolData, volumeSeconds)
			if err != nil {
				return bench.Sample{}, err
			}
			tps, err := wait()
			return bench.Sample{Value: tps}, err
		},
		Check: func(ctx context.Context) error { return l.checkTables(ctx, name, poolData, 1) },
		Cleanup: func(ctx context.Context) error {
			if !up { // not a kind for this machine
				return nil
			}
			_, err := l.Run(ctx, "down", name, "--rm")
			return err
		},
	}
}

// buildOn has an image built on a kind of volume; one that this machine or user cannot
// have is ErrUnavailable.
func (l *Lab) buildOn(ctx context.Context, kind volume.Kind, flags []string) error {
	_, err := l.imageOn(ctx, kind, flags)
	return err
}

// imageOn is buildOn, and returns the image's id.
func (l *Lab) imageOn(ctx context.Context, kind volume.Kind, flags []string) (string, error) {
	v, err := l.fitting(ctx, kind)
	if err != nil {
		return "", err
	}
	id, err := l.Run(ctx, append([]string{"image", "build"}, flags...)...)
	return strings.TrimSpace(id), errors.Join(err, v.Close())
}

// volume opens a volume of the lab.
func (l *Lab) volume(ctx context.Context, kind volume.Kind) (volume.Volume, error) {
	o, err := l.opener()
	if err != nil {
		return nil, err
	}
	return o.Open(ctx, volume.Spec{Kind: kind})
}

func (l *Lab) opener() (*volume.Opener, error) {
	dirs, err := l.homeDirs()
	if err != nil {
		return nil, err
	}
	owner, _, err := volume.FindOwner(context.Background(), l.Host, dirs.State, l.Home, true)
	return &volume.Opener{Host: l.Host, Places: dirs, MkfsXFS: l.MkfsXFS, Owner: owner}, err
}

// ramKind is the volume in RAM that instances get unless told otherwise: by the user, who
// names the first that is to be measured. ErrUnavailable says that there is none.
func (l *Lab) ramKind(ctx context.Context) (volume.Kind, error) {
	if list := l.Options.Volumes; len(list) > 0 {
		i := slices.IndexFunc(list, func(k volume.Kind) bool { return k != volume.Disk })
		if i < 0 {
			return "", fmt.Errorf("%w in RAM: --volume %s is none there", bench.ErrUnavailable, volume.Disk)
		}
		return list[i], nil
	}
	o, err := l.opener()
	if err != nil {
		return "", err
	}
	kind, why, err := o.Foresee(ctx)
	if err == nil && kind == volume.Disk {
		err = fmt.Errorf("%w: no volume in RAM: %s", bench.ErrUnavailable, why)
	}
	return kind, err
}

// RAMScenario measures how much memory a volume takes for a gigabyte of data.
func (l *Lab) RAMScenario() bench.Scenario {
	shm := room{shm: l.freshBytes() + ramData.memory()}
	s := bench.Scenario{
		Name: "ram", Rounds: 2, Title: "memory that a volume takes for 1 GB (10^9 bytes) of sysbench data and its images", Unit: bench.Bytes, Memory: l.residentBytes() + 5*l.freshBytes() + 2*ramData.memory(), Shm: l.roomIfFits(shm).shm, Settings: l.sysbenchSettings(ramData),
	}
	for _, kind := range []volume.Kind{volume.Tmpfs, volume.XFS, volume.Zram, volume.Ramfs, volume.Shm} {
		row := l.ramCase(kind)
		if kind == volume.Shm {
			row = unlessFull(func() error { return l.fits(shm) }, row)
		}
		s.Cases = append(s.Cases, row)
	}
	return s
}

func (l *Lab) ramCase(kind volume.Kind) bench.Case {
	data := ramData
	var flags []string
	var v volume.Volume
	var id string
	return bench.Case{
		Name: string(kind), Ours: true, Settings: "an image",
		Prepare: func(ctx context.Context) (err error) {
			if flags, err = l.sysbenchFrom(ctx, data, string(kind)); err != nil {
				return err
			}
			empty := slices.Concat(l.From(string(kind))[:2], []string{"--volume", string(kind)})
			if err := l.buildOn(ctx, kind, empty); err != nil {
				return err
			}
			v, err = l.volume(ctx, kind)
			return err
		},
		Round: func(ctx context.Context) (bench.Sample, error) {
			before, err := v.Usage()
			if err != nil {
				return bench.Sample{}, err
			}
			out, err := l.Run(ctx, append([]string{"image", "build"}, flags...)...)
			if err != nil {
				return bench.Sample{}, err
			}
			id = strings.TrimSpace(out)
			after, err := v.Usage()
			if err != nil {
				return bench.Sample{}, err
			}
			size, err := l.imageSize(id, v)
			return bench.Sample{Value: float64(after.Memory-before.Memory) / float64(size) * 1e9}, err
		},
		Check: func(ctx context.Context) error {
			_, err := l.Run(ctx, "image", "rm", id)
			return err
		},
	}
}

// imageSize is what the files of an image take, in bytes.
func (l *Lab) imageSize(id string, v volume.Volume) (int64, error) {
	return sys.DiskUsage(filepath.Join(v.Dir(), "images", id, "data"))
}
