// Package supervisor owns one running instance: it holds the instance's lock, is
// the parent of its server process, says in state.json what goes on, watches room
// and memory, purges the binary log, serves the API, takes snapshots, and leaves the
// files in order when it ends.
//
// The invariant: while the lock is held a server runs or is about to, and when
// the supervisor is gone, however it went, so is the server, by its parent-death
// signal.
package supervisor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/api"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Supervisor owns one running instance.
type Supervisor struct {
	inst    *instance.Instance
	store   *instance.Store
	volume  volume.Volume
	meter   *volume.Meter
	log     *slog.Logger
	handler http.Handler
	// remoteHandler serves clients on other machines; nil if it is not open to them.
	remoteHandler http.Handler
	// options are those that it was started with.
	options Options

	// next is the supervisor of the instance where it was moved to: from then on this one speaks for that. pausing is
	// closed when an instance that is between two volumes is in one of them; nil while it is in this one.
	next    atomic.Pointer[Supervisor]
	pausing atomic.Pointer[chan struct{}]
	// moving is the move that is under way, nil for none.
	moving atomic.Pointer[move]
	// endBeside ends what goes on beside the goroutine of Run, and beside is over then.
	endBeside context.CancelFunc
	beside    sync.WaitGroup

	// logins is how the application logged in when the server had started, "" before that was asked; and passwordPutBack says
	// that a statement had changed its password before. They are the goroutine's of Run.
	logins          string
	passwordPutBack bool

	lock   *sys.FileLock
	listen net.Listener
	front  net.Listener // of the front door, nil if there is none
	remote net.Listener // of the API for other machines, nil if there is none
	// tasks is how API requests get something done by the goroutine of Run, one at a
	// time; over is closed when that has ended. See do.
	tasks chan task
	over  chan struct{}
	// behind are the removals that outlive a request.
	behind   sync.WaitGroup
	counters counters
	// traffic is who asks the server what goes on in it, nil while none runs, and size what the data takes, for Status.
	traffic atomic.Pointer[traffic]
	size    dataSize
	// distrusted says that a comparison found what the archive gives wrong: the next base takes no pages from
	// those before.
	distrusted atomic.Bool
	// verified is the last attempt at comparing the instance with its archive, nil for none yet.
	verified atomic.Pointer[attempt]
	// pool has the templates and leases; nil while no server runs.
	pool atomic.Pointer[pool.Pool]
	// follows is what the instance follows, nil for nothing, as requests are told; inst says more, to the goroutine of Run
	// alone.
	follows atomic.Pointer[instance.Replica]
	// logs are those who read the server's binary log, which is kept for the slowest of them.
	logs binlog.Consumers

	// The goroutine that calls Start, Run and Stop alone touches what follows. state is
	// what state.json says.
	proc *server.Process
	// keeper follows the log into the archive; nil for an instance that is not durable.
	keeper *durable.Keeper
	// mirrors are at work on its buckets; nil if it has none.
	mirrors *mirrors
	// lacks says what these lack at the end.
	lacks []string
	// bucketWarnings are what there is to say of them, as the watch of buckets last found it.
	bucketWarnings atomic.Pointer[[]string]
	// room is how full the volume is, as the watch last found it; nil until it has looked.
	room atomic.Pointer[client.Room]
	// contents are what takes room in the data directory, as the census last found it; nil before.
	contents atomic.Pointer[client.Contents]
	// swapped is what of it is swapped out, as the census last found it; nil for nothing.
	swapped atomic.Pointer[client.Swap]
	// countNow has the census take its next look at once.
	countNow chan struct{}
	// standing is how its archive stands, as the archivist last found it.
	standing atomic.Pointer[standing]
	// basing is held while a base backup is made.
	basing sync.Mutex
	tmpDir TmpDir // of proc, or of the start that failed
	// gate is what the server that starts is let go on by; nil for none.
	gate  *gate
	db    *sql.DB
	state instance.State
	// oom is what the kernel had killed for want of memory when the watch last looked, and before
	// that.
	oom, oomBefore host.OOM
	// answered says that a server of this supervisor has answered: it may have committed.
	answered bool
	replication
	membership
	// stoppedFor is why this supervisor shut its server down unasked, "" if it did not.
	stoppedFor string
	// killedFor is why this supervisor killed its server, "" if it did not.
	killedFor string
}

// ErrRunning says that the instance has a supervisor already.
var ErrRunning = errors.New("the instance is running already")

