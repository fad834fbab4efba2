package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// placeSeconds is how long one round of a PlaceScenario runs.
const placeSeconds = 10

// PlaceScenario measures the transactions per second of a sysbench workload on every
// kind of volume, on instances that run all the time, as people's do, and whose data
// fits into the buffer pool. The warm-up round takes the first touch of memory, which in
// a virtual machine costs more than anything that is compared here.
func (l *Lab) PlaceScenario(name, workload string) Scenario {
	s := Scenario{
		Name: name, Unit: PerSecond, Settings: l.settings(),
		Title: fmt.Sprintf("sysbench %s, %d threads, %d s in turn on running instances, %s of data", workload, sysbenchThreads, placeSeconds, Bytes.Format(float64(poolData.size()))),
	}
	for _, kind := range []volume.Kind{volume.Tmpfs, volume.XFS, volume.Zram, volume.Ramfs, volume.Shm, volume.Disk} {
		s.Cases = append(s.Cases, l.placeCase(workload, kind))
	}
	return s
}

func (l *Lab) placeCase(workload string, kind volume.Kind) Case {
	name, up := "place-"+string(kind), false
	return Case{
		Name: string(kind), Settings: "ramaria's settings",
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
		Round: func(ctx context.Context) (Sample, error) {
			wait, err := l.startSysbench(ctx, name, workload, poolData, placeSeconds)
			if err != nil {
				return Sample{}, err
			}
			tps, err := wait()
			return Sample{Value: tps}, err
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
	v, err := l.volume(ctx, kind)
	if errors.Is(err, volume.ErrUnfit) {
		return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
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
	places, err := l.places()
	return &volume.Opener{Host: l.Host, Places: places, MkfsXFS: l.MkfsXFS}, err
}

// ramKind is the volume in RAM that instances get unless told otherwise.
func (l *Lab) ramKind(ctx context.Context) (volume.Kind, error) {
	o, err := l.opener()
	if err != nil {
		return "", err
	}
	kind, why, err := o.Foresee(ctx)
	if err == nil && kind == volume.Disk {
		err = fmt.Errorf("%w: no volume in RAM: %s", ErrUnavailable, why)
	}
	return kind, err
}

// RAMScenario measures how much memory a volume takes for a gigabyte of data.
func (l *Lab) RAMScenario() Scenario {
	s := Scenario{
		Name: "ram", Title: "memory that a volume takes for 1 GB (10^9 bytes) of sysbench data and its images", Unit: Bytes, Settings: l.settings(),
	}
	for _, kind := range []volume.Kind{volume.Tmpfs, volume.XFS, volume.Zram, volume.Ramfs, volume.Shm} {
		s.Cases = append(s.Cases, l.ramCase(kind))
	}
	return s
}

func (l *Lab) ramCase(kind volume.Kind) Case {
	data := sysbenchData{rows: 150_000}
	var flags []string
	var v volume.Volume
	var id string
	return Case{
		Name: string(kind), Settings: "an image",
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
		Round: func(ctx context.Context) (Sample, error) {
			before, err := v.Usage()
			if err != nil {
				return Sample{}, err
			}
			out, err := l.Run(ctx, append([]string{"image", "build"}, flags...)...)
			if err != nil {
				return Sample{}, err
			}
			id = strings.TrimSpace(out)
			after, err := v.Usage()
			if err != nil {
				return Sample{}, err
			}
			size, err := l.imageSize(id, v)
			return Sample{Value: float64(after.Memory-before.Memory) / float64(size) * 1e9}, err
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
