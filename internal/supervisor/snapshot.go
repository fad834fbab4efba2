package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/api"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

var _ api.Instance = (*Supervisor)(nil)

const (
	// sharedPause is what a pause is expected to be at most where clones share blocks,
	// whatever the size of the data (docs/snapshots.md has what was measured).
	sharedPause = 50 * time.Millisecond
	// snapshotRoom is what there must be room for, in bytes, beyond a copy of the data:
	// what the server writes meanwhile, and directories.
	snapshotRoom = 16 << 20
	// copyRate is what copying is expected to do at least, in bytes a second: 0.4 to 1 s
	// for a GB in memory.
	copyRate = 1 << 30
	// patience is how many times the expected pause the watchdog waits, and leastPause
	// how long in any case.
	patience   = 10
	leastPause = 5 * time.Second
)

// ExpectedPause is for how long a server is expected to pause for a snapshot of
// size bytes of data.
func ExpectedPause(v volume.Volume, size int64) time.Duration { return expectedPause(v.Shares(), size) }

func expectedPause(shares bool, size int64) time.Duration {
	if shares {
		return sharedPause
	}
	return sharedPause + time.Duration(float64(size)/copyRate*float64(time.Second))
}

// snapshot calls take, in turn with everything else that is done to the server, with
// how to copy the data directory to a target while the server runs, and tells what it cost.
// what is made of it, for people.
func (s *Supervisor) snapshot(ctx context.Context, what string, to volume.Target, take func(ctx context.Context, how volume.How) error) (cost client.Snapshot, err error) {
	began := time.Now()
	err = s.do(ctx, func(ctx, _ context.Context) error {
		size, err := sys.DiskUsage(s.inst.DataDir())
		if err != nil {
			return err
		}
		cost.DataBytes = size
		// Before the log is flushed: in a volume that is full to the last block that
		// would be the end of the server.
		if err := volume.CheckCopy(to, s.inst.DataDir(), size, snapshotRoom, what); err != nil {
			return err
		}
		if to != s.volume {
			if err := volume.CheckRoom(s.volume, snapshotRoom, what); err != nil {
				return err
			}
		}
		s.flushLog(ctx)
		limit := max(leastPause, patience*expectedPause(volume.SharesWith(to, s.inst.DataDir()), size))
		copying := time.Now()
		return take(ctx, volume.How{Freeze: func(rest func(context.Context) error) error {
			cost.LiveMicros = time.Since(copying).Microseconds()
			pause, err := s.proc.Freeze(ctx, limit, rest)
			cost.PauseMicros = pause.Microseconds()
			return err
		}})
	})
	cost.TotalMicros = time.Since(began).Microseconds()
	return cost, err
}

// SnapshotTo makes dst, below the directory of the target, a copy of the data directory as it is at
// one moment. The target may be another volume, or a directory outside of all.
func (s *Supervisor) SnapshotTo(ctx context.Context, to volume.Target, dst string) (client.Snapshot, error) {
	return s.snapshot(ctx, "the data of instance "+s.inst.Name, to, func(ctx context.Context, how volume.How) error {
		freeze := how.Freeze
		how.Freeze = func(rest func(context.Context) error) error { // what is left to copy is short
			release, err := s.holdUnbound(ctx)
			defer release()
			if err != nil {
				s.log.Warn("cannot close tables before a snapshot", "error", err)
			}
			return freeze(rest)
		}
		how.Filter = server.CloneFilter
		return to.Snapshot(ctx, s.inst.DataDir(), dst, how)
	})
}

// flushLog makes the server write out its redo log. Commits are there already, but what
// CREATE SEQUENCE writes comes with the next commit only: a copy without has a sequence
// that cannot be used, as after a crash. Without it the snapshot is as good as a crash.
func (s *Supervisor) flushLog(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
	defer cancel()
	if _, err := s.db.ExecContext(ctx, "FLUSH LOCAL ENGINE LOGS"); err != nil {
		s.log.Warn("cannot flush the redo log before a snapshot", "error", err)
	}
}

