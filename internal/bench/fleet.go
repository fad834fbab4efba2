package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramaria-db/ramaria/internal/instance"
)

// FleetSize is how many instances the fleet scenarios start at once.
const FleetSize = 20

// FleetScenario measures how long FleetSize instances, started at once, take
// until the last one has answered.
func (l *Lab) FleetScenario() Scenario {
	f := &fleet{lab: l}
	return Scenario{
		Name: "fleet", Title: fmt.Sprintf("%d instances started at once, until the last has answered", FleetSize), Unit: Seconds,
		Cases: []Case{f.one("20 x ramaria up", func(took time.Duration) float64 { return took.Seconds() })}, Settings: l.settings(),
	}
}

// MemoryScenario measures the memory of idle instances in such a fleet: the
// largest PSS of a server and its supervisor together. Files in the volume are
// not part of it.
func (l *Lab) MemoryScenario() Scenario {
	f := &fleet{lab: l}
	return Scenario{
		Name: "memory", Title: fmt.Sprintf("PSS of an idle instance, server and supervisor, the largest of %d", FleetSize), Unit: Bytes,
		Cases: []Case{f.one("one of 20", func(time.Duration) float64 { return float64(f.largest) })}, Settings: l.settings(),
	}
}

// fleet starts many instances at once and removes them again.
type fleet struct {
	lab     *Lab
	largest int64 // PSS in bytes, after Round
}

func (f *fleet) names() []string {
	names := make([]string, FleetSize)
	for i := range names {
		names[i] = fmt.Sprintf("fleet-%02d", i)
	}
	return names
}

func (f *fleet) one(name string, value func(time.Duration) float64) Case {
	return Case{
		Name: name, Settings: "ramaria's settings, shm",
		Prepare: func(ctx context.Context) error {
			_, err := f.lab.Build(ctx, "shm")
			return err
		},
		Round: func(ctx context.Context) (Sample, error) {
			began := time.Now()
			g, ctx := errgroup.WithContext(ctx)
			for _, name := range f.names() {
				g.Go(func() error {
					if _, err := f.lab.Run(ctx, append([]string{"up", name}, f.lab.From("shm")...)...); err != nil {
						return err
					}
					return f.lab.query(ctx, name)
				})
			}
			if err := g.Wait(); err != nil {
				return Sample{}, err
			}
			took := time.Since(began)
			if err := f.measure(); err != nil {
				return Sample{}, err
			}
			return Sample{Value: value(took)}, nil
		},
		Check: func(ctx context.Context) error {
			var errs []error
			for _, name := range f.names() {
				errs = append(errs, f.lab.verify(ctx, name))
			}
			_, err := f.lab.Run(context.WithoutCancel(ctx), "down", "--all", "--rm")
			return errors.Join(append(errs, err)...)
		},
		Cleanup: func(ctx context.Context) error {
			_, err := f.lab.Run(ctx, "down", "--all", "--rm")
			return err
		},
	}
}

// measure finds the largest PSS of the instances that run.
func (f *fleet) measure() error {
	p, err := f.lab.places()
	if err != nil {
		return err
	}
	f.largest = 0
	for _, name := range f.names() {
		r, err := instance.Registry{Dir: filepath.Join(p.State, "instances")}.Get(name)
		if err != nil {
			return err
		}
		state, err := r.State()
		if err != nil {
			return err
		}
		sum := int64(0)
		for _, pid := range []int{state.SupervisorPID, state.ServerPID} {
			n, err := pss(pid)
			if err != nil {
				return err
			}
			sum += n
		}
		f.largest = max(f.largest, sum)
	}
	return nil
}

// pss returns the proportional set size of a process in bytes: pages that several
// processes share count in parts (proc_pid_smaps(5)).
func pss(pid int) (int64, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return 0, fmt.Errorf("measure memory: %w", err)
	}
	for _, l := range strings.Split(string(b), "\n") {
		if f := strings.Fields(l); len(f) == 3 && f[0] == "Pss:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("measure memory: no Pss in smaps_rollup of process %d", pid)
}
