package scenario

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/labtest"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// TestDiskIsNotRAM: rows that are told to be in RAM are not measured on disk.
func TestDiskIsNotRAM(t *testing.T) {
	l := labtest.Bare(t, lab.Options{})
	for _, tc := range []struct {
		volumes []volume.Kind
		want    volume.Kind
	}{{[]volume.Kind{volume.Disk}, ""}, {[]volume.Kind{volume.Disk, volume.XFS, volume.Shm}, volume.XFS}} {
		l.Options.Volumes = tc.volumes
		kind, err := l.RAMKind(t.Context())
		if kind != tc.want || (tc.want == "") != errors.Is(err, runner.ErrUnavailable) {
			t.Errorf("%v: %q, %v", tc.volumes, kind, err)
		}
		for _, c := range CycleScenario(l).Cases {
			if c.Name != RowCycleLoad || tc.want != "" {
				continue
			}
			if err := c.Prepare(t.Context()); !errors.Is(err, runner.ErrUnavailable) {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	}
}

// TestSeveralCycles: one cycle is no measure, however short a round is.
func TestSeveralCycles(t *testing.T) {
	d := &cycleRows{lab: labtest.Bare(t, lab.Options{Quick: true})}
	var done [cycleWorkers]int
	if _, err := d.cycles(t.Context(), cycleWorkers, func(ctx context.Context, n int) error {
		done[n]++
		time.Sleep(quickCycleTime) // a slow server
		return ctx.Err()
	}); err != nil {
		t.Fatal(err)
	}
	for n, times := range done {
		if times < leastCycles {
			t.Errorf("worker %d did %d cycles", n, times)
		}
	}
}
