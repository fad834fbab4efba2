package scenario

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Names of the rows that conclusions refer to.
const (
	RowStart         = "bare server start"
	RowSnapshotSmall = "snapshot, small"
	RowSnapshotLarge = "snapshot, 2 GB"
	RowBranchSmall   = "branch, small"
	RowBranchLarge   = "branch, 2 GB"
	RowUpSmall       = "up from a hot image, small"
	RowUpLarge       = "up from a hot image, 2 GB"
	RowRewindLarge   = "mark + rewind, 2 GB"
	RowPause         = "pause of the parent"
	RowReady         = "branch ready"
)

// dataset is data that instances are made with, and how it is checked.
type dataset struct {
	name  string
	flags []string
	check func(ctx context.Context, name string) error
}

func (l *Lab) smallSet(kind volume.Kind) *dataset {
	return &dataset{name: "small", flags: l.From(string(kind)), check: l.verify}
}

// sysbenchSet is generated data, under a name of its own.
func (l *Lab) sysbenchSet(ctx context.Context, name string, data sysbenchData, kind volume.Kind) (*dataset, error) {
	flags, err := l.sysbenchFrom(ctx, data, string(kind))
	return &dataset{name: name, flags: flags, check: func(ctx context.Context, name string) error {
		return l.checkTables(ctx, name, data, 0)
	}}, err
}

// branchKind is the volume of the branch scenarios.
const branchKind = volume.XFS

// branchSettings names both of the data sets.
func (l *Lab) branchSettings() map[string]string {
	settings := l.settings()
	settings["data"] = "small: " + settings["data"] + "; large: " + largeData.String()
	return settings
}

// BranchScenario measures snapshots, branches and rewinds of idle instances, small (the
// fixture) and of 2 GB, on volume xfs.
func (l *Lab) BranchScenario() bench.Scenario {
	small, large := l.smallParent(branchKind), l.largeParent(branchKind)
	return bench.Scenario{
		Name: "branch", Rounds: 11, Conclude: concludeBranch, Title: "idle instances on volume xfs", Unit: bench.Seconds, Settings: l.branchSettings(), Beside: fsyncBeside(),
		Memory: largeData.memory() + 3*l.residentBytes(),
		Cases: located(l.onVolume(branchKind),
			l.fixture().started(branchKind), small.snapshot(RowSnapshotSmall), large.snapshot(RowSnapshotLarge), small.branch(RowBranchSmall), large.branch(RowBranchLarge),
			small.up(RowUpSmall), large.up(RowUpLarge), large.rewind(RowRewindLarge),
		),
	}
}

// parent is an instance that is branched, made once for all cases that use it.
type parent struct {
	lab  *Lab
	kind volume.Kind
	make func(ctx context.Context, kind volume.Kind) (*dataset, error)
	set  *dataset
	runs bool
	err  error
}

func (l *Lab) smallParent(kind volume.Kind) *parent {
	return &parent{lab: l, kind: kind, make: func(_ context.Context, kind volume.Kind) (*dataset, error) { return l.smallSet(kind), nil }}
}

func (l *Lab) largeParent(kind volume.Kind) *parent {
	return l.sysbenchParent("large", largeData, kind)
}

func (l *Lab) sysbenchParent(name string, data sysbenchData, kind volume.Kind) *parent {
	return &parent{lab: l, kind: kind, make: func(ctx context.Context, kind volume.Kind) (*dataset, error) {
		return l.sysbenchSet(ctx, name, data, kind)
	}}
}

// BranchCase is `ramaria branch` of a running instance with the fixture, and a query.
func (l *Lab) BranchCase(name string, kind volume.Kind) bench.Case {
	return l.smallParent(kind).branch(name)
}

