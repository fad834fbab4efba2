package scenario

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/bench"
)

// BusyScenario measures branches of a 2 GB instance at random moments while sysbench
// writes to it. Every table of every branch is checked.
func (l *Lab) BusyScenario() bench.Scenario {
	b := &busy{parent: l.largeParent(branchKind)}
	return bench.Scenario{
		Name: "busy", Rounds: 10, Title: fmt.Sprintf("branches of 2 GB on volume xfs under sysbench oltp_update_index, %d threads", sysbenchThreads),
		Unit: bench.Seconds, Memory: largeData.memory() + 3*l.residentBytes(), Settings: l.sysbenchSettings(largeData), Beside: fsyncBeside(),
		Cases: located(l.onVolume(branchKind),
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
	wait, err := w.lab.startSysbench(ctx, w.set.name, "oltp_update_index", largeData, 0)
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
func (w *busy) branch(name string, micros func(client.Branch) int64) bench.Case {
	return bench.Case{
		Name: name, Ours: true, Settings: "8 writers", Prepare: w.begin,
		Round: func(ctx context.Context) (bench.Sample, error) {
			select {
			case <-time.After(rand.N(idleTime)): // #nosec G404 -- a moment, no secret
			case <-ctx.Done():
				return bench.Sample{}, ctx.Err()
			}
			i, err := w.lab.instance(w.set.name)
			if err != nil {
				return bench.Sample{}, err
			}
			b, err := client.New(i.APISocket()).Branch(ctx, client.BranchRequest{Name: branchName})
			if err != nil {
				return bench.Sample{}, err
			}
			return bench.Sample{Value: float64(micros(b)) / 1e6}, nil
		},
		Check: func(ctx context.Context) error {
			return w.down(ctx, w.lab.checkTables(ctx, branchName, largeData, sysbenchTables))
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