// Branch implements api.Instance: a new instance with the data of this one, and with a
// supervisor of its own that runs when Branch returns.
func (s *Supervisor) Branch(ctx context.Context, r client.BranchRequest) (client.Branch, error) {
	began := time.Now()
	if err := checkProgram(s.inst); err != nil {
		return client.Branch{}, err
	}
	var cost client.Snapshot
	i, err := Branching{
		Store: s.store, Parent: s.inst, Lock: s.lockName, Start: s.spawn,
		Copy: func(ctx context.Context, what string, take func(context.Context, volume.How) error) (err error) {
			cost, err = s.snapshot(ctx, what, s.volume, take)
			return err
		},
	}.Branch(ctx, r.Name)
	if errors.Is(err, instance.ErrTaken) {
		err = api.As(api.ErrExists, err)
	}
	if err != nil {
		return client.Branch{}, err
	}
	s.counters.branches.Add(1)
	return client.Branch{
		Name: i.Name, Endpoint: endpoint(i), API: i.APISocket(), Snapshot: cost, ReadyMicros: time.Since(began).Microseconds(),
	}, nil
}

// namePatience is how long another command may be at work on the name of a branch.
const namePatience = 10 * time.Second

// lockName locks a name for a new instance.
func (s *Supervisor) lockName(ctx context.Context, name string) (*sys.FileLock, error) {
	limited, cancel := context.WithTimeout(ctx, namePatience)
	defer cancel()
	lock, err := s.store.Registry.Lock(limited, name, nil)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		err = api.As(api.ErrBusy, fmt.Errorf("make instance %s: another command has been at work on that name for %s\nhint: ramaria status %s", name, namePatience, name))
	}
	return lock, err
}

// spawn starts the supervisor of another instance, which outlives this one.
func (s *Supervisor) spawn(ctx context.Context, i *instance.Instance) error {
	return Spawn(ctx, i, s.options.Argv(i.Name))
}

// Marks implements api.Instance.
func (s *Supervisor) Marks(context.Context) ([]client.Mark, error) {
	marks, err := s.inst.Marks()
	out := make([]client.Mark, 0, len(marks))
	for _, m := range marks {
		out = append(out, markOf(m))
	}
	return out, err
}

func markOf(m instance.Mark) client.Mark {
	return client.Mark{Label: m.Label, Created: m.Created, DataBytes: m.Size}
}

// Mark implements api.Instance.
func (s *Supervisor) Mark(ctx context.Context, r client.MarkRequest) (client.Mark, error) {
	if err := s.refuseMoving("mark"); err != nil {
		return client.Mark{}, err
	}
	var m instance.Mark
	cost, err := s.snapshot(ctx, "mark "+r.Label, s.volume, func(ctx context.Context, how volume.How) (err error) {
		m, err = s.store.Mark(ctx, &s.inst.Record, r.Label, r.Replace, how)
		return err
	})
	if errors.Is(err, instance.ErrMarkExists) {
		err = api.As(api.ErrExists, err)
	}
	if err != nil {
		return client.Mark{}, err
	}
	s.counters.marks.Add(1)
	out := markOf(m)
	out.Snapshot = &cost
	return out, nil
}

// DeleteMark implements api.Instance.
func (s *Supervisor) DeleteMark(ctx context.Context, label string) error {
	if err := s.refuseMoving("unmark"); err != nil {
		if _, missing := s.inst.ReadMark(label); errors.Is(missing, instance.ErrNoMark) {
			return notFound(missing)
		}
		return err
	}
	return notFound(s.do(ctx, func(ctx, _ context.Context) error { return s.store.DeleteMark(ctx, &s.inst.Record, label) }))
}

func notFound(err error) error {
	if errors.Is(err, instance.ErrNoMark) {
		return api.As(api.ErrNotFound, err)
	}
	return err
}