func (p *parent) prepare(ctx context.Context) error {
	if p.set != nil || p.err != nil {
		return p.err
	}
	set, err := p.make(ctx, p.kind)
	if err == nil {
		err = p.lab.buildOn(ctx, p.kind, set.flags)
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
func (p *parent) snapshot(name string) bench.Case {
	const label = "bench"
	return bench.Case{
		Name: name, Ours: true, Settings: "a mark", Prepare: p.prepare, Cleanup: p.end,
		Round: func(ctx context.Context) (bench.Sample, error) {
			m, err := p.mark(ctx, label)
			if err != nil {
				return bench.Sample{}, err
			}
			return bench.Sample{Value: float64(m.Snapshot.TotalMicros) / 1e6}, nil
		},
		// What was done after it is undone by it.
		Check: func(ctx context.Context) error {
			const later = "made_after_the_mark"
			err := p.lab.exec(ctx, p.set.name, "CREATE TABLE "+later+" (n INT PRIMARY KEY)")
			if err == nil {
				_, err = p.lab.Run(ctx, "rewind", p.set.name, label)
			}
			if err == nil {
				err = errors.Join(p.set.check(ctx, p.set.name), p.lab.exec(ctx, p.set.name, "CREATE TABLE "+later+" (n INT PRIMARY KEY)"), p.lab.exec(ctx, p.set.name, "DROP TABLE "+later))
			}
			_, rmErr := p.lab.Run(ctx, "mark", p.set.name, label, "--rm")
			return errors.Join(err, rmErr)
		},
	}
}

func (p *parent) mark(ctx context.Context, label string) (client.Mark, error) {
	i, err := p.lab.instance(p.set.name)
	if err != nil {
		return client.Mark{}, err
	}
	return client.New(i.APISocket()).Mark(ctx, client.MarkRequest{Label: label})
}

// branch is the whole command, and a query.
func (p *parent) branch(name string) bench.Case {
	return bench.Case{
		Name: name, Ours: true, Settings: "a running server branched, volume " + string(p.kind), Command: "ramaria branch PARENT " + branchName, Prepare: p.prepare, Cleanup: p.end,
		Round: bench.Timed(func(ctx context.Context) error {
			if _, err := p.lab.Run(ctx, "branch", p.set.name, branchName); err != nil {
				return err
			}
			return p.lab.ping(ctx, branchName)
		}),
		Check: func(ctx context.Context) error { return p.down(ctx, p.set.check(ctx, branchName)) },
	}
}

func (p *parent) up(name string) bench.Case {
	return bench.Case{
		Name: name, Ours: true, Settings: "ramaria up, command typed to first answer", Prepare: p.prepare, Cleanup: p.end,
		Round: bench.Timed(func(ctx context.Context) error {
			if _, err := p.lab.Run(ctx, append([]string{"up", branchName}, p.set.flags...)...); err != nil {
				return err
			}
			return p.lab.ping(ctx, branchName)
		}),
		Check: func(ctx context.Context) error { return p.down(ctx, p.set.check(ctx, branchName)) },
	}
}

func (p *parent) rewind(name string) bench.Case {
	const label = "rewind"
	return bench.Case{
		Name: name, Ours: true, Settings: "ramaria mark, DROP DATABASE (not timed), ramaria rewind, a query", Prepare: p.prepare, Cleanup: p.end,
		Round: func(ctx context.Context) (bench.Sample, error) {
			began := time.Now()
			if _, err := p.lab.Run(ctx, "mark", p.set.name, label); err != nil {
				return bench.Sample{}, err
			}
			took := time.Since(began)
			if err := p.lab.exec(ctx, p.set.name, "DROP DATABASE sbtest"); err != nil {
				return bench.Sample{}, err
			}
			began = time.Now()
			if _, err := p.lab.Run(ctx, "rewind", p.set.name, label); err != nil {
				return bench.Sample{}, err
			}
			err := p.lab.ping(ctx, p.set.name)
			return bench.Sample{Value: (took + time.Since(began)).Seconds()}, err
		},
		Check: func(ctx context.Context) error {
			_, err := p.lab.Run(ctx, "mark", p.set.name, label, "--rm")
			return errors.Join(p.set.check(ctx, p.set.name), err)
		},
	}
}

// started is a server started by hand on a reflinked copy of the image of these data: what
// a branch cannot be faster than.
func (p *payload) started(kind volume.Kind) bench.Case {
	return p.onCopy(bench.Case{Name: RowStart, Settings: "ramaria's settings, on a copy made beforehand, to its handshake"}, kind, func(ctx context.Context, s *plainServer, image string) (bench.Sample, error) {
		if out, err := exec.CommandContext(ctx, "cp", "-a", "--reflink=always", image, s.data()).CombinedOutput(); err != nil {
			return bench.Sample{}, fmt.Errorf("cp -a: %w: %s", err, out)
		}
		began := time.Now()
		err := s.startBare(ctx)
		return bench.Sample{Value: time.Since(began).Seconds()}, err
	})
}
