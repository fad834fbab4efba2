package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/fixture"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// modestData is 25 MB, mediumData 250 MB.
var (
	modestData = sysbenchData{rows: 13_400}
	mediumData = sysbenchData{rows: 134_000}
)

// leastLarge is how much data it takes to say what much data does, in bytes.
const leastLarge = 200e6

// rowBranchOf is the branch of a server that has so much.
func rowBranchOf(data string) string { return "ramaria branch, " + data }

// amount says how much data there is, in a word or two.
func (p *payload) amount() string {
	if p.own != "" {
		return p.fileName()
	}
	return fmt.Sprintf("%d rows", fixture.Countries+fixture.Cities+fixture.Languages)
}

// ForkScenario measures how long it takes until there is a fresh server with data, in all
// the ways that there are: made from nothing, copied, cloned, and branched from a running
// one.
func (l *Lab) ForkScenario() bench.Scenario {
	p := l.payload()
	settings := p.describe(l.settings())
	kinds, first, branched := l.forkKinds(), volume.Shm, l.branchedKind()
	if len(l.Options.Volumes) > 0 {
		first = kinds[0]
	}
	shm := int64(0)
	if slices.Contains(kinds, volume.Shm) {
		shm = 2*l.freshBytes() + 4*p.size()
	}
	if branched == volume.Shm { // the parent and its branch
		shm += 2 * (l.freshBytes() + p.size())
	}
	s := bench.Scenario{
		Name: "fork", Title: "a fresh server with data, command typed to first answer", Unit: bench.Seconds, Settings: settings, Beside: fsyncBeside(),
		Disk: 3*l.freshBytes() + 5*p.size(), Memory: 6*(l.freshBytes()+2*p.size()) + 2*l.residentBytes(), Shm: shm,
		Cases: append(located(l.onThisDisk, p.stock()), located(l.onVolume(first), p.bare(first))...),
	}
	for _, kind := range kinds {
		s.Cases = append(s.Cases, located(l.onVolume(kind), p.up(RowUp(kind), kind))...)
	}
	small := &parent{lab: l, kind: branched, make: func(ctx context.Context, kind volume.Kind) (*dataset, error) {
		if err := p.imageable(ctx); err != nil {
			return nil, err
		}
		return &dataset{name: "small", flags: p.from(string(kind)), check: p.verifyInstance}, nil
	}}
	s.Cases = slices.Concat(s.Cases, located(l.onVolume(first), p.run(first)), located(l.onVolume(branched), small.branch(rowBranchOf(p.amount()))))
	largest := ""
	for _, size := range []struct {
		name string
		data sysbenchData
		slow bool
	}{{"modest", modestData, false}, {"medium", mediumData, true}, {"large", largeData, true}} {
		if size.slow && l.Options.Quick {
			continue
		}
		data := sysbenchData{rows: l.Options.sized(float64(size.data.rows))}
		name := rowBranchOf(bench.Bytes.Format(float64(data.size())))
		if data.size() >= leastLarge {
			largest = name
		}
		s.Cases = append(s.Cases, located(l.onVolume(branched), l.roomy(l.sysbenchParent(size.name, data, branched), data).branch(name))...)
		if branched == branchKind { // of others the rows themselves say that there is no room
			s.Memory += data.memory()
		}
	}
	s.Conclude = func(r *bench.Result) string { return concludeFork(r, first, p.amount(), largest) }
	return s
}

// branchedKind is the volume of the branches: the first that was named, else xfs where it can
// be, else one in RAM that copies.
func (l *Lab) branchedKind() volume.Kind {
	if len(l.Options.Volumes) > 0 {
		return l.Options.Volumes[0]
	}
	kind, err := l.ramKind(context.Background())
	if err != nil {
		return branchKind // which says why it cannot be
	}
	return kind
}

// roomy has a parent look for room first where a branch is a copy.
func (l *Lab) roomy(p *parent, data sysbenchData) *parent {
	fill := p.make
	p.make = func(ctx context.Context, kind volume.Kind) (*dataset, error) {
		const copies = 3 // an image, the parent, a branch
		if err := l.roomToCopy(ctx, kind, copies*data.memory()); err != nil {
			return nil, err
		}
		return fill(ctx, kind)
	}
	return p
}

// roomToCopy returns ErrUnavailable if a volume that copies has no room for so many bytes.
func (l *Lab) roomToCopy(ctx context.Context, kind volume.Kind, need int64) error {
	v, err := l.fitting(ctx, kind)
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
		return fmt.Errorf("%w: volume %s, which copies, has room for %s, and this takes up to %s", bench.ErrUnavailable, kind, bench.Bytes.Format(float64(free)), bench.Bytes.Format(float64(need)))
	}
	return nil
}

// forkKinds are the volumes of the rows of `up`: the disk, and all in RAM unless some were
// named. Those that this machine does not have say so.
func (l *Lab) forkKinds() []volume.Kind {
	if len(l.Options.Volumes) > 0 {
		return Unique(l.Options.Volumes)
	}
	kinds := []volume.Kind{volume.Disk, volume.Shm}
	for _, kind := range volume.Kinds {
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// memory is about what the data takes in RAM, with the log of its making.
func (d sysbenchData) memory() int64 { return d.size() + d.size()/4 + 256<<20 }

// concludeFork compares `up` with the least that any tool must do, and branches of much with
// one of little.
func concludeFork(r *bench.Result, kind volume.Kind, little, largest string) string {
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
