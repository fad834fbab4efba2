package supervisor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/ramaria-db/ramaria/internal/api"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/semisync"
	"github.com/ramaria-db/ramaria/internal/server"
)

// level is what a power failure may take, and what commits wait for.
func (s *Supervisor) level() server.Durability {
	level, _ := s.inst.Spec.Durability()
	if level == server.InRAM && s.inst.WaitsFor != "" {
		return server.Followed
	}
	return level
}

// commitsWait reports whether commits are answered when another has them.
func (s *Supervisor) commitsWait() bool { return s.keeper != nil || s.inst.WaitsFor != "" }

// partWithin is how long a server may take to see that a replica has gone: it says every two seconds that it is there itself.
const partWithin = 6 * time.Second

// reserveSync has commits wait for a replica that is to be made, once it is there. free gives that up, unless it is.
func (s *Supervisor) reserveSync(ctx context.Context, name string) (free func(), err error) {
	for end := time.Now().Add(partWithin); ; time.Sleep(heldUpPause) {
		others := 0
		err = s.do(ctx, func(ctx, _ context.Context) (err error) {
			others, err = s.tryReserve(ctx, name)
			return err
		})
		if others == 0 || time.Now().After(end) {
			break
		}
	}
	return func() {
		_ = s.do(context.WithoutCancel(ctx), func(context.Context, context.Context) error { // it has ended, or does it
			if s.joining.Swap(false) {
				s.inst.WaitsFor = ""
			}
			return nil
		})
	}, err
}

// heldUpPause is the pause between two looks for others that acknowledge.
const heldUpPause = 100 * time.Millisecond

// tryReserve is reserveSync, unless others acknowledge, of which some may have gone.
func (s *Supervisor) tryReserve(ctx context.Context, name string) (others int, err error) {
	if s.inst.WaitsFor != "" {
		if ended, err := s.syncEnded(); err != nil || !ended || s.joining.Load() {
			return 0, errors.Join(err, s.waitsAlready())
		}
	}
	if err := s.loadSync(ctx); err != nil {
		return 0, err
	}
	if _, others, err = s.acknowledged(ctx, name); err != nil || others > 0 {
		return others, errors.Join(err, s.otherAcks(others))
	}
	s.inst.WaitsFor = name
	s.joining.Store(true)
	return 0, nil
}

func (s *Supervisor) waitsAlready() error {
	return api.As(api.ErrDurable, fmt.Errorf("make a replica of instance %s with --sync: its commits wait for %s already\nhint: leave out --sync, or ramaria replica rm %[2]s", s.inst.Name, s.inst.WaitsFor))
}

// acknowledged counts the semi-synchronous replicas: whether there is one, and the others.
func (s *Supervisor) acknowledged(ctx context.Context, name string) (is, others int, err error) {
	return dbconn.SemisyncReplicas(ctx, s.db, instance.ReplicaUser(name))
}

// otherAcks refuses others.
func (s *Supervisor) otherAcks(n int) error {
	if n == 0 {
		return nil
	}
	return api.As(api.ErrDurable, fmt.Errorf("make a replica of instance %s with --sync: %sthe replica has them\n%s", s.inst.Name, foreignAcks, noAcks))
}

// loadSync loads what the server needs to wait for replicas, where it lacks that.
func (s *Supervisor) loadSync(ctx context.Context) error {
	broken, err := server.BrokenPromises(ctx, s.db, s.inst.Server.Promises(server.Followed, s.inst.Volume))
	if err != nil {
		return err
	}
	for _, b := range broken {
		if b.Is == "" {
			return s.execUnlogged(ctx, s.inst.Server.LoadSQL(server.Followed)...)
		}
	}
	return nil
}

// joinWithin is how long a replica may take to say that it acknowledges commits.
const joinWithin = 30 * time.Second

// startSync starts a replica that was made, and has commits wait for it, from when it acknowledges them. After an error
// nothing of it runs: one that nobody waits for is not what was asked for.
func (s *Supervisor) startSync(ctx context.Context, i *instance.Instance) error {
	if err := s.spawn(ctx, i); err != nil {
		return err
	}
	if err := s.joinSync(ctx, i.Name); err != nil {
		return errors.Join(err, s.options.End(context.WithoutCancel(ctx), i))
	}
	return nil
}

