package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/fixture"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// modestData is 25 MB, mediumData 250 MB.
var (
	modestData = lab.SysbenchData{Rows: 13_400}
	mediumData = lab.SysbenchData{Rows: 134_000}
)

// leastLarge is how much data it takes to say what much data does, in bytes.
const leastLarge = 200e6

// rowBranchOf is the branch of a server that has so much.
func rowBranchOf(data string) string { return "ramaria branch, " + data }

// amountOf says how much data there is, in a word or two.
func amountOf(p *lab.Data) string {
	if p.Path != "" {
		return p.FileName()
	}
	return fmt.Sprintf("%d rows", fixture.Countries+fixture.Cities+fixture.Languages)
}

// ForkScenario measures how long it takes until there is a fresh server with data, in all
// the ways that there are: made from nothing, copied, cloned, and branched from a running
// one.
func ForkScenario(l *lab.Lab) runner.Scenario {
	p := l.Data()
	settings := p.Describe(l.Settings())
	kinds, first, branched := forkKinds(l), volume.Shm, branchedKind(l)
	if len(l.Options.Volumes) > 0 {
		first = kinds[0]
	}
	shm := int64(0)
	if slices.Contains(kinds, volume.Shm) {
		shm = 2*l.FreshBytes() + 4*p.Size()
	}
	if branched == volume.Shm { // the parent and its branch
		shm += 2 * (l.FreshBytes() + p.Size())
	}
	s := runner.Scenario{
		Name: "fork", Title: "a fresh server with data, command typed to first answer", Unit: runner.Seconds, Settings: settings, Beside: lab.FsyncBeside(),
		Disk: 3*l.FreshBytes() + 5*p.Size(), Memory: 6*(l.FreshBytes()+2*p.Size()) + 2*l.ResidentBytes(), Shm: shm,
		Cases: append(lab.WithStorage(l.DiskStorage, stockRow(p)), lab.WithStorage(l.VolumeStorage(first), bareRow(p, first))...),
	}
	for _, kind := range kinds {
		s.Cases = append(s.Cases, lab.WithStorage(l.VolumeStorage(kind), upRow(p, RowUp(kind), kind))...)
	}
	small := &parent{lab: l, kind: branched, make: func(ctx context.Context, kind volume.Kind) (*dataset, error) {
		if err := p.ReadyForImage(ctx); err != nil {
			return nil, err
		}
		return &dataset{name: "small", flags: p.From(string(kind)), check: p.VerifyInstance}, nil
	}}
	s.Cases = slices.Concat(s.Cases, lab.WithStorage(l.VolumeStorage(first), runRow(p, first)), lab.WithStorage(l.VolumeStorage(branched), small.branch(rowBranchOf(amountOf(p)))))
	largest := ""
	for _, size := range []struct {
		name string
		data lab.SysbenchData
		slow bool
	}{{"modest", modestData, false}, {"medium", mediumData, true}, {"large", lab.LargeData, true}} {
		if size.slow && l.Options.Quick {
			continue
		}
		data := lab.SysbenchData{Rows: l.Options.Sized(float64(size.data.Rows))}
		name := rowBranchOf(runner.Bytes.Format(float64(data.Size())))
		if data.Size() >= leastLarge {
			largest = name
		}
		s.Cases = append(s.Cases, lab.WithStorage(l.VolumeStorage(branched), fittingParent(l, sysbenchParent(l, size.name, data, branched), data).branch(name))...)
		if branched == branchKind { // of others the rows themselves say that there is no room
			s.Memory += data.Memory()
		}
	}
	s.Conclusion = func(r *runner.Result) string { return forkConclusion(r, first, amountOf(p), largest) }
	return s
}

// branchedKind is the volume of the branches: the first that was named, else xfs where it can
// be, else one in RAM that copies.
func branchedKind(l *lab.Lab) volume.Kind {
	if len(l.Options.Volumes) > 0 {
		return l.Options.Volumes[0]
	}
	kind, err := l.RAMKind(context.Background())
	if err != nil {
		return branchKind // which says why it cannot be
	}
	return kind
}

// fittingParent makes a parent look for room first where a branch is a copy.
func fittingParent(l *lab.Lab, p *parent, data lab.SysbenchData) *parent {
	fill := p.make
	p.make = func(ctx context.Context, kind volume.Kind) (*dataset, error) {
		const copies = 3 // an image, the parent, a branch
		if err := roomToCopy(ctx, l, kind, copies*data.Memory()); err != nil {
			return nil, err
		}
		return fill(ctx, kind)
	}
	return p
}

// roomToCopy returns ErrUnavailable if a volume that copies has no room for so many bytes.
func roomToCopy(ctx context.Context, l *lab.Lab, kind volume.Kind, need int64) error {
	v, err := l.AvailableVolume(ctx, kind)
	if err != nil {
		return err
	}
	shares := v.Shares()
	room, err := v.Usage()
	if err := errors.Join(err, v.Close()); err != nil || shares {
		return err
	}
	free := room.Free
	if mem, unknown := l.Host.Memory(); unknown == nil && kind != volume.Disk {
		available, _ := mem.Room()
		free = min(free, available)
	}
	if free < need {
		return fmt.Errorf("%w: volume %s, which copies, has room for %s, and this takes up to %s", runner.ErrUnavailable, kind, runner.Bytes.Format(float64(free)), runner.Bytes.Format(float64(need)))
	}
	return nil
}

// forkKinds are the volumes of the rows of `up`: the disk, and all in RAM unless some were
// named. Those that this machine does not have say so.
func forkKinds(l *lab.Lab) []volume.Kind {
	if len(l.Options.Volumes) > 0 {
		return lab.Unique(l.Options.Volumes)
	}
	kinds := []volume.Kind{volume.Disk, volume.Shm}
	for _, kind := range volume.Kinds {
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// forkConclusion compares `up` with the least that any tool must do, and branches of much with
// one of little.
func forkConclusion(r *runner.Result, kind volume.Kind, little, largest string) string {
	m := medians(r)
	up, bare := m[RowUp(kind)], m[RowBare(kind)]
	over, times := up-bare, m[RowStock]/up
	text := ""
	if up > 0 && bare > 0 && !math.IsNaN(times) {
		text = fmt.Sprintf("ramaria up takes %s cp -a and a bare start, and is %.1f times faster than the stock way", beyond(over), times)
	}
	if longer := m[largest] / m[rowBranchOf(little)]; longer > 0 && !math.IsInf(longer, 0) {
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf("%s takes %.1f times as long as that of %s", largest, longer, little)
	}
	if text == "" {
		return ""
	}
	return text + "."
}
