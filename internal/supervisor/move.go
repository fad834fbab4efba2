package supervisor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/api"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

const (
	// moveRounds bounds the rounds in which the files are copied while the server works, and lessWork is how much less
	// a round must read than the one before for another to be worth it.
	moveRounds = 6
	lessWork   = 0.7
	// flushPatience bounds for how long a server writes its dirty pages out as fast as it can, beside its work, and
	// holdPatience, in seconds, for how long statements may keep it from holding its writes.
	flushPatience = 5 * time.Minute
	holdPatience  = 1
	// heldFlush is how long it may take to write out what is left while writes wait.
	heldFlush = 700 * time.Millisecond
	// fewPages are so few dirty pages that a recovery has little to do, and flushPoll is the pause between two looks.
	// With mostPages a recovery still takes less time (50 us a page) than a shutdown that writes them and another round
	// over the files that it has written.
	fewPages, mostPages = 2000, 8000
	flushPoll           = 5 * time.Millisecond
	// liveFlush is how long they are waited for while the server works.
	liveFlush = 3 * time.Second
)

// move is one move of the instance to another volume.
type move struct {
	*Supervisor
	spec  volume.Spec
	total int64
	// gone is not nil once nobody waits for the move any more.
	gone  func() error
	store *instance.Store
	to    *instance.Instance
	lock  *sys.FileLock // of the instance's directory there
	files *instance.Carriage
	copy  atomic.Pointer[instance.Carriage] // for those who ask how far it is

	cost client.Move
	// held says that writes wait, and clean that a kill costs less than a shutdown.
	held, clean bool
	// flushed is closed when no more pages are written out beforehand, which endFlush ends.
	flushed  chan struct{}
	endFlush context.CancelFunc
}

// Move implements api.Instance: the files are copied in rounds while the server works, then writes wait for the last
// of them, the server ends, what it wrote at its end is copied, the record says where the instance is, and a server
// starts there. Whatever fails before the record is written leaves the instance where it is.
func (s *Supervisor) Move(ctx context.Context, r client.MoveRequest) (client.Move, error) {
	spec, err := volume.ParseSpec(r.Volume)
	if err == nil && spec.Kind == volume.Auto {
		err = errors.New("to which volume is missing\nhint: --volume disk")
	}
	if err != nil {
		return client.Move{}, api.As(api.ErrInvalid, err)
	}
	if spec.Kind == s.volume.Kind() {
		return client.Move{Volume: string(spec.Kind)}, nil
	}
	if err := s.refuseMember("move"); err != nil {
		return client.Move{}, err
	}
	m := &move{Supervisor: s, spec: spec, gone: ctx.Err, endFlush: func() {}}
	if m.total, err = sys.DiskUsage(s.inst.Dir); err != nil {
		return client.Move{}, err
	}
	m.cost.DataBytes = m.total
	if s.promoting.Load() || s.joining.Load() {
		return client.Move{}, api.As(api.ErrBusy, fmt.Errorf("move instance %s: it is being promoted, or a replica of it is being made\nhint: try again", s.inst.Name))
	}
	if !s.moving.CompareAndSwap(nil, m) {
		return client.Move{}, s.refuseMoving("move")
	}
	defer s.moving.Store(nil)
	if !s.basing.TryLock() {
		return client.Move{}, api.As(api.ErrBusy, fmt.Errorf("move instance %s: a base backup of it is being made\nhint: try again when ramaria status %[1]s shows it", s.inst.Name))
	}
	defer s.basing.Unlock()
	began := time.Now()
	ctx, cancel := s.untilOver(ctx)
	defer cancel()
	if err := m.run(ctx); err != nil {
		if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), errEnding) {
			err = api.As(api.ErrUnavailable, errEnding)
		}
		return client.Move{}, fmt.Errorf("move instance %s to volume %s: %w", s.inst.Name, spec.Kind, err)
	}
	m.cost.Volume, m.cost.TotalMicros = string(spec.Kind), time.Since(began).Microseconds()
	s.last().log.Info("moved", "from", s.volume.Kind(), "to", spec.Kind, "data", volume.FormatBytes(m.cost.DataBytes),
		"held", time.Duration(m.cost.HeldMicros)*time.Microsecond, "pause", time.Duration(m.cost.PauseMicros)*time.Microsecond, "total", time.Since(began))
	return m.cost, nil
}

