package scenario

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// BusyScenario measures branches of a 2 GB instance at random moments while sysbench
// writes to it. Every table of every branch is checked.
func BusyScenario(l *lab.Lab) runner.Scenario {
	b := &busy{parent: largeParent(l, branchKind)}
	return runner.Scenario{
		Name: "busy", Rounds: 10, Title: fmt.Sprintf("branches of 2 GB on volume xfs under sysbench oltp_update_index, %d threads", lab.SysbenchThreads),
		Unit: runner.Seconds, Memory: lab.LargeData.Memory() + 3*l.ResidentBytes(), Settings: l.SysbenchSettings(lab.LargeData), Beside: lab.FsyncBeside(),
		Cases: lab.WithStorage(l.VolumeStorage(branchKind),
			b.branch(RowPause, func(b client.Branch) int64 { return b.Snapshot.PauseMicros }),
			b.branch(RowReady, func(b client.Branch) int64 { return b.ReadyMicros }),
		),
	}
}

// busy is a workload that runs on the parent beside the rounds.
type busy struct {
	*parent
	stop func() error
}

// idleTime is the longest pause between two branches.
const idleTime = time.Second

func (w *busy) begin(ctx context.Context) error {
	if err := w.prepare(ctx); err != nil || w.stop != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	wait, err := w.lab.StartSysbench(ctx, w.set.name, "oltp_update_index", lab.LargeData, 0)
	if err != nil {
		cancel()
		return err
	}
	w.stop = func() error {
		cancel()
		if _, err := wait(); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("the load ended before its time: %w", err)
		}
		return nil
	}
	return nil
}

// branch is a case whose value is a time in microseconds.
func (w *busy) branch(name string, micros func(client.Branch) int64) runner.Case {
	return runner.Case{
		Name: name, Ours: true, Settings: "8 writers", Prepare: w.begin,
		Round: func(ctx context.Context) (runner.Sample, error) {
			select {
			case <-time.After(rand.N(idleTime)): // #nosec G404 -- a moment, no secret
			case <-ctx.Done():
				return runner.Sample{}, ctx.Err()
			}
			i, err := w.lab.Instance(w.set.name)
			if err != nil {
				return runner.Sample{}, err
			}
			b, err := client.New(i.APISocket()).Branch(ctx, client.BranchRequest{Name: branchName})
			if err != nil {
				return runner.Sample{}, err
			}
			return runner.Sample{Value: float64(micros(b)) / 1e6}, nil
		},
		Check: func(ctx context.Context) error {
			return w.down(ctx, w.lab.CheckTables(ctx, branchName, lab.LargeData, lab.SysbenchTables))
		},
		Cleanup: func(context.Context) error {
			if w.stop == nil {
				return nil
			}
			stop := w.stop
			w.stop = nil
			return stop()
		},
	}
}
