package view

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/volume"
)

const (
	// answerTime is how long an instance may take to answer in a look.
	answerTime = 700 * time.Millisecond
	// mostAsked is how many are asked at once: those that do not answer hold up no others until so many
	// do not.
	mostAsked = 64
	// restInterval is the time between two readings of all that the files of an instance say that does
	// not run; whether it runs is looked at each time.
	restInterval = 10 * time.Second
)

// Watcher takes looks. It is for one goroutine at a time.
type Watcher struct {
	engine *engine.Engine
	known  map[string]*known
}

// New returns a watcher of the instances of an engine that is open.
func New(e *engine.Engine) *Watcher {
	own := *e
	return &Watcher{engine: &own, known: map[string]*known{}}
}

// Close closes the connections to the instances. The watcher can be used again.
func (w *Watcher) Close() {
	for _, k := range w.known {
		k.close()
	}
	w.known = map[string]*known{}
}

// known is what is known of one instance from look to look.
type known struct {
	record *instance.Record
	client *client.Client
	// answers says that it answered in the last look.
	answers bool
	// last is what was found last, and read when its files were read.
	last Instance
	read time.Time
	// queries and the like are what was counted.
	queries, granted, resets counter
}

func (k *known) close() {
	if k.client != nil {
		k.client.Close()
		k.client = nil
	}
}

// Look looks at all instances.
func (w *Watcher) Look(ctx context.Context) (Overview, error) {
	if w.engine.Owner.Registry == "" { // a home in which nothing was made yet: it has no owner
		if err := w.engine.Open(ctx, false); err != nil {
			return Overview{}, err
		}
	}
	records, broken, err := w.engine.Registry.All()
	if err != nil {
		return Overview{}, err
	}
	o := Overview{At: time.Now(), Instances: make([]Instance, len(records)), Notes: w.notes(broken)}
	w.follow(records)
	var g errgroup.Group
	g.SetLimit(mostAsked)
	for i, r := range records {
		k := w.known[r.Name]
		g.Go(func() error {
			o.Instances[i] = w.lookAt(ctx, k)
			return nil
		})
	}
	_ = g.Wait() // an instance that cannot be looked at says so itself
	if err := ctx.Err(); err != nil {
		return Overview{}, err
	}
	unify(o.Instances)
	o.group(records)
	if o.Machine, err = w.machine(); err != nil {
		return Overview{}, err
	}
	o.Machine.TakenBytes = taken(o.Instances)
	return o, nil
}

// notes say why records cannot be read.
func (w *Watcher) notes(broken []string) (notes []string) {
	for _, name := range broken {
		if _, err := w.engine.Registry.Get(name); err != nil {
			notes = append(notes, err.Error())
		}
	}
	return notes
}

// follow forgets instances that were removed, and gets to know new ones.
func (w *Watcher) follow(records []*instance.Record) {
	kept := make(map[string]*known, len(records))
	for _, r := range records {
		k := w.known[r.Name]
		if k == nil || k.record.Created != r.Created { // another of the same name
			if k != nil {
				k.close()
			}
			k = &known{}
		}
		if k.client != nil && k.client.Socket() != r.APISocket() {
			k.close()
		}
		k.record = r
		kept[r.Name] = k
	}
	for name, k := range w.known {
		if kept[name] == nil {
			k.close()
		}
	}
	w.known = kept
}

// lookAt looks at one instance: asks it, if it answered before or its files say that it runs, and
// reads its files otherwise.
func (w *Watcher) lookAt(ctx context.Context, k *known) Instance {
	if k.answers {
		err := k.ask(ctx)
		if err == nil {
			return k.last
		}
		k.answers = false
		if errors.Is(err, context.DeadlineExceeded) { // it is there, and not asked twice in a look
			return k.trouble(unanswered(err))
		}
	}
	state, err := k.record.State()
	if err != nil {
		return k.trouble(err.Error())
	}
	if state.Phase == instance.Running || state.Phase == instance.Stopping {
		if err := k.ask(ctx); err == nil {
			k.answers = true
			return k.last
		} else if state.Phase == instance.Running {
			k.last.Phase, k.last.Since = state.Phase, state.Since
			return k.trouble(unanswered(err))
		}
	}
	k.queries, k.granted, k.resets = counter{}, counter{}, counter{}
	if k.last.Phase != state.Phase || k.last.Since != state.Since || time.Since(k.read) >= restInterval {
		return w.read(k)
	}
	return k.last
}

func unanswered(err error) string { return "it does not answer: " + err.Error() }

// trouble is what was known before, and why there is no more.
func (k *known) trouble(text string) Instance {
	i := k.last
	i.Name, i.Trouble, i.Traffic, i.Leases = k.record.Name, text, nil, nil
	if i.Volume.Kind == "" {
		i.Volume.Kind = k.record.Volume
	}
	return i
}

