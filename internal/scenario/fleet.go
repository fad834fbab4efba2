package scenario

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

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// fleetSize is how many instances the fleet scenarios start at once, quickFleet in a quick run.
const (
	fleetSize  = 20
	quickFleet = 8
)

// FleetScenario measures how long many instances, started at once, take until the last one has
// answered.
func (l *Lab) FleetScenario() bench.Scenario {
	f := l.fleet()
	return f.scenario(bench.Scenario{
		Name: "fleet", Rounds: 5, Title: fmt.Sprintf("%d instances started at once, until the last has answered", f.size), Unit: bench.Seconds,
	}, f.one(fmt.Sprintf("%d x ramaria up", f.size), func(took time.Duration) float64 { return took.Seconds() }))
}

// MemoryScenario measures the memory of idle instances in such a fleet: the
// largest PSS of a server and its supervisor together. Files in the volume are
// not part of it.
func (l *Lab) MemoryScenario() bench.Scenario {
	f := l.fleet()
	return f.scenario(bench.Scenario{
		Name: "memory", Rounds: 3, Title: fmt.Sprintf("PSS of an idle instance, server and supervisor, the largest of %d", f.size), Unit: bench.Bytes,
	}, f.one(fmt.Sprintf("one of %d", f.size), func(time.Duration) float64 { return float64(f.largest) }))
}

// scenario has a scenario measure the row, where the fleet fits.
func (f *fleet) scenario(s bench.Scenario, row bench.Case) bench.Scenario {
	s.Settings, s.Beside = f.lab.settings(), fsyncBeside()
	f.lab.alone(f.room(), located(f.lab.onVolume(volume.Shm), row)[0], &s)
	return s
}

// room is what the instances take at most: they are idle, and small.
func (f *fleet) room() room {
	files := int64(f.size) * f.lab.freshBytes() / 2
	return room{memory: int64(f.size)*f.lab.residentBytes()/2 + files, shm: files}
}

// fleet starts many instances at once and removes them again.
type fleet struct {
	lab     *Lab
	size    int
	largest int64 // PSS in bytes, after Round
}

func (l *Lab) fleet() *fleet {
	if l.Options.Quick {
		return &fleet{lab: l, size: quickFleet}
	}
	return &fleet{lab: l, size: fleetSize}
}

func (f *fleet) names() []string {
	names := make([]string, f.size)
	for i := range names {
		names[i] = fmt.Sprintf("fleet-%02d", i)
	}
	return names
}

func (f *fleet) one(name string, value func(time.Duration) float64) bench.Case {
	return bench.Case{
		Name: name, Ours: true, Settings: "ramaria's settings, shm",
		Prepare: func(ctx context.Context) error {
			return f.lab.buildOn(ctx, volume.Shm, f.lab.From(string(volume.Shm)))
		},
		Round: func(ctx context.Context) (bench.Sample, error) {
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
				return bench.Sample{}, err
			}
			took := time.Since(began)
			if err := f.measure(); err != nil {
				return bench.Sample{}, err
			}
			return bench.Sample{Value: value(took)}, nil
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
	p, err := f.lab.homeDirs()
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