// Start takes the instance's lock, starts its server and returns once the server
// has answered a query. After an error nothing runs, and state.json tells why. store
// is that of the volume in which the instance lies.
func Start(ctx context.Context, i *instance.Instance, store *instance.Store, o Options) (_ *Supervisor, err error) {
	s := newSupervisor(i, store, o)
	s.lock, err = sys.TryLock(i.LockPath(), sys.Exclusive)
	if errors.Is(err, sys.ErrLocked) {
		return nil, ErrRunning
	}
	if err != nil {
		return nil, fmt.Errorf("start instance %s: %w", i.Name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.fail(ctx, err))
		}
	}()
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	// Only now: the user who rewound a stopped instance may want back what it held.
	if err := store.Tidy(ctx, &i.Record); err != nil {
		s.log.Error("cannot remove what was left half made", "error", err)
	}
	return s, nil
}

func newSupervisor(i *instance.Instance, store *instance.Store, o Options) *Supervisor {
	s := &Supervisor{
		inst: i, store: store, volume: store.Volume, meter: volume.NewMeter(store.Volume), log: o.Log, options: o,
		tasks: make(chan task), over: make(chan struct{}), countNow: make(chan struct{}, 1), endBeside: func() {},
	}
	s.handler = api.Handler(s, s.log)
	s.tellFollows()
	return s
}

// begin starts the server of an instance whose lock is held.
func (s *Supervisor) begin(ctx context.Context) error {
	i := s.inst
	if err := i.SignLock(); err != nil {
		s.log.Error("cannot say who holds the lock", "error", err) // a full volume: state.json says it too
	}
	if err := errors.Join(s.settleReplica(), s.settleSync(), s.openMembership()); err != nil {
		return err
	}
	if err := s.enter(instance.State{Phase: instance.Starting, SupervisorPID: os.Getpid()}); err != nil {
		return err
	}
	if err := errors.Join(s.openAPI(), s.openFront(ctx), s.openRemote(ctx)); err != nil {
		return fmt.Errorf("start instance %s: %w", i.Name, err)
	}
	if err := s.openArchive(ctx); err != nil {
		return fmt.Errorf("start instance %s: %w", i.Name, err)
	}
	if err := s.settleData(ctx); err != nil {
		return fmt.Errorf("start instance %s: %w", i.Name, err)
	}
	if err := s.startServer(ctx); err != nil {
		return fmt.Errorf("start instance %s: %w", i.Name, err)
	}
	s.answered = true
	if err := s.follow(ctx); err != nil {
		s.log.Error("cannot follow the source", "error", err) // the watch says what is wrong
	}
	if err := s.serveArchive(ctx); err != nil {
		return fmt.Errorf("start instance %s: %w", i.Name, err)
	}
	if err := s.joinCluster(ctx); err != nil {
		return fmt.Errorf("start instance %s: %w", i.Name, err)
	}
	if err := s.openPool(); err != nil {
		s.log.Error("templates and leases cannot be used", "error", err)
	}
	if err := i.Save(); err != nil { // the port may be a new one
		return err
	}
	s.state.Phase = instance.Running
	return s.enter(s.state)
}

// fail undoes a start. A server that was interrupted is stopped, not crashed: it
// did nothing yet.
func (s *Supervisor) fail(ctx context.Context, cause error) error {
	if s.proc != nil {
		s.proc.Kill()
	}
	phase := instance.Crashed
	if ctx.Err() != nil {
		phase = instance.Stopped
	}
	err := s.enter(instance.State{Phase: phase, Reason: cause.Error()})
	s.closePool()
	s.closeDB()
	return errors.Join(err, s.stopArchive(context.WithoutCancel(ctx), 0), s.closeTmpDir(), s.closeAPI(), s.closeFront(), s.closeRemote(), s.closeDoor(), s.lock.Unlock())
}

// Run watches the instance, and serves its API, until ctx ends or its server does. It
// may be called once.
func (s *Supervisor) Run(ctx context.Context) error {
	served := make(chan error, 1)
	serving, stop := context.WithCancel(ctx)
	go func() { served <- api.Serve(serving, s.listen, s, s.log) }()
	entered := make(chan error, 1)
	go func() { entered <- s.serveFront(serving, s.front) }()
	abroad := make(chan error, 1)
	go func() { abroad <- s.serveRemote(serving, s.remote) }()
	for at := s; at != nil; at = at.next.Load() {
		at.run(ctx)
	}
	stop()
	s.behind.Wait()
	return errors.Join(<-served, <-entered, <-abroad)
}

// run is Run for as long as the instance is in this volume.
func (s *Supervisor) run(ctx context.Context) {
	s.goBeside(ctx)
	s.look(ctx)
	close(s.over) // requests that wait for their turn are told
	s.endBeside()
	s.beside.Wait()
	if next := s.next.Load(); next != nil {
		next.behind.Go(s.behind.Wait)
		return
	}
	s.behind.Wait()
}