// Rewind implements api.Instance. Connections are closed; accounts and port stay.
func (s *Supervisor) Rewind(ctx context.Context, label string) (client.Rewind, error) {
	if s.durable() {
		return client.Rewind{}, s.refuseDurable("rewind", fmt.Sprintf("its archive goes forward only\nhint: ramaria restore %s --at TIME --as NAME makes another instance as it was then", s.inst.Name))
	}
	if s.isReplica() {
		return client.Rewind{}, s.needsPromotion("rewind")
	}
	if err := s.refuseMember("rewind"); err != nil {
		return client.Rewind{}, err
	}
	if err := s.refuseFollowed("rewind", "would have what is not there any more"); err != nil {
		return client.Rewind{}, err
	}
	if err := s.refuseMoving("rewind"); err != nil {
		return client.Rewind{}, err
	}
	began := time.Now()
	out := client.Rewind{Label: label}
	err := s.do(ctx, func(ctx, life context.Context) error { return s.rewind(ctx, life, label, &out) })
	if err != nil {
		return client.Rewind{}, notFound(err)
	}
	s.counters.rewinds.Add(1)
	out.Micros = time.Since(began).Microseconds()
	return out, nil
}

// rewind is for the goroutine of Run. After an error the server runs on the data that it
// had, or has ended, which ends Run.
func (s *Supervisor) rewind(ctx, life context.Context, label string, out *client.Rewind) error {
	mark, err := s.inst.ReadMark(label)
	if err == nil {
		err = s.refuseFollowed("rewind", "would have what is not there any more") // one may have been made since
	}
	if err != nil {
		return err
	}
	old, err := s.store.Rewind(ctx, &s.inst.Record, label, func() error {
		before := s.state
		st := before
		st.Phase, st.Reason = instance.Starting, ""
		if err := s.enter(st); err != nil {
			s.state = before // the server goes on, and the watch writes this again
			return err
		}
		// Its data is about to be replaced, so there is no clean shutdown.
		s.closePool()
		s.proc.Kill()
		s.closeDB()
		return nil
	})
	if err != nil {
		if s.serverEnded() { // stop has killed it: that is why
			s.killedFor = err.Error()
		}
		return err
	}
	starting := time.Now()
	// Not the request's context: a server that is half started is of no use to anybody.
	if err := s.startAgain(life, &mark); err != nil {
		return s.unwind(life, old, fmt.Errorf("start instance %s on mark %s: %w", s.inst.Name, label, err))
	}
	out.ReadyMicros = time.Since(starting).Microseconds()
	s.behind.Go(func() {
		// A large directory takes its time to remove; no request waits for that.
		if err := s.store.Discard(context.WithoutCancel(ctx), old); err != nil {
			s.log.Error("cannot remove what was rewound", "error", err)
		}
	})
	return nil
}

// startAgain starts the server after it was killed to be rewound, on the data of a mark, or, if that
// is nil, on what it had.
func (s *Supervisor) startAgain(ctx context.Context, mark *instance.Mark) error {
	port := s.inst.Endpoint.Port
	if err := s.startServer(ctx); err != nil {
		s.proc.Kill()
		s.closeDB()
		return err
	}
	if s.inst.Endpoint.Port != port {
		if err := s.inst.Save(); err != nil {
			s.log.Error("cannot write down the new port", "error", err)
		}
	}
	s.newest = logFile{} // the mark has a log of its own
	s.inst.LogsBegun++
	if err := s.inst.Save(); err != nil {
		s.log.Error("cannot write down that the log began again", "error", err)
	}
	if err := s.follow(ctx); err != nil {
		s.log.Error("cannot follow the source, or nobody", "error", err)
	}
	_, err := pool.Rewound(s.inst.PoolPath(), s.inst.DataDir(), mark)
	if err == nil {
		err = s.openPool()
	}
	if err != nil {
		s.log.Error("templates and leases cannot be used", "error", err)
	}
	s.killedFor = ""
	s.state.Phase = instance.Running
	if err := s.enter(s.state); err != nil {
		s.log.Error("cannot write state", "error", err) // the watch tries again
	}
	return nil
}

