package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/api"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// appliedWithin is how long a replica that is promoted may take to apply what it has received, and to stop. MySQL waits for a
// minute for the end of a transaction that it has a part of.
const appliedWithin = 10 * time.Minute

// promoteWithin is how long each of the other steps of a promotion may take.
const promoteWithin = 3 * time.Minute

// appliedPause is the pause between two looks whether it has.
const appliedPause = 20 * time.Millisecond

// Promote implements api.Instance.
func (s *Supervisor) Promote(ctx context.Context, r client.PromoteRequest) (out client.Promotion, err error) {
	if err := s.refuseMoving("promote"); err != nil {
		return out, err
	}
	began := time.Now()
	err = s.do(ctx, func(ctx, _ context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, promoteWithin)
		defer cancel()
		out, err = s.beginPromotion(ctx, r)
		return err
	})
	if err != nil {
		return out, err
	}
	err = s.bySteps(ctx, s.aim, s.hasApplied, s.stopApplying, func(ctx context.Context) (bool, error) {
		return true, s.agrees(ctx, r.AcceptDivergence) // once more: nothing comes any more
	})
	err = errors.Join(err, s.do(context.WithoutCancel(ctx), func(ctx, _ context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, promoteWithin)
		defer cancel()
		s.promoting.Store(false)
		full := s.needsRoom()
		if err != nil || full != nil {
			return errors.Join(full, s.goOn(ctx))
		}
		return s.promote(ctx, &out)
	}))
	if err != nil {
		return out, fmt.Errorf("promote instance %s: %w", s.inst.Name, err)
	}
	out.Micros = time.Since(began).Microseconds()
	return out, nil
}

// goOn has a replica follow that was not promoted after all.
func (s *Supervisor) goOn(ctx context.Context) error {
	state, err := s.inst.Server.Dialect().ReplicaState(ctx, s.db)
	if err != nil {
		return err
	}
	if s.left != nil || s.lacksRoom() || !state.Applying || s.ordered != nil {
		s.asks = false // the watch does it, when that is applied
		return nil
	}
	return s.replicate(ctx, s.inst.Server.Dialect().StartReplicaSQL(s.inst.Source.Login))
}

// beginPromotion looks whether it is a replica, and what it followed.
func (s *Supervisor) beginPromotion(ctx context.Context, r client.PromoteRequest) (out client.Promotion, err error) {
	if !s.isReplica() {
		return out, api.As(api.ErrDurable, fmt.Errorf("promote instance %s: it is no replica\nhint: ramaria ls", s.inst.Name))
	}
	if s.promoting.Load() {
		return out, api.As(api.ErrBusy, fmt.Errorf("promote instance %s: it is being promoted already", s.inst.Name))
	}
	if err := errors.Join(s.needsRoom(), s.agrees(ctx, r.AcceptDivergence)); err != nil {
		return out, fmt.Errorf("promote instance %s: %w", s.inst.Name, err)
	}
	d := s.inst.Server.Dialect()
	out.Of = s.inst.Spec.Replica.Of
	state, err := d.ReplicaState(ctx, s.db)
	if err != nil {
		return out, err
	}
	if _, _, gone := s.source(); gone {
		out.Stopped = s.whyGone()
	} else if state.Fatal {
		out.Stopped = flat(state.Error)
	}
	s.promoting.Store(true)
	return out, nil
}

// needsRoom refuses to promote a replica whose volume is nearly full: it has stopped before it has applied what it received,
// and could not be written to.
func (s *Supervisor) needsRoom() error {
	if !s.lacksRoom() {
		return nil
	}
	u, err := s.volume.Usage()
	if err != nil {
		return err
	}
	return api.As(api.ErrNoRoom, fmt.Errorf("volume %s is nearly full, %s are free, and it applies nothing\nhint: %s", s.volume.Kind(), volume.FormatBytes(u.Free), moreRoom(s.volume, u)))
}

// aim ends receiving, and finds what there is to apply: what the replica has by then is what it will have.
func (s *Supervisor) aim(ctx context.Context) (done bool, err error) {
	d := s.inst.Server.Dialect()
	if err := s.replicate(ctx, d.StopReplicaSQL()+" IO_THREAD"); err != nil {
		return false, err
	}
	state, err := d.ReplicaState(ctx, s.db)
	if err != nil {
		return false, err
	}
	if s.goal, err = s.receivedBy(state); err != nil {
		s.log.Warn("what it has received cannot be told from its relay log", "error", err)
		s.goal = &received{unclear: true}
	}
	if s.goal != nil && !s.goal.unclear && !state.Applying && (state.Errno == 0 || state.Transient()) { // somebody has stopped it
		return true, s.resume(ctx, state)
	}
	return true, nil
}

// stopApplying ends applying.
func (s *Supervisor) stopApplying(ctx context.Context) (done bool, err error) {
	return true, s.replicate(ctx, s.inst.Server.Dialect().StopReplicaSQL())
}

