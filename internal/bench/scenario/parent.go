package scenario

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// parent is an instance that is branched, made once for all cases that use it.
type parent struct {
	lab  *lab.Lab
	kind volume.Kind
	make func(ctx context.Context, kind volume.Kind) (*dataset, error)
	set  *dataset
	runs bool
	err  error
}

// dataset is data that instances are made with, and how it is checked.
type dataset struct {
	name  string
	flags []string
	check func(ctx context.Context, name string) error
}

func smallSet(l *lab.Lab, kind volume.Kind) *dataset {
	return &dataset{name: "small", flags: l.From(string(kind)), check: l.Verify}
}

// sysbenchSet is generated data, under a name of its own.
func sysbenchSet(ctx context.Context, l *lab.Lab, name string, data lab.SysbenchData, kind volume.Kind) (*dataset, error) {
	flags, err := l.SysbenchFlags(ctx, data, string(kind))
	return &dataset{name: name, flags: flags, check: func(ctx context.Context, name string) error {
		return l.CheckTables(ctx, name, data, 0)
	}}, err
}

func smallParent(l *lab.Lab, kind volume.Kind) *parent {
	return &parent{lab: l, kind: kind, make: func(_ context.Context, kind volume.Kind) (*dataset, error) { return smallSet(l, kind), nil }}
}

func largeParent(l *lab.Lab, kind volume.Kind) *parent {
	return sysbenchParent(l, "large", lab.LargeData, kind)
}

func sysbenchParent(l *lab.Lab, name string, data lab.SysbenchData, kind volume.Kind) *parent {
	return &parent{lab: l, kind: kind, make: func(ctx context.Context, kind volume.Kind) (*dataset, error) {
		return sysbenchSet(ctx, l, name, data, kind)
	}}
}

func (p *parent) prepare(ctx context.Context) error {
	if p.set != nil || p.err != nil {
		return p.err
	}
	set, err := p.make(ctx, p.kind)
	if err == nil {
		err = p.lab.PrepareImage(ctx, p.kind, set.flags)
	}
	if err == nil {
		_, err = p.lab.Run(ctx, append([]string{"up", set.name}, set.flags...)...)
		p.runs = err == nil
	}
	p.set, p.err = set, err
	return err
}

// end removes the instance. It may be called more than once.
func (p *parent) end(ctx context.Context) error {
	if !p.runs {
		return nil
	}
	p.runs = false
	_, err := p.lab.Run(ctx, "down", p.set.name, "--rm")
	return err
}

// branchName is the instance that a round makes.
const branchName = "branched"

func (p *parent) down(ctx context.Context, err error) error {
	_, downErr := p.lab.Run(context.WithoutCancel(ctx), "down", branchName, "--rm")
	return errors.Join(err, downErr)
}

// snapshot is a mark, as the supervisor measures it: from the request to its end.
func (p *parent) snapshot(name string) runner.Case {
	const label = "bench"
	return runner.Case{
		Name: name, Ours: true, Settings: "a mark", Prepare: p.prepare, Cleanup: p.end,
		Round: func(ctx context.Context) (runner.Sample, error) {
			m, err := p.mark(ctx, label)
			if err != nil {
				return runner.Sample{}, err
			}
			return runner.Sample{Value: float64(m.Snapshot.TotalMicros) / 1e6}, nil
		},
		// The rewind undoes what was done after the mark.
		Check: func(ctx context.Context) error {
			const later = "made_after_the_mark"
			err := p.lab.Exec(ctx, p.set.name, "CREATE TABLE "+later+" (n INT PRIMARY KEY)")
			if err == nil {
				_, err = p.lab.Run(ctx, "rewind", p.set.name, label)
			}
			if err == nil {
				err = errors.Join(p.set.check(ctx, p.set.name), p.lab.Exec(ctx, p.set.name, "CREATE TABLE "+later+" (n INT PRIMARY KEY)"), p.lab.Exec(ctx, p.set.name, "DROP TABLE "+later))
			}
			_, rmErr := p.lab.Run(ctx, "mark", "rm", p.set.name, label)
			return errors.Join(err, rmErr)
		},
	}
}

