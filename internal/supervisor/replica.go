package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/api"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// States of a replica.
const (
	replicaFollows  = "following"
	replicaConnects = "connecting"
	replicaStopped  = "stopped"
)

// fullRelay is why a replica receives nothing that applies nothing.
const fullRelay = "it has received as much as it keeps, and applies none of it"

// fullVolume is why the brake has stopped a replica.
const fullVolume = "its volume is nearly full; it goes on when there is room"

// silentFor is how long a server may say nothing of how it follows, as one that is stuck in a write, before what it said last is
// said no more.
const silentFor = 5 * time.Second

// otherLog is why a replica does not follow a source whose log began anew.
const otherLog = "it was removed or made again, or its log was begun again (RESET MASTER): its log is another"

// whyGone is why there is nothing to follow any more.
func (s *Supervisor) whyGone() string {
	if s.inst.Source.Lost {
		return "its server has lost where in that log it was"
	}
	return otherLog
}

// isReplica reports whether the instance follows another.
func (s *Supervisor) isReplica() bool { return s.follows.Load() != nil }

// tellFollows has requests know what the instance follows.
func (s *Supervisor) tellFollows() {
	if s.inst.Source == nil {
		s.follows.Store(nil)
		return
	}
	s.follows.Store(s.inst.Spec.Replica)
}

// needsPromotion refuses what writes to a replica.
func (s *Supervisor) needsPromotion(what string) error {
	of := "another"
	if r := s.follows.Load(); r != nil { // it may have been promoted just now
		of = r.Of
	}
	return api.As(api.ErrDurable, fmt.Errorf("%s of instance %s: it is a replica of %s\nhint: ramaria replica promote %[2]s makes it an instance of its own", what, s.inst.Name, of))
}

// followWithin is how long a start may take to have the server follow; the watch goes on with that.
const followWithin = 20 * time.Second

// follow has the server follow the source, where the instance is a replica, and nobody where it is a copy of one. Until it
// has, s.asks is false, and the watch calls it again.
func (s *Supervisor) follow(ctx context.Context) error {
	if s.noLog() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, followWithin)
	defer cancel()
	d := s.inst.Server.Dialect()
	if !s.isReplica() {
		return d.UnfollowOurs(ctx, s.db)
	}
	state, err := d.ReplicaState(ctx, s.db)
	if err != nil {
		return err
	}
	if s.inst.Server.Flavour == server.MySQL {
		if err := s.exec(ctx, "SET GLOBAL super_read_only = ON"); err != nil {
			return err
		}
	}
	if s.lacksRoom() {
		s.asks = false
		return nil // the watch says it
	}
	if state.User != s.inst.Source.Login.User {
		return s.beginFollowing(ctx)
	}
	if s.left == nil {
		if err := s.resume(ctx, state); err != nil {
			return err
		}
	}
	for end := time.Now().Add(resumePatience); s.left != nil; {
		if err := s.resumed(ctx); err != nil {
			return err
		}
		if s.left != nil && (time.Now().After(end) || s.lacksRoom() || !s.runsFor(appliedPause)) {
			return nil
		}
	}
	return s.ask(ctx)
}

// beginFollowing has a server follow that knows of no source: a new replica from where its data ends, and one that followed
// before, and whose server has forgotten where it was, not at all, unless its GTIDs say it.
func (s *Supervisor) beginFollowing(ctx context.Context) error {
	at, _, gone := s.source()
	if gone {
		return nil // the watch says it
	}
	d := s.inst.Server.Dialect()
	if at.Begun && d.AppliedGTIDs == "" {
		s.inst.Source.Lost = true
		return s.inst.Save()
	}
	if at.Begun {
		return s.ask(ctx)
	}
	if err := s.replicate(ctx, append(d.FollowSQL(at), s.acknowledges()...)...); err != nil {
		return err
	}
	s.inst.Source.Begun = true
	if err := s.inst.Save(); err != nil {
		return err
	}
	if err := s.replicate(ctx, d.StartReplicaSQL(at.Login)); err != nil {
		return err
	}
	s.asks = true
	return nil
}

// acknowledges are the statements by which a replica acknowledges what it receives. MariaDB takes that in a configuration for
// a reason to roll back, when it recovers, what other servers may not have (MDEV-21117).
func (s *Supervisor) acknowledges() []string {
	if s.inst.Server.Flavour != server.MariaDB || !s.inst.Spec.Replica.Sync {
		return nil
	}
	return []string{"SET GLOBAL rpl_semi_sync_slave_enabled = ON"}
}