// joinSync has commits wait for a replica.
func (s *Supervisor) joinSync(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, joinWithin)
	defer cancel()
	for n, others, before := 0, 0, 0; n == 0; before = others {
		err := s.do(ctx, func(ctx, _ context.Context) (err error) {
			n, others, err = s.acknowledged(ctx, name)
			return err
		})
		if err == nil && min(others, before) > 0 { // once may be ours, which came in between
			return s.otherAcks(others)
		}
		if err == nil && n == 0 {
			select {
			case <-ctx.Done():
				err = errors.New("it does not acknowledge commits")
			case <-time.After(20 * time.Millisecond):
			}
		}
		if err != nil {
			return fmt.Errorf("have commits wait for replica %s: %w%s", name, err, s.whyAway(name))
		}
	}
	return s.do(ctx, func(ctx, _ context.Context) error {
		if err := s.inst.Save(); err != nil { // before the first commit waits: a restart goes on so
			return err
		}
		s.joining.Store(false)
		_, err := s.keepSynced(ctx)
		return err
	})
}

// whyAway is what a replica that runs says of why it does not acknowledge commits.
func (s *Supervisor) whyAway(name string) string {
	r, err := s.store.Registry.Get(name)
	if err != nil {
		return ""
	}
	if state, err := r.State(); err != nil || state.Phase != instance.Running { // what it said last is no news
		return ""
	}
	f := replicaNow(r)
	if f == nil || f.Error == "" {
		return ""
	}
	return ": " + flat(f.Error)
}

// keepSynced has commits wait, and returns what was not so.
func (s *Supervisor) keepSynced(ctx context.Context) (broken []server.Broken, err error) {
	if err := s.loadSync(ctx); err != nil {
		return nil, err
	}
	broken, err = server.BrokenPromises(ctx, s.db, s.inst.Server.Promises(server.Followed, s.inst.Volume))
	for _, b := range broken {
		err = errors.Join(err, s.exec(ctx, b.SQL()))
	}
	return broken, err
}

// syncEnded reports whether there is no replica any more that commits wait for.
func (s *Supervisor) syncEnded() (bool, error) {
	r, err := s.store.Registry.Get(s.inst.WaitsFor)
	if errors.Is(err, instance.ErrNotFound) {
		return true, nil
	}
	return err == nil && (r.Spec.Replica == nil || r.Spec.Replica.Of != s.inst.Name || !r.Spec.Replica.Sync), err
}

// settleSync forgets, before the server starts, a replica that has gone meanwhile.
func (s *Supervisor) settleSync() error {
	if s.inst.WaitsFor == "" {
		return nil
	}
	ended, err := s.syncEnded()
	if err != nil || !ended {
		return err
	}
	s.inst.WaitsFor = ""
	return s.inst.Save()
}

