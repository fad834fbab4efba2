package memory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// fleetSize is how many instances the scenarios fleet and memory start at once, quickFleet in a
// quick run.
const (
	fleetSize  = 20
	quickFleet = 8
)

// Fleet measures how long many instances, started at once, take until the last one has
// answered.
func Fleet(l *lab.Lab) runner.Scenario {
	f := newInstanceSet(l)
	return f.scenario(runner.Scenario{
		Name: "fleet", Rounds: 5, Title: fmt.Sprintf("%d instances started at once, until the last has answered", f.size), Unit: runner.Seconds,
	}, f.one(fmt.Sprintf("%d x ramaria up", f.size), func(took time.Duration) float64 { return took.Seconds() }))
}

// instanceSet starts many instances at once and removes them again.
type instanceSet struct {
	lab     *lab.Lab
	size    int
	largest int64 // PSS in bytes, after Round
}

func newInstanceSet(l *lab.Lab) *instanceSet {
	if l.Options.Quick {
		return &instanceSet{lab: l, size: quickFleet}
	}
	return &instanceSet{lab: l, size: fleetSize}
}

// scenario makes a scenario measure the row, where the instances fit.
func (f *instanceSet) scenario(s runner.Scenario, row runner.Case) runner.Scenario {
	s.Settings, s.Beside = f.lab.Settings(), lab.FsyncBeside()
	f.lab.SetOnlyRow(f.need(), lab.WithStorage(f.lab.VolumeStorage(volume.Shm), row)[0], &s)
	return s
}

// need is what the instances take at most: they are idle, and small.
func (f *instanceSet) need() lab.Need {
	files := int64(f.size) * f.lab.FreshBytes() / 2
	return lab.Need{Memory: int64(f.size)*f.lab.ResidentBytes()/2 + files, Shm: files}
}

func (f *instanceSet) names() []string {
	names := make([]string, f.size)
	for i := range names {
		names[i] = fmt.Sprintf("fleet-%02d", i)
	}
	return names
}

func (f *instanceSet) one(name string, value func(time.Duration) float64) runner.Case {
	return runner.Case{
		Name: name, Ours: true, Settings: "ramaria's settings, shm",
		Prepare: func(ctx context.Context) error {
			return f.lab.PrepareImage(ctx, volume.Shm, f.lab.From(string(volume.Shm)))
		},
		Round: func(ctx context.Context) (runner.Sample, error) {
			began := time.Now()
			g, ctx := errgroup.WithContext(ctx)
			for _, name := range f.names() {
				g.Go(func() error {
					if _, err := f.lab.Run(ctx, append([]string{"up", name}, f.lab.From("shm")...)...); err != nil {
						return err
					}
					return f.lab.Query(ctx, name)
				})
			}
			if err := g.Wait(); err != nil {
				return runner.Sample{}, err
			}
			took := time.Since(began)
			if err := f.measure(); err != nil {
				return runner.Sample{}, err
			}
			return runner.Sample{Value: value(took)}, nil
		},
		Check: func(ctx context.Context) error {
			var errs []error
			for _, name := range f.names() {
				errs = append(errs, f.lab.Verify(ctx, name))
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
