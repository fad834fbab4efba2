package supervisor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/api"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/divergence"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// targetConsumer is the target of a hand-over as a consumer of the log.
const targetConsumer = "hand-over"

// spareLog is how many files of the log are kept for a target that is connected, beyond those that it is being sent, which
// the server keeps itself: after a crash a target asks again for what it has not applied.
const spareLog = 8

// handOver is the hand-over of the instance; nil for none.
func (s *Supervisor) handOver() (*instance.HandOver, error) {
	return s.store.Registry.HandOver(s.inst.Name)
}

// refuseHandOver refuses what would have a target differ from the instance.
func (s *Supervisor) refuseHandOver(what, why string) error {
	h, err := s.handOver()
	if err != nil || h == nil {
		return err
	}
	return api.As(api.ErrDurable, fmt.Errorf("%s of instance %s: a target of a hand-over follows it: %s\nhint: ramaria hand-over %[2]s --end", what, s.inst.Name, why))
}

// handedOverSQL are the statements, for an init file, by which an instance that another server has the data of stays
// read-only.
func (s *Supervisor) handedOverSQL() string {
	if !s.isHandedOver() {
		return ""
	}
	// MySQL passes over an error and all that follows.
	return s.inst.Server.Dialect().ReadOnlySQL() + ";\nSET GLOBAL event_scheduler = OFF;\n"
}

// isBeingHandedOver reports whether there is a target, or it is not known.
func (s *Supervisor) isBeingHandedOver() bool {
	h, err := s.handOver()
	return err != nil || h != nil
}

func (s *Supervisor) isHandedOver() bool {
	h, err := s.handOver()
	if err != nil {
		s.log.Error("cannot tell whether it was handed over", "error", err) // the watch says it too
	}
	return h.HandedOver()
}