// lookAtSync keeps commits waiting for a replica, for as long as it is one, and says when it is away.
func (w *watch) lookAtSync(ctx context.Context) error {
	w.awaited = ""
	if w.inst.WaitsFor == "" || w.joining.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, putBackPatience)
	defer cancel()
	ended, err := w.syncEnded()
	if err != nil {
		return err
	}
	if ended {
		if err := w.exec(ctx, w.inst.Server.AnswerSQL()); err != nil {
			return err
		}
		w.log.Info("commits wait for no replica any more", "replica", w.inst.WaitsFor)
		w.inst.WaitsFor, w.early = "", 0
		return w.inst.Save()
	}
	broken, err := w.keepSynced(ctx)
	if len(broken) > 0 {
		w.log.Warn("commits did not wait for the replica, and do again", "replica", w.inst.WaitsFor, "what", broken)
	}
	if err != nil {
		return err
	}
	n, others, err := w.acknowledged(ctx, w.inst.WaitsFor)
	if err != nil {
		return err
	}
	stuck, err := w.unanswered(ctx)
	if err != nil {
		return err
	}
	if stuck && n > 0 {
		w.note("cannot acknowledge what the replica has", w.acknowledgeApplied(ctx))
	}
	why, before := w.whyAway(w.inst.WaitsFor), w.foreign
	w.foreign = others
	switch {
	case min(others, before) > 0:
		w.awaited = foreignAcks + "replica " + w.inst.WaitsFor + " has them\n" + noAcks
	case why != "":
		w.awaited = fmt.Sprintf("commits wait for replica %s%s\nhint: ramaria status %[1]s, or ramaria replica rm %[1]s, which lets them go on without it", w.inst.WaitsFor, why)
	case n > 0 && stuck:
		w.awaited = fmt.Sprintf("commits wait for replica %s, which is connected and acknowledges nothing\nhint: ramaria status %[1]s, or ramaria replica rm %[1]s, which lets them go on without it", w.inst.WaitsFor)
	case n == 0:
		w.awaited = fmt.Sprintf("commits wait for replica %s, which does not answer\nhint: ramaria up %[1]s, or ramaria replica rm %[1]s, which lets them go on without it", w.inst.WaitsFor)
	}
	if w.inst.Server.Flavour != server.MariaDB {
		return nil
	}
	early, err := dbconn.Unacknowledged(ctx, w.db)
	if err == nil && early > w.early {
		w.log.Warn("commits were answered before the replica had them: KILL QUERY, or Ctrl-C in a client, ended their wait", "replica", w.inst.WaitsFor, "commits", early-w.early)
	}
	w.early = early
	return err
}

// ackID is the server id by which acknowledgeApplied connects, which no other replica has.
const ackID = 4294967199

// acknowledgeApplied has commits go on that wait for a replica which has applied all of the log. Its acknowledgement may be
// lost: it was stopped, or ended, when it had received a transaction and not said so. It connects again by its GTIDs, the
// source has nothing to send, and neither server says anything any more.
func (w *watch) acknowledgeApplied(ctx context.Context) error {
	end, err := w.inst.Server.Dialect().LogEnd(ctx, w.db)
	if err != nil || end.Pos > math.MaxUint32 {
		return err
	}
	r, err := w.store.Registry.Get(w.inst.WaitsFor)
	if err != nil {
		return err
	}
	if state, err := r.State(); err != nil || state.Phase != instance.Running {
		return err
	}
	f := replicaNow(r)
	if f == nil || f.State != replicaFollows || f.LagBytes == nil || *f.LagBytes != 0 || f.Position != fmt.Sprintf("%s:%d", end.File, end.Pos) {
		return nil
	}
	c, err := semisync.Connect(ctx, w.inst.Endpoint.Socket, w.inst.Supervisor, ackID)
	if err != nil {
		return err
	}
	// The server takes where a replica begins for acknowledged.
	err = c.Start(ctx, end.File, uint32(end.Pos))
	if err == nil {
		err = c.Begun(ctx)
	}
	err = errors.Join(err, c.Close())
	if err == nil {
		w.log.Info("commits go on that the replica has, whose acknowledgement was lost", "replica", w.inst.WaitsFor, "position", f.Position)
	}
	return err
}

// acksWithin is how long a commit may wait for its acknowledgement before that is said.
const acksWithin = 3 * time.Second

// unanswered reports whether commits have waited for so long without one acknowledgement.
func (w *watch) unanswered(ctx context.Context) (bool, error) {
	waiting, answered, err := dbconn.AwaitsAcks(ctx, w.db)
	if err != nil {
		return false, err
	}
	if waiting == 0 || answered != w.answered {
		w.answered, w.answeredAt = answered, time.Now()
	}
	return waiting > 0 && time.Since(w.answeredAt) >= acksWithin, nil
}

// settleSynced keeps the server from committing, for as long as the supervisor's connection lives, once no commit waits
// any more: a server that shuts down lets those go on that do. It reports whether that was possible.
func (s *Supervisor) settleSynced(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, settlePatience)
	defer cancel()
	_, err := s.db.ExecContext(ctx, "FLUSH TABLES WITH READ LOCK")
	return err == nil
}