// untilOver returns a context that ends with Run too: what goes on beside it is in the way of the end.
func (s *Supervisor) untilOver(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-s.over:
			cancel(errEnding)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// refuseMoving refuses what cannot be done beside a move.
func (s *Supervisor) refuseMoving(what string) error {
	m := s.moving.Load()
	if m == nil {
		return nil
	}
	if m.gone() != nil {
		return api.As(api.ErrBusy, fmt.Errorf("%s instance %s: its move to volume %s was interrupted, and is about to end\nhint: try again", what, s.inst.Name, m.spec.Kind))
	}
	return api.As(api.ErrBusy, fmt.Errorf("%s instance %s: it is on its way to volume %s\nhint: ramaria status %[2]s shows when it is there", what, s.inst.Name, m.spec.Kind))
}

// movingNow is how far a move is, nil if there is none.
func (s *Supervisor) movingNow() *client.Moving {
	m := s.moving.Load()
	if m == nil {
		return nil
	}
	out := &client.Moving{Volume: string(m.spec.Kind), TotalBytes: m.total}
	if c := m.copy.Load(); c != nil {
		out.CopiedBytes = min(c.Read(), m.total)
	}
	return out
}

func (m *move) run(ctx context.Context) (err error) {
	if m.store, err = m.options.Store(ctx, m.spec); err != nil {
		return err
	}
	m.to = m.store.Moved(m.inst, m.spec)
	if err := volume.CheckRoom(m.store.Volume, m.total+instance.StartRoom, "instance "+m.inst.Name); err != nil {
		return err
	}
	if err := m.receive(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.leave(context.WithoutCancel(ctx))) }()
	if m.files, err = instance.Carry(m.inst, m.to); err != nil {
		return err
	}
	m.copy.Store(m.files)
	defer m.stopFlush()
	if err := m.copyLive(ctx); err != nil {
		return err
	}
	name, err := m.lockOwnName(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, name.release()) }()
	if err := m.do(ctx, m.handOver); err != nil {
		return err
	}
	return m.store.Registry.Put(&m.to.Record)
}

// receive makes the directory there, and takes its lock.
func (m *move) receive(ctx context.Context) (err error) {
	name, err := m.lockOwnName(ctx)
	if err != nil {
		return err
	}
	m.lock, err = m.store.Receive(ctx, m.to)
	return errors.Join(err, name.release())
}

// heldName is the lock of the instance's name, or that this process holds it anyway.
type heldName struct{ lock *sys.FileLock }

func (h heldName) release() error {
	if h.lock == nil {
		return nil
	}
	return h.lock.Unlock()
}

// lockOwnName keeps other commands from the instance. The process of a ramaria run holds its name all the time.
func (m *move) lockOwnName(ctx context.Context) (heldName, error) {
	if m.inst.Passing {
		return heldName{}, nil
	}
	lock, err := m.lockName(ctx, m.inst.Name)
	return heldName{lock}, err
}

// leave removes what is of the instance where it is not, and lets go of the lock there.
func (m *move) leave(ctx context.Context) error {
	store, lock := m.store, m.lock
	r := m.last().inst.Record
	if r.Dir == m.to.Dir {
		store, lock = m.Supervisor.store, m.Supervisor.lock
	}
	if err := store.Leave(ctx, &r); err != nil {
		return errors.Join(err, lock.Unlock())
	}
	return lock.Unlock()
}

// copyLive copies the files while the server works, until what is left is little.
func (m *move) copyLive(ctx context.Context) error {
	last := int64(0)
	for round := range moveRounds {
		if round == 1 {
			m.flush(ctx)
		}
		before := m.files.Read()
		if err := m.files.Round(ctx); err != nil {
			return err
		}
		read := m.files.Read() - before
		if round > 0 && float64(read) > lessWork*float64(last) {
			break
		}
		last = read
	}
	// What is not on a disk yet would have to go there during the pause, and what is dirty would have to be written out.
	if err := sys.SyncFS(m.to.Dir); err != nil {
		return err
	}
	db, err := dbconn.Open(m.inst.Socket(), m.inst.Supervisor, "")
	if err != nil {
		return err
	}
	m.awaitFlush(ctx, db, fewPages, liveFlush)
	return db.Close()
}

// flush has the server write dirty pages out as fast as it can, from now on until none is left, which takes until writes
// wait: what is dirty at its end costs time. Its answer is how many are left.
func (m *move) flush(ctx context.Context) {
	ctx, m.endFlush = context.WithCancel(ctx)
	m.flushed = make(chan struct{})
	m.behind.Go(func() {
		defer close(m.flushed)
		db, err := dbconn.Open(m.inst.Socket(), m.inst.Supervisor, "")
		if err == nil {
			_, err = dbconn.FlushPages(ctx, db, 0, flushPatience, nil)
			err = errors.Join(err, db.Close())
		}
		if err != nil && ctx.Err() == nil {
			m.log.Warn("cannot write dirty pages out before a move", "error", err)
		}
	})
}

// stopFlush ends the writing of dirty pages, and waits until all is set as it was before.
func (m *move) stopFlush() {
	m.endFlush()
	if m.flushed != nil {
		<-m.flushed
	}
}

// awaitFlush waits until few pages are dirty, for some time, and returns how many are; -1 if that cannot be told.
func (m *move) awaitFlush(ctx context.Context, db *sql.DB, few int64, patience time.Duration) int64 {
	for began := time.Now(); ; {
		left, _, err := dbconn.DirtyPages(ctx, db)
		if err != nil {
			m.log.Warn("cannot ask for dirty pages before a move", "error", err)
			return -1
		}
		if left <= few || time.Since(began) > patience || ctx.Err() != nil {
			return left
		}
		select {
		case <-m.flushed:
			return left
		case <-time.After(flushPoll):
		}
	}
}