// lookAtHandOver keeps the log for the target of a hand-over, says whether it is there, has an instance that was handed over
// stay read-only, and takes back what a cut-over left that was killed.
func (w *watch) lookAtHandOver(ctx context.Context) error {
	h, err := w.handOver()
	if err != nil {
		return err
	}
	if h == nil {
		w.logs.Remove(targetConsumer)
		w.target, w.targetFinder = instance.HandingOver{}, nil
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
	defer cancel()
	switch {
	case h.HandedOver():
		return w.stayReadOnly(ctx)
	case h.Cut != nil:
		return w.takeBack(ctx)
	}
	return w.lookAtTarget(ctx, h)
}

// stayReadOnly has an instance that was handed over be read-only, whatever others have set.
func (w *watch) stayReadOnly(ctx context.Context) error {
	w.logs.Remove(targetConsumer)
	var on bool
	if err := w.db.QueryRowContext(ctx, "SELECT @@GLOBAL.read_only").Scan(&on); err != nil || on {
		return err
	}
	w.log.Warn("made read-only again: another server has its data")
	return w.exec(ctx, w.inst.Server.Dialect().ReadOnlySQL())
}

// takeBack undoes a cut-over of a command that was killed.
func (w *watch) takeBack(ctx context.Context) error {
	lock, err := sys.TryLock(w.store.Registry.HandOverLockPath(w.inst.Name), sys.Exclusive)
	if errors.Is(err, sys.ErrLocked) {
		return nil // it is at it
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.UnlockRemove() }()
	h, err := w.handOver()
	if err != nil || h == nil || h.Cut == nil || h.Cut.Done {
		return err
	}
	if err := UndoCutOver(ctx, w.inst.Server.Dialect(), w.db, h.Cut); err != nil {
		return err
	}
	h.Cut = nil
	w.log.Warn("a cut-over was killed: the instance is written to again")
	return w.store.Registry.PutHandOver(w.inst.Name, h)
}

// lookAtTarget has the log kept that the target may need. What the server sends it keeps itself; from when the target is
// away, all is kept that there is then and comes later, up to mostLogKept files.
func (w *watch) lookAtTarget(ctx context.Context, h *instance.HandOver) error {
	files, err := binlog.Files(w.inst.DataDir(), server.BinlogName)
	if err != nil || len(files) == 0 {
		return err
	}
	now := w.target
	if now.Of != h.User { // the first look
		now = instance.HandingOver{Of: h.User, Needs: h.File, Since: time.Now(), Judged: binlog.Position{File: h.File, Offset: h.Pos}}
		if told, err := w.inst.HandingOver(); err == nil && told != nil && told.Of == h.User {
			now = *told
		}
		w.targetFinder = nil
	}
	if h.Life == w.inst.LogLife() {
		if err := w.lookAtTargetsLog(ctx, &now); err != nil {
			return err
		}
	}
	connected, sent, err := dbconn.Follower(ctx, w.db, h.User)
	if err != nil {
		return err
	}
	state, keep := instance.TargetAway, now.Needs
	switch {
	case h.Life != w.inst.LogLife() || now.State == instance.TargetLost:
		state = instance.TargetLost
	case connected:
		state, keep, now.Needs = instance.TargetReading, files[max(0, len(files)-spareLog)], ""
		if sent {
			state = instance.TargetCaught
		}
	case now.Needs == "": // it was connected
		now.Needs = files[0]
		keep = now.Needs
	}
	if at := slices.Index(files, keep); state != instance.TargetLost && (at < 0 || len(files)-at > mostLogKept) {
		state = instance.TargetLost
	}
	if state == instance.TargetLost {
		w.logs.Remove(targetConsumer)
		if h.Life != w.inst.LogLife() { // in another log the same positions are of other transactions
			err = w.execUnlogged(ctx, w.inst.Server.Dialect().EndReplicaAccountSQL(h.User, h.Host))
		}
	} else {
		w.logs.Set(targetConsumer, func() binlog.Position { return binlog.Position{File: keep} })
	}
	if state != now.State {
		now.State, now.Since = state, time.Now()
	}
	if now == w.target {
		return err
	}
	w.target = now
	return errors.Join(err, w.inst.SaveHandingOver(now))
}

// lookAtTargetsLog looks for a statement that need not have done the same in the target.
func (w *watch) lookAtTargetsLog(ctx context.Context, now *instance.HandingOver) (err error) {
	if now.Diverged != nil {
		return nil
	}
	if w.targetFinder == nil {
		f, err := w.finderFrom(ctx, now.Judged)
		if err != nil {
			return err
		}
		w.targetFinder = f
	}
	now.Diverged, err = w.targetFinder.Look(divergence.Own(w.inst.DataDir(), server.BinlogName, server.FoldsNames(w.inst.Spec.Set)))
	now.Judged = w.targetFinder.At()
	return err
}

// sweepTargets removes the accounts of targets of hand-overs that are over, and of those of the instance that this is a
// copy of.
func (w *watch) sweepTargets(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
	defer cancel()
	h, err := w.handOver()
	if err != nil || h.HandedOver() || w.noLog() || w.isReplica() { // which write nothing themselves
		return err
	}
	list, err := w.inst.Server.Dialect().TargetAccounts(ctx, w.db)
	if err != nil {
		return err
	}
	var statements []string
	for _, a := range list {
		if h == nil || a[0] != h.User {
			statements = append(statements, w.inst.Server.Dialect().EndReplicaAccountSQL(a[0], a[1]))
		}
	}
	if len(statements) == 0 {
		return nil
	}
	if held, err := sys.Held(w.store.Registry.HandOverLockPath(w.inst.Name)); err != nil || held { // one may be about to begin
		return err
	}
	return w.execUnlogged(ctx, statements...)
}

// UndoCutOver has an instance be written to again. It may be called again after an error.
func UndoCutOver(ctx context.Context, d dbconn.Dialect, db *sql.DB, c *instance.CutOver) error {
	if err := dbconn.ExecAll(ctx, db, d.WritableSQL()...); err != nil {
		return err
	}
	var statements []string
	for _, name := range c.Revoked {
		statements = append(statements, "GRANT "+d.ObeyReadOnly+" ON *.* TO "+name)
	}
	if c.Events == "ON" {
		statements = append(statements, "SET GLOBAL event_scheduler = ON")
	}
	return dbconn.ExecUnlogged(ctx, db, statements...)
}