// read finds out by the files of an instance what there is to know.
func (w *Watcher) read(k *known) Instance {
	l, err := w.engine.Status(k.record.Name)
	if err != nil && l.Name == "" {
		return k.trouble(err.Error())
	}
	i := Instance{
		Name: l.Name, Phase: l.Phase, Since: l.Since, Reason: l.Reason, Passing: l.Passing, Warnings: l.Warnings, Notices: l.Notices,
		Server: l.Server, Host: l.Host, Port: l.Port, Socket: l.Socket, User: l.User, Database: l.Database, Log: l.Log,
		Volume: Volume{Kind: l.Volume}, DataBytes: l.Size, Durable: l.Durable, Cluster: l.Cluster, Replica: replicaOf(k.record),
	}
	if err != nil {
		i.Trouble = err.Error()
	}
	for _, m := range l.Marks {
		i.Marks = append(i.Marks, Mark{m.Label, m.Created, m.Size})
	}
	k.last, k.read = i, time.Now()
	return i
}

// ask asks an instance that runs.
func (k *known) ask(ctx context.Context) error {
	if k.client == nil {
		k.client = client.New(k.record.APISocket())
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	s, err := k.client.Status(ctx)
	if err != nil {
		return err
	}
	now := time.Now() // when it was counted: what others took does not blur the rates
	k.last, k.read = k.instance(s, now), now
	return nil
}

// instance is what an instance has told.
func (k *known) instance(s client.Status, now time.Time) Instance {
	i := Instance{
		Name: s.Name, Phase: instance.Phase(s.Phase), Since: s.Since, Reason: s.Reason, Passing: k.record.Passing, Warnings: s.Warnings, Notices: s.Notices,
		Server: s.Server.Flavour + "-" + s.Server.Version, Host: s.Endpoint.Host, Port: s.Endpoint.Port, Socket: s.Endpoint.Socket,
		User: s.Endpoint.User, Database: s.Endpoint.Database, Log: s.Log, Volume: volumeOf(s), DataBytes: s.Snapshot.DataBytes, ServerBytes: s.Server.ResidentBytes,
		Durable: s.Durable, Cluster: s.Cluster, Replica: s.Replica, Moving: s.Moving, Pause: &PauseEstimation{Shares: s.Volume.Reflink, Seconds: float64(s.Snapshot.ExpectedPauseMicros) / 1e6},
	}
	if t := s.Traffic; t != nil {
		i.Traffic = &Traffic{Connections: t.Connections, QueriesPerSecond: k.queries.rate(t.Queries, now)}
	}
	if l := s.Leases; l != nil {
		i.Leases = &Leases{
			Used: l.Used, Max: l.Max, Waiting: l.Waiting,
			GrantedPerSecond: k.granted.rate(l.Granted, now), ResetsPerSecond: k.resets.rate(l.Resets, now),
		}
	}
	for _, m := range s.Marks {
		i.Marks = append(i.Marks, Mark{m.Label, m.Created, m.DataBytes})
	}
	if s.Room != nil && s.Room.Contents != nil {
		i.Largest = s.Room.Contents.Largest
	}
	return i
}

func volumeOf(s client.Status) Volume {
	v := Volume{Kind: s.Volume.Kind, Dir: s.Volume.Dir, SizeBytes: s.Volume.SizeBytes, UsedBytes: s.Volume.UsedBytes, FreeBytes: s.Volume.FreeBytes, Bound: s.Volume.Bound}
	if r := s.Room; r != nil {
		v.UsedPercent, v.Level, v.GrowthBytesPerHour, v.FullSeconds = r.UsedPercent, r.Level, r.GrowthBytesPerHour, r.FullSeconds
		v.at = r.At
	}
	return v
}

// machine is the memory of the machine.
func (w *Watcher) machine() (Machine, error) {
	m, err := w.engine.Host.Memory()
	if err != nil {
		return Machine{}, err
	}
	out := Machine{TotalBytes: m.Total, AvailableBytes: m.Available, SwapUsedBytes: w.engine.Host.SwapUsed()}
	if _, bound := m.Room(); bound {
		out.LimitBytes, out.LimitUsedBytes = m.Cgroup.Limit, m.Cgroup.Used
	}
	return out, nil
}

// taken is what the instances take of the memory: each volume counts once.
func taken(all []Instance) (bytes int64) {
	counted := map[string]bool{}
	for _, i := range all {
		bytes += i.ServerBytes
		if dir := i.Volume.Dir; dir != "" && i.Volume.Kind != string(volume.Disk) && !counted[dir] {
			counted[dir] = true
			bytes += i.Volume.UsedBytes
		}
	}
	return bytes
}