// handOver ends the server, and starts it where the instance moves to. It is for the goroutine of Run, whose context
// life is. After an error the server runs where it was, as it did or again, or has ended.
func (m *move) handOver(ctx, life context.Context) error {
	held := time.Now()
	release, err := m.hold(ctx)
	if err == nil {
		m.files.Settled()
		err = m.files.Round(ctx)
	}
	if err == nil {
		err = volume.CheckRoom(m.store.Volume, instance.StartRoom, "instance "+m.inst.Name)
	}
	if err == nil {
		err = ctx.Err()
	}
	before := m.state
	if err == nil {
		st := before
		st.Phase = instance.Starting
		err = m.enter(st)
	}
	if err != nil {
		m.state = before // the watch writes it again
		release()
		return err
	}
	began := time.Now()
	pausing := make(chan struct{})
	m.pausing.Store(&pausing)
	defer close(pausing)
	defer m.pausing.Store(nil)
	m.cost.HeldMicros = began.Sub(held).Microseconds()
	if err := m.end(life); err != nil {
		return m.goBack(life, err)
	}
	// From here on not the request's context: the server has ended.
	if err := m.files.Last(life); err != nil {
		return m.goBack(life, err)
	}
	if m.to.LogsBegun = m.inst.LogsBegun; m.inst.Source != nil { // what has changed since the move began
		m.to.Source = m.inst.Source
	}
	if err := m.to.Save(); err != nil {
		return m.goBack(life, err)
	}
	if err := m.store.Registry.PutSoon(&m.to.Record); err != nil {
		return m.goBack(life, err)
	}
	if err := m.succeed(life, m.to, m.store, m.lock); err != nil {
		if m.next.Load() != nil {
			return err
		}
		return m.goBack(life, errors.Join(err, m.store.Registry.Put(&m.inst.Record)))
	}
	m.cost.PauseMicros = time.Since(began).Microseconds()
	if err := m.closeTmpDir(); err != nil {
		m.log.Warn("cannot give back what temporary files took", "error", err)
	}
	if err := sys.Redirect(m.inst.SupervisorLog(), m.to.SupervisorLog()); err != nil {
		m.log.Warn("the supervisor's log stays where it was", "error", err)
	}
	return nil
}

// hold has the writes of applications wait, and what the server holds be in its files. release takes it back.
func (m *move) hold(ctx context.Context) (release func(), err error) {
	undo := func(string) {}
	release = func() { undo("UNLOCK TABLES"); undo("SET SESSION lock_wait_timeout = DEFAULT") }
	undo = func(statement string) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), watchInterval)
		defer cancel()
		if _, err := m.db.ExecContext(limited, statement); err != nil {
			m.log.Warn("cannot take back what was done before a move", "statement", statement, "error", err)
		}
	}
	if _, err := m.db.ExecContext(ctx, fmt.Sprintf("SET SESSION lock_wait_timeout = %d", holdPatience)); err != nil {
		return release, err
	}
	if m.keeper != nil {
		m.held = m.settleArchive(ctx)
		if !m.held && m.fenced() {
			return release, api.As(api.ErrBusy, fmt.Errorf("a statement waits for a base backup\nhint: try again when ramaria status %s shows none that waits", m.inst.Name))
		}
		if !m.held {
			return release, errors.Join(errors.New("its log cannot be archived now"), m.keeper.Trouble())
		}
	} else if err := m.holdWrites(ctx); err != nil && m.inst.WaitsFor != "" {
		return release, fmt.Errorf("commits wait for replica %s: %w", m.inst.WaitsFor, err)
	} else if err != nil {
		m.log.Warn("statements that run keep the server from holding writes before it moves: it is shut down", "error", err)
	} else {
		m.held = true
	}
	checkpoint := false
	if setting, low := m.inst.Server.Checkpoint(); setting != "" {
		var was string
		if err := m.db.QueryRowContext(ctx, "SELECT @@GLOBAL."+setting).Scan(&was); err == nil {
			_, err := m.db.ExecContext(ctx, "SET GLOBAL "+setting+" = "+low)
			checkpoint = err == nil
			if err != nil {
				m.log.Warn("cannot have the server write a checkpoint before it moves", "error", err)
			}
			before := release
			release = func() { undo("SET GLOBAL " + setting + " = " + was); before() }
		}
	}
	m.flushLog(ctx)
	few := int64(fewPages)
	if checkpoint {
		few = 0 // it goes on until then, whatever is set, and what it writes would be read once more
	}
	left := m.awaitFlush(ctx, m.db, few, heldFlush)
	m.clean = checkpoint || left >= 0 && left <= mostPages
	m.stopFlush()
	return release, ctx.Err()
}
