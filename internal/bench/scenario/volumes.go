package scenario

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// volumeSeconds is how long one round of the VolumesScenario runs.
const volumeSeconds = 10

// VolumesScenario measures the transactions per second of two sysbench workloads on every
// kind of volume, on instances that run all the time, as people's do, and whose data
// fits into the buffer pool. The warm-up round takes the first touch of memory, which in
// a virtual machine costs more than anything that is compared here.
func VolumesScenario(l *lab.Lab) runner.Scenario {
	shm := lab.Need{Shm: 3 * lab.PoolData.Memory()} // two instances and an image
	fits := sync.OnceValue(func() error { return l.Fits(shm) })
	s := runner.Scenario{
		Name: "volumes", Rounds: 5, Unit: runner.PerSecond, Disk: 2 * lab.PoolData.Memory(), Memory: 12 * (l.ResidentBytes() + lab.PoolData.Memory()), Shm: l.NeedIfFits(shm).Shm, Settings: l.SysbenchSettings(lab.PoolData), Beside: lab.FsyncBeside(),
		Title: fmt.Sprintf("sysbench on every volume, %d threads, %d s in turn on running instances, %s of data", lab.SysbenchThreads, volumeSeconds, runner.Bytes.Format(float64(lab.PoolData.Size()))),
	}
	for _, workload := range []string{"oltp_update_index", "oltp_read_write"} {
		for _, kind := range []volume.Kind{volume.Tmpfs, volume.XFS, volume.Zram, volume.Ramfs, volume.Shm, volume.Disk} {
			row := lab.WithStorage(l.VolumeStorage(kind), volumeCase(l, workload, kind, volume.Tmpfs))[0]
			if kind == volume.Shm {
				row = lab.UnlessFull(fits, row)
			}
			s.Cases = append(s.Cases, row)
		}
	}
	return s
}

func volumeCase(l *lab.Lab, workload string, kind, base volume.Kind) runner.Case {
	name, up := strings.ReplaceAll(workload, "_", "-")+"-"+string(kind), false
	row := func(kind volume.Kind) string { return strings.TrimPrefix(workload, "oltp_") + ", " + string(kind) }
	return runner.Case{
		Name: row(kind), Ours: true, Base: row(base), Settings: "ramaria's settings",
		Prepare: func(ctx context.Context) error {
			flags, err := l.SysbenchFlags(ctx, lab.PoolData, string(kind))
			if err != nil {
				return err
			}
			if err := l.PrepareImage(ctx, kind, flags); err != nil {
				return err
			}
			_, err = l.Run(ctx, append([]string{"up", name}, flags...)...)
			up = err == nil
			return err
		},
		Round: func(ctx context.Context) (runner.Sample, error) {
			wait, err := l.StartSysbench(ctx, name, workload, lab.PoolData, volumeSeconds)
			if err != nil {
				return runner.Sample{}, err
			}
			tps, err := wait()
			return runner.Sample{Value: tps}, err
		},
		Check: func(ctx context.Context) error { return l.CheckTables(ctx, name, lab.PoolData, 1) },
		Cleanup: func(ctx context.Context) error {
			if !up { // not a kind for this machine
				return nil
			}
			_, err := l.Run(ctx, "down", name, "--rm")
			return err
		},
	}
}