func (p *parent) mark(ctx context.Context, label string) (client.Mark, error) {
	i, err := p.lab.Instance(p.set.name)
	if err != nil {
		return client.Mark{}, err
	}
	return client.New(i.APISocket()).Mark(ctx, client.MarkRequest{Label: label})
}

// branch is the whole command, and a query.
func (p *parent) branch(name string) runner.Case {
	return runner.Case{
		Name: name, Ours: true, Settings: "a running server branched, volume " + string(p.kind), Command: "ramaria branch PARENT " + branchName, Prepare: p.prepare, Cleanup: p.end,
		Round: runner.Timed(func(ctx context.Context) error {
			if _, err := p.lab.Run(ctx, "branch", p.set.name, branchName); err != nil {
				return err
			}
			return p.lab.Ping(ctx, branchName)
		}),
		Check: func(ctx context.Context) error { return p.down(ctx, p.set.check(ctx, branchName)) },
	}
}

func (p *parent) up(name string) runner.Case {
	return runner.Case{
		Name: name, Ours: true, Settings: "ramaria up, command typed to first answer", Prepare: p.prepare, Cleanup: p.end,
		Round: runner.Timed(func(ctx context.Context) error {
			if _, err := p.lab.Run(ctx, append([]string{"up", branchName}, p.set.flags...)...); err != nil {
				return err
			}
			return p.lab.Ping(ctx, branchName)
		}),
		Check: func(ctx context.Context) error { return p.down(ctx, p.set.check(ctx, branchName)) },
	}
}

func (p *parent) rewind(name string) runner.Case {
	const label = "rewind"
	return runner.Case{
		Name: name, Ours: true, Settings: "ramaria mark, DROP DATABASE (not timed), ramaria rewind, a query", Prepare: p.prepare, Cleanup: p.end,
		Round: func(ctx context.Context) (runner.Sample, error) {
			began := time.Now()
			if _, err := p.lab.Run(ctx, "mark", p.set.name, label); err != nil {
				return runner.Sample{}, err
			}
			took := time.Since(began)
			if err := p.lab.Exec(ctx, p.set.name, "DROP DATABASE sbtest"); err != nil {
				return runner.Sample{}, err
			}
			began = time.Now()
			if _, err := p.lab.Run(ctx, "rewind", p.set.name, label); err != nil {
				return runner.Sample{}, err
			}
			err := p.lab.Ping(ctx, p.set.name)
			return runner.Sample{Value: (took + time.Since(began)).Seconds()}, err
		},
		Check: func(ctx context.Context) error {
			_, err := p.lab.Run(ctx, "mark", "rm", p.set.name, label)
			return errors.Join(p.set.check(ctx, p.set.name), err)
		},
	}
}

// BranchCase is `ramaria branch` of a running instance with the fixture, and a query.
func BranchCase(l *lab.Lab, name string, kind volume.Kind) runner.Case {
	return smallParent(l, kind).branch(name)
}

// startedRow is a server started by hand on a reflinked copy of the image of these data: what
// a branch cannot be faster than.
func startedRow(p *lab.Data, kind volume.Kind) runner.Case {
	return onCopy(p, runner.Case{Name: RowStart, Settings: "ramaria's settings, on a copy made beforehand, to its handshake"}, kind, func(ctx context.Context, s *lab.PlainServer, image string) (runner.Sample, error) {
		if out, err := exec.CommandContext(ctx, "cp", "-a", "--reflink=always", image, s.Data()).CombinedOutput(); err != nil {
			return runner.Sample{}, fmt.Errorf("cp -a: %w: %s", err, out)
		}
		began := time.Now()
		err := s.StartBare(ctx)
		return runner.Sample{Value: time.Since(began).Seconds()}, err
	})
}