// ask has a replica that has applied what it had received ask its source for what comes then.
func (s *Supervisor) ask(ctx context.Context) error {
	at, _, gone := s.source()
	if gone {
		return nil
	}
	d := s.inst.Server.Dialect()
	state, err := d.ReplicaState(ctx, s.db)
	if err != nil {
		return err
	}
	statements := s.acknowledges()
	if s.appliers != "" {
		statements = append(statements, "SET GLOBAL slave_parallel_threads = "+s.appliers)
	}
	if err := s.replicate(ctx, append(statements, d.FollowAtSQL(at, state), d.StartReplicaSQL(at.Login))...); err != nil {
		return err
	}
	s.asks = true
	return nil
}

func (s *Supervisor) exec(ctx context.Context, statements ...string) error {
	return dbconn.ExecAll(ctx, s.db, statements...)
}

func (s *Supervisor) execUnlogged(ctx context.Context, statements ...string) error {
	return dbconn.ExecUnlogged(ctx, s.db, statements...)
}

// source is what the replica follows, at the port where that is now; sync says that it waits for this replica, and gone
// that there is no such log any more.
func (s *Supervisor) source() (at dbconn.Source, sync, gone bool) {
	at = *s.inst.Source
	if s.inst.Spec.Replica.IsRemote() || at.Lost {
		return at, false, at.Lost
	}
	i, err := s.store.Registry.Open(s.inst.Spec.Replica.Of)
	if err != nil {
		return at, false, errors.Is(err, instance.ErrNotFound)
	}
	if i.Endpoint.Port != 0 {
		at.Port = i.Endpoint.Port
	}
	return at, i.WaitsFor == s.inst.Name, i.LogLife() != at.Life
}

// lookAtSource notes how far the replica is, and finds a source that has another port since.
func (w *watch) lookAtSource(ctx context.Context) error {
	if !w.isReplica() {
		w.source = ""
		return nil
	}
	if w.promoting.Load() {
		return nil
	}
	w.note("cannot look for statements by which it diverges", w.lookForDivergence(ctx))
	d := w.inst.Server.Dialect()
	at, sync, gone := w.Supervisor.source()
	var failed error
	halted := w.lacksRoom()
	if !halted && (!w.asks && !gone || w.left != nil) {
		failed = w.follow(ctx) // which has a limit of its own
	}
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
	defer cancel()
	state, err := d.ReplicaState(ctx, w.db)
	if err != nil {
		return errors.Join(err, w.silent())
	}
	w.heard = time.Now()
	did := true
	switch {
	case halted:
		w.asks = false // what it has received comes first, then
		if did = state.Applying || state.Receiving || state.Connecting; did {
			err = w.replicate(ctx, d.StopReplicaSQL())
		}
	case !w.asks && !gone: // it has something to apply first
		did = false
	case gone && (state.Receiving || state.Connecting):
		err = w.replicate(ctx, d.StopReplicaSQL()+" IO_THREAD")
	case gone:
		did = false
	case state.User != at.Login.User || state.Stopped() && !state.Applying && !state.Receiving && !state.Connecting:
		w.asks = false // somebody has stopped it: what it has received comes first
		err = w.follow(ctx)
	case state.Stopped(), state.Transient() && (state.Receiving || state.Connecting):
		err = w.replicate(ctx, d.StartReplicaSQL(at.Login))
	case state.Refused && d.StartReplicaSQL(at.Login) != d.StartReplicaSQL(dbconn.Login{}): // somebody has started it without a password
		err = w.replicate(ctx, d.StopReplicaSQL()+" IO_THREAD", d.StartReplicaSQL(at.Login))
	case at.Port != state.Port && !state.Receiving:
		err = w.moveOn(ctx, at, state)
	default:
		did = false
	}
	if err = errors.Join(failed, err); err == nil && did {
		state, err = d.ReplicaState(ctx, w.db)
	}
	w.note("cannot follow", err)
	r := w.replicaOf(state)
	w.stands(&r, state)
	r.Sync = sync && !gone
	if at.Port != state.Port && !state.Receiving && state.Errno == 0 { // moveOn goes on with it
		r.State, r.Error = replicaConnects, ""
	}
	if halted {
		r.State, r.Error, r.LagSeconds = replicaStopped, fullVolume, nil
	}
	if gone {
		r.State, r.Error, r.LagSeconds, r.LagBytes = replicaStopped, w.whyGone(), nil, nil
	}
	w.source = ""
	if at := fmt.Sprintf("%s:%d", state.RelayFile, state.RelayPos); state.Full && r.Error == "" && at == w.fullAt {
		r.Error = fullRelay
		w.source = fmt.Sprintf("it receives no more of the log of %s before it has applied some of what it has: SHOW PROCESSLIST here shows what its appliers wait for", r.Of)
	} else {
		w.fullAt = at
	}
	if r.State == replicaStopped && (gone || !halted) { // else the brake says it
		w.source = fmt.Sprintf("it does not follow %s any more: %s; ramaria rm %s and ramaria replica add %[1]s %[3]s make it again", r.Of, flat(r.Error), w.inst.Name)
	}
	return w.say(w.followingOf(r, state))
}

