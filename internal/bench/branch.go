package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/client"
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

func (l *Lab) largeSet(ctx context.Context, kind volume.Kind) (*dataset, error) {
	flags, err := l.sysbenchFrom(ctx, largeData, string(kind))
	return &dataset{name: "large", flags: flags, check: func(ctx context.Context, name string) error {
		return l.checkTables(ctx, name, largeData, 0)
	}}, err
}

// branchKind is the volume of the branch scenarios.
const branchKind = volume.XFS

// BranchScenario measures snapshots, branches and rewinds of idle instances, small (the
// fixture) and of 2 GB, on volume xfs.
func (l *Lab) BranchScenario() Scenario {
	small, large := l.smallParent(branchKind), l.largeParent(branchKind)
	return Scenario{
		Name: "branch", Title: "idle instances on volume xfs", Unit: Seconds, Settings: l.settings(),
		Cases: []Case{
			l.startCase(), small.snapshot(RowSnapshotSmall), large.snapshot(RowSnapshotLarge), small.branch(RowBranchSmall), large.branch(RowBranchLarge),
			small.up(RowUpSmall), large.up(RowUpLarge), large.rewind(RowRewindLarge),
		},
	}
}

// parent is an instance that is branched, made once for all cases that use it.
type parent struct {
	lab  *Lab
	kind volume.Kind
	make func(ctx context.Context, kind volume.Kind) (*dataset, error)
	set  *dataset
	err  error
}

func (l *Lab) smallParent(kind volume.Kind) *parent {
	return &parent{lab: l, kind: kind, make: func(_ context.Context, kind volume.Kind) (*dataset, error) { return l.smallSet(kind), nil }}
}

func (l *Lab) largeParent(kind volume.Kind) *parent {
	return &parent{lab: l, kind: kind, make: l.largeSet}
}

// BranchCase is `ramaria branch` of a running instance with the fixture, and a query.
func (l *Lab) BranchCase(name string, kind volume.Kind) Case { return l.smallParent(kind).branch(name) }

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
	}
	p.set, p.err = set, err
	return err
}

// branchName is the instance that a round makes.
const branchName = "branched"

func (p *parent) down(ctx context.Context, err error) error {
	_, downErr := p.lab.Run(context.WithoutCancel(ctx), "down", branchName, "--rm")
	return errors.Join(err, downErr)
}

// snapshot is a mark, as the supervisor measures it: from the request to its end.
func (p *parent) snapshot(name string) Case {
	const label = "bench"
	return Case{
		Name: name, Settings: "a mark", Prepare: p.prepare,
		Round: func(ctx context.Context) (Sample, error) {
			m, err := p.mark(ctx, label)
			if err != nil {
				return Sample{}, err
			}
			return Sample{Value: float64(m.Snapshot.TotalMicros) / 1e6}, nil
		},
		Check: func(ctx context.Context) error {
			_, err := p.lab.Run(ctx, "mark", p.set.name, label, "--rm")
			return err
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
func (p *parent) branch(name string) Case {
	return Case{
		Name: name, Settings: "ramaria branch, command typed to first answer", Prepare: p.prepare,
		Round: Timed(func(ctx context.Context) error {
			if _, err := p.lab.Run(ctx, "branch", p.set.name, branchName); err != nil {
				return err
			}
			return p.lab.ping(ctx, branchName)
		}),
		Check: func(ctx context.Context) error { return p.down(ctx, p.set.check(ctx, branchName)) },
	}
}

func (p *parent) up(name string) Case {
	return Case{
		Name: name, Settings: "ramaria up, command typed to first answer", Prepare: p.prepare,
		Round: Timed(func(ctx context.Context) error {
			if _, err := p.lab.Run(ctx, append([]string{"up", branchName}, p.set.flags...)...); err != nil {
				return err
			}
			return p.lab.ping(ctx, branchName)
		}),
		Check: func(ctx context.Context) error { return p.down(ctx, p.set.check(ctx, branchName)) },
	}
}

func (p *parent) rewind(name string) Case {
	const label = "rewind"
	return Case{
		Name: name, Settings: "ramaria mark, DROP DATABASE (not timed), ramaria rewind, a query", Prepare: p.prepare,
		Round: func(ctx context.Context) (Sample, error) {
			began := time.Now()
			if _, err := p.lab.Run(ctx, "mark", p.set.name, label); err != nil {
				return Sample{}, err
			}
			took := time.Since(began)
			if err := p.lab.exec(ctx, p.set.name, "DROP DATABASE sbtest"); err != nil {
				return Sample{}, err
			}
			began = time.Now()
			if _, err := p.lab.Run(ctx, "rewind", p.set.name, label); err != nil {
				return Sample{}, err
			}
			err := p.lab.ping(ctx, p.set.name)
			return Sample{Value: (took + time.Since(began)).Seconds()}, err
		},
		Check: func(ctx context.Context) error {
			_, err := p.lab.Run(ctx, "mark", p.set.name, label, "--rm")
			return errors.Join(p.set.check(ctx, p.set.name), err)
		},
	}
}

// startCase is a server started by hand on a reflinked copy of the small image: what
// a branch cannot be faster than.
func (l *Lab) startCase() Case {
	var dir, image string
	var s *plainServer
	return Case{
		Name: RowStart, Settings: "ramaria's settings, on a copy made beforehand, to its handshake",
		Prepare: func(ctx context.Context) error {
			set := l.smallSet(branchKind)
			if err := l.buildOn(ctx, branchKind, set.flags); err != nil {
				return err
			}
			id, err := l.Build(ctx, string(branchKind))
			if err != nil {
				return err
			}
			places, err := l.places()
			if err != nil {
				return err
			}
			v := filepath.Join(places.Mounts, string(branchKind))
			image, dir = filepath.Join(v, "images", id, "data"), filepath.Join(v, "bare")
			return nil
		},
		Round: func(ctx context.Context) (Sample, error) {
			s = &plainServer{lab: l, dir: dir, volume: string(branchKind)}
			if err := s.prepare(); err != nil {
				return Sample{}, err
			}
			if out, err := exec.CommandContext(ctx, "cp", "-a", "--reflink=always", image, s.data()).CombinedOutput(); err != nil {
				return Sample{}, fmt.Errorf("cp -a: %w: %s", err, out)
			}
			began := time.Now()
			err := s.startBare(ctx)
			return Sample{Value: time.Since(began).Seconds()}, err
		},
		Check:   func(context.Context) error { return s.remove() },
		Cleanup: func(context.Context) error { return s.remove() },
	}
}