// unwind puts the data back that an instance had before a rewind whose server did not
// start, and starts the server on that.
func (s *Supervisor) unwind(ctx context.Context, old string, cause error) error {
	s.killedFor = cause.Error()
	if ctx.Err() != nil {
		// Told to end meanwhile: the data is the mark's, and what was before is not wanted.
		return errors.Join(cause, s.store.Discard(context.WithoutCancel(ctx), old))
	}
	if err := s.store.Unwind(context.WithoutCancel(ctx), &s.inst.Record, old); err != nil {
		return errors.Join(cause, err)
	}
	if err := s.startAgain(ctx, nil); err != nil {
		return errors.Join(cause, fmt.Errorf("start it on the data it had: %w", err))
	}
	return fmt.Errorf("%w\nhint: instance %s runs on with the data it had; ramaria logs %s", cause, s.inst.Name, s.inst.Name)
}

// Status implements api.Instance. It looks at files, and asks the server for nothing but its traffic: it answers while
// something else is being done.
func (s *Supervisor) Status(ctx context.Context) (client.Status, error) {
	st, err := s.inst.State()
	if err != nil {
		return client.Status{}, err
	}
	i, err := s.store.Registry.Open(s.inst.Name)
	if err != nil {
		return client.Status{}, err
	}
	u, err := s.meter.Read(nil)
	if err != nil {
		return client.Status{}, err
	}
	size, err := s.size.of(i.DataDir(), u.Used)
	if err != nil {
		return client.Status{}, err
	}
	marks, err := s.Marks(ctx)
	if err != nil {
		return client.Status{}, err
	}
	var promise *client.Durable
	if s.durable() {
		fences, err := durable.FencesOf(&i.Record) // before the archive: what let them go is told of in any case
		if err != nil {
			return client.Status{}, err
		}
		if promise, err = durable.Describe(s.options.Archive, i.Spec); err != nil {
			promise = durable.Unusable(s.options.Archive, i.Spec, err)
		}
		promise.SlowedSince, promise.BlindSince, promise.Fences = st.SlowedSince, s.blindSince(), fences
		if promise.Buckets, err = durable.Buckets(&i.Record, promise.Position); err != nil {
			return client.Status{}, err
		}
	}
	return client.Status{
		Name: i.Name, Phase: string(st.Phase), Since: st.Since, Reason: st.Reason, Warnings: st.Warnings, Notices: st.Notices, ReadySeconds: st.ReadySeconds,
		Server:   client.Server{Flavour: string(i.Server.Flavour), Version: i.Server.Version.String(), Path: i.Server.Daemon.Path(), ResidentBytes: residentOf(st)},
		Endpoint: endpoint(i),
		Volume: client.Volume{
			Kind: string(s.volume.Kind()), Dir: s.volume.Dir(), SizeBytes: u.Size, UsedBytes: u.Used, FreeBytes: u.Free,
			Bound: string(u.Bound), Reflink: s.volume.Shares(),
		},
		Room:     s.room.Load(),
		Log:      i.Spec.LogUse(),
		Moving:   s.movingNow(),
		Snapshot: client.SnapshotEstimate{DataBytes: size, ExpectedPauseMicros: ExpectedPause(s.volume, size).Microseconds()},
		Durable:  promise,
		Replica:  replicaNow(&i.Record),
		Cluster:  st.Cluster,
		Replicas: s.followerNames(),
		Marks:    marks,
		Traffic:  s.trafficNow(),
		Counters: client.Counters{Branches: s.counters.branches.Load(), Marks: s.counters.marks.Load(), Rewinds: s.counters.rewinds.Load()},
		Leases:   s.leases(),
	}, nil
}

func endpoint(i *instance.Instance) client.Endpoint {
	e := i.Endpoint
	return client.Endpoint{Host: e.Host, Port: e.Port, Socket: e.Socket, User: e.User, Password: e.Password, Database: e.Database, URL: e.URL()}
}