// say writes down how the replica follows.
func (w *watch) say(f instance.Following) error {
	if reflect.DeepEqual(f, w.told) {
		return nil
	}
	w.told = f
	return w.inst.SaveFollowing(f)
}

// sayHalted says at once that the brake has stopped a replica.
func (w *watch) sayHalted() error {
	if !w.halted || w.told.Of == "" {
		return nil
	}
	f := w.told
	f.State, f.Error, f.LagSeconds, f.LagBytes = replicaStopped, fullVolume, nil, nil // the bytes with the next look
	return w.say(f)
}

// silent takes back what was said of a replica whose server says nothing any more.
func (w *watch) silent() error {
	if w.heard.IsZero() {
		w.heard = time.Now()
	}
	if time.Since(w.heard) < silentFor || w.told.Of == "" {
		return nil
	}
	f := w.told
	f.State, f.LagSeconds, f.LagBytes = replicaStopped, nil, nil
	f.Error = "its server has not said since " + w.heard.Format(time.TimeOnly) + " how it follows"
	return w.say(f)
}

// stands has a replica be behind for as long at least as it has been at one place with more to apply: the seconds of a server
// count from what its applier is at, and are 0 for one that waits.
func (w *watch) stands(r *client.Replica, state dbconn.ReplicaState) {
	more := !state.Caught()
	if r.LagBytes != nil {
		more = *r.LagBytes > 0
	}
	if !more || r.LagSeconds == nil || r.Position != w.stood {
		w.stood, w.stoodSince = r.Position, time.Now()
		return
	}
	*r.LagSeconds = max(*r.LagSeconds, math.Floor(time.Since(w.stoodSince).Seconds()))
}

// moveOn has a replica ask its source at another port, once it has applied what it had received.
func (w *watch) moveOn(ctx context.Context, at dbconn.Source, state dbconn.ReplicaState) error {
	d := w.inst.Server.Dialect()
	if state.Connecting {
		if err := w.replicate(ctx, d.StopReplicaSQL()+" IO_THREAD"); err != nil {
			return err
		}
	}
	if left, err := w.receivedBy(state); err != nil || left != nil {
		return err // its applier goes on
	}
	return w.replicate(ctx, d.StopReplicaSQL(), d.FollowAtSQL(at, state), d.StartReplicaSQL(at.Login))
}

// followingOf is what its supervisor says of a replica: the source keeps what was not applied, and what was not judged.
func (s *Supervisor) followingOf(r client.Replica, state dbconn.ReplicaState) instance.Following {
	r.Diverged = s.inst.Diverged
	f := instance.Following{Replica: r, Needs: cmp.Or(state.ExecFile, s.inst.Source.File)}
	if s.finder == nil {
		return f
	}
	f.Judged, f.Own = s.finder.At(), s.ownLog
	if !f.Own && f.Judged.File != "" && binlog.Older(f.Judged.File, f.Needs) {
		f.Needs = f.Judged.File
	}
	return f
}

// flat is a text in one line.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }

// replicaOf is what a state means for people.
func (s *Supervisor) replicaOf(state dbconn.ReplicaState) client.Replica {
	r := client.Replica{Of: s.inst.Spec.Replica.Of, State: replicaFollows, Error: state.Error}
	switch {
	case state.Fatal || !state.Applying:
		r.State = replicaStopped
	case !state.Receiving:
		r.State = replicaConnects
	}
	if state.ExecFile != "" {
		r.Position = fmt.Sprintf("%s:%d", state.ExecFile, state.ExecPos)
	}
	seconds := float64(state.Behind)
	if lag, err := s.lagBytes(state); err == nil {
		r.LagBytes = &lag
		if lag == 0 {
			seconds = 0
		}
	}
	if state.Behind >= 0 && r.State == replicaFollows {
		r.LagSeconds = &seconds
	}
	return r
}

// lagBytes is how much of the source's log was not applied yet, in bytes; of another machine's, how much of what was
// received.
func (s *Supervisor) lagBytes(state dbconn.ReplicaState) (int64, error) {
	if s.inst.Spec.Replica.IsRemote() {
		if state.ReadFile != state.ExecFile {
			return 0, errors.New("what it has received is in several files")
		}
		return max(state.ReadPos-state.ExecPos, 0), nil
	}
	r, err := s.store.Registry.Get(s.inst.Spec.Replica.Of)
	if err != nil {
		return 0, err
	}
	files, err := binlog.Files(r.DataDir(), server.BinlogName)
	if err != nil {
		return 0, err
	}
	from := slices.Index(files, state.ExecFile)
	if from < 0 {
		return 0, errors.New("the source's log has no such file")
	}
	lag := -state.ExecPos
	for _, name := range files[from:] {
		fi, err := os.Lstat(filepath.Join(r.DataDir(), name))
		if err != nil {
			return 0, err
		}
		lag += fi.Size()
	}
	return max(lag, 0), nil
}