// goBeside does beside Run what takes time.
func (s *Supervisor) goBeside(ctx context.Context) {
	ctx, s.endBeside = context.WithCancel(ctx)
	s.beside.Go(func() { s.census(ctx) })
	if s.door != nil {
		s.beside.Go(func() { s.carryWords(ctx) })
		s.beside.Go(func() { s.askOthers(ctx) })
	}
	if s.keeper != nil {
		s.beside.Go(func() { s.keepArchive(ctx) })
	}
	if s.mirrors != nil {
		s.beside.Go(func() { s.watchBuckets(ctx) })
	}
}

// look does what is to be done while the server runs.
func (s *Supervisor) look(ctx context.Context) {
	w, b := &watch{Supervisor: s}, &brake{Supervisor: s, guard: guard{Supervisor: s}}
	now := time.Now()
	r := rounds{brakes: brakes(s.volume), brake: now.Add(brakeInterval), watch: now.Add(watchInterval)}
	timer := time.NewTimer(r.pause(now))
	defer timer.Stop()
	for !s.serverEnded() { // first of all: without a server there is nothing to do
		select {
		case <-ctx.Done():
			return
		case <-s.proc.Done():
			return
		case t := <-s.tasks:
			t.run(ctx)
		case <-s.alarm():
			w.tell()
		case now := <-timer.C:
			brake, watch := r.due(now)
			if brake {
				w.lookAtBrake(ctx, b)
				r.brake = time.Now().Add(b.pause)
			}
			if watch && !s.serverEnded() {
				r.watch = time.Now().Add(w.look(ctx))
				if w.rests(b) {
					r.rest(time.Now())
				}
			}
			w.read = nil
			timer.Reset(r.pause(time.Now()))
		}
	}
}

// Ended reports whether the server has ended. It is for the goroutine of Run, or for
// after it.
func (s *Supervisor) Ended() bool { return s.last().serverEnded() }

func (s *Supervisor) serverEnded() bool {
	select {
	case <-s.proc.Done():
		return true
	default:
		return false
	}
}

// Stop shuts the server down cleanly, if it still runs, notes how it ended, and
// lets go of the instance. When ctx ends the server is killed.
func (s *Supervisor) Stop(ctx context.Context) error {
	s = s.last()
	select {
	case <-s.proc.Done():
		return s.ended(ctx)
	default:
	}
	err := s.endServer(ctx)
	return errors.Join(err, s.ended(ctx))
}

// Kill ends the server at once, for an instance that goes with it. Its archive stays: buckets get what that has,
// within a time.
func (s *Supervisor) Kill() error {
	s = s.last()
	s.closePool()
	s.proc.Kill()
	s.closeDB()
	patience := removalPatience
	if s.inst.Passing { // of a run, whose machine may go with it
		patience = uploadPatience
	}
	return errors.Join(s.stopArchive(context.Background(), patience), s.closeTmpDir(), s.closeAPI(), s.closeFront(), s.closeRemote(), s.closeDoor(), s.lock.Unlock())
}

// Reason says after the end why the server was shut down unasked, "" if it was not.
func (s *Supervisor) Reason() string { return s.last().stoppedFor }

// Lacks says after the end what the buckets lack.
func (s *Supervisor) Lacks() []string { return s.last().lacks }

// ended notes how the server ended and lets go of the instance. Uploads are waited for, for a time, until ctx ends.
func (s *Supervisor) ended(ctx context.Context) error {
	st := instance.State{Phase: instance.Stopped, Reason: s.stoppedFor}
	if err := s.proc.Exit(); err != nil {
		st.Phase = instance.Crashed
		st.Reason = s.crashReason(err)
		if tail := server.LogTail(s.inst.LogPath()); tail != "" && !s.gone() && !strings.Contains(st.Reason, "\nhint: ") {
			st.Reason += "\n" + tail
		}
		s.log.Error(st.Reason)
	}
	s.closePool()
	s.closeDB()
	err := s.stopArchive(ctx, uploadPatience)
	st.Warnings = s.lacks
	if err != nil {
		s.log.Error("the archive lacks the end of the log", "error", err) // the next start archives it
	}
	return errors.Join(s.enter(st), s.closeTmpDir(), s.closeAPI(), s.closeFront(), s.closeRemote(), s.closeDoor(), s.lock.Unlock())
}

// crashReason is why the server ended, in the words of state.json.
func (s *Supervisor) crashReason(err error) string {
	if s.killedFor != "" {
		return s.killedFor
	}
	if oom := s.oomReason(err); oom != "" {
		return oom
	}
	return "the server died: " + server.Cause(err)
}

func (s *Supervisor) closeDB() {
	s.closeTraffic()
	if s.db != nil {
		// A connection to a server that is gone has an error to tell, and no news.
		_ = s.db.Close()
		s.db = nil
	}
}