// promote makes the replica, which has applied what it received, an instance of its own. It is for the goroutine of Run.
func (s *Supervisor) promote(ctx context.Context, out *client.Promotion) error {
	d := s.inst.Server.Dialect()
	state, err := d.ReplicaState(ctx, s.db)
	if err != nil {
		return err
	}
	if state.ExecFile != "" {
		out.Position = fmt.Sprintf("%s:%d", state.ExecFile, state.ExecPos)
	}
	// Written down first: a supervisor that is killed meanwhile is followed by one that goes on here (settleReplica).
	was := *s.inst
	s.inst.Spec.Replica, s.inst.Source, s.inst.Diverged, s.inst.Parted = nil, nil, nil, true
	s.inst.Origin = "replica of " + out.Of + " until it was promoted"
	if err := errors.Join(s.store.Registry.Put(&s.inst.Record), s.inst.Save()); err != nil {
		s.inst.Spec.Replica, s.inst.Source, s.inst.Diverged, s.inst.Parted, s.inst.Origin = was.Spec.Replica, was.Source, was.Diverged, was.Parted, was.Origin
		return errors.Join(err, s.replicate(ctx, d.StartReplicaSQL(was.Source.Login)))
	}
	s.tellFollows()
	s.left, s.goal = nil, nil
	if err := s.replicate(ctx, d.UnfollowSQL()); err != nil {
		return err
	}
	var statements []string
	if s.appliers != "" {
		statements = append(statements, "SET GLOBAL slave_parallel_threads = "+s.appliers)
	}
	if s.inst.Server.Flavour == server.MySQL {
		statements = append(statements, "SET GLOBAL super_read_only = OFF")
	}
	if v := s.inst.Server.EventScheduler(s.inst.Spec.Set); v != "" {
		statements = append(statements, "SET GLOBAL event_scheduler = "+v)
	}
	if err := s.exec(ctx, append(statements, "SET GLOBAL read_only = OFF")...); err != nil {
		return err
	}
	out.Events, err = s.asleep(ctx)
	return errors.Join(err, s.openPool())
}

// settleReplica ends a promotion that was cut off.
func (s *Supervisor) settleReplica() error {
	if (s.inst.Spec.Replica == nil) == (s.inst.Source == nil) {
		return nil
	}
	s.inst.Spec.Replica, s.inst.Source, s.inst.Diverged, s.inst.Parted = nil, nil, nil, true
	s.tellFollows()
	return errors.Join(s.store.Registry.Put(&s.inst.Record), s.inst.Save())
}

// bySteps takes steps, each until it is done. Others use the server meanwhile.
func (s *Supervisor) bySteps(ctx context.Context, steps ...func(context.Context) (done bool, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, appliedWithin)
	defer cancel()
	for len(steps) > 0 {
		var done bool
		err := s.do(ctx, func(ctx, _ context.Context) (err error) {
			done, err = steps[0](ctx)
			return err
		})
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("apply what it has received: %w", errors.Join(ctx.Err(), err))
		case errors.Is(err, errOrdered):
			done = false
		case err != nil:
			return err
		}
		if done {
			steps = steps[1:]
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(appliedPause):
		}
	}
	return nil
}

// hasApplied reports whether all is applied that was received.
func (s *Supervisor) hasApplied(ctx context.Context) (bool, error) {
	state, err := s.inst.Server.Dialect().ReplicaState(ctx, s.db)
	switch {
	case err != nil:
		return false, err
	case s.goal == nil || s.goal.appliedIn(state):
		return true, nil
	case !state.Applying:
		return false, fmt.Errorf("it has stopped: %s\nhint: ramaria branch %s NAME makes an instance of its own of what it has", flat(state.Error), s.inst.Name)
	}
	return false, nil
}

// drainWithin is how long a replica that is to stop may take to apply what it has received.
const drainWithin = 10 * time.Second

// drain has a replica that is to stop apply what it has received, so that its next start is short.
func (s *Supervisor) drain(ctx context.Context) {
	if !s.isReplica() || s.lacksRoom() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, drainWithin)
	defer cancel()
	done := false
	_, err := s.aim(ctx)
	for err == nil && !done {
		if done, err = s.hasApplied(ctx); !done && !s.runsFor(appliedPause) {
			return
		}
	}
	if err != nil {
		s.log.Warn("it stops before all is applied that it has received: its next start goes on with that", "error", err)
	}
}

// asleep are the events that came from the source, which a replica disables: whether they were enabled there, it does not
// know.
func (s *Supervisor) asleep(ctx context.Context) (names []string, err error) {
	err = dbconn.Query(ctx, s.db, "SELECT EVENT_SCHEMA, EVENT_NAME FROM information_schema.EVENTS WHERE STATUS IN ('SLAVESIDE_DISABLED', 'REPLICA_SIDE_DISABLED')", func(c []string) error {
		names = append(names, c[0]+"."+c[1])
		return nil
	})
	return names, err
}
