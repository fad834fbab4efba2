package supervisor

import (
	"context"
	"errors"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// end ends the server, and what goes on beside it.
func (m *move) end(life context.Context) error {
	m.endBeside()
	m.beside.Wait()
	m.closePool()
	var err error
	if m.held && m.clean && !m.confused() { // no table is open, and the log has all: nothing is lost
		m.proc.Kill()
	} else {
		err = m.shutDown(life)
	}
	m.closeDB()
	return errors.Join(err, m.stopArchive(life, 0))
}

// confused reports whether its server may take a kill otherwise than its log has it.
func (m *move) confused() bool {
	is, err := durable.Confused(m.inst)
	return is || err != nil
}

// succeed starts a supervisor of the instance as i says it, under a lock that is held, and has it follow this one. After
// an error this one is as it was, unless the server has answered there already: then it may have committed, and there
// is no way back; that server has ended, and the instance is there.
func (s *Supervisor) succeed(life context.Context, i *instance.Instance, store *instance.Store, lock *sys.FileLock) error {
	n := newSupervisor(i, store, s.options)
	n.lock, n.listen, n.front, n.remote, s.listen, s.front, s.remote = lock, s.listen, s.front, s.remote, nil, nil, nil
	n.distrusted.Store(s.distrusted.Load())
	err := n.begin(life)
	if err != nil && !n.answered {
		if n.proc != nil {
			n.proc.Kill()
		}
		n.closePool()
		n.closeDB()
		s.listen, s.front, s.remote = n.listen, n.front, n.remote
		return errors.Join(err, n.stopArchive(context.WithoutCancel(life), 0), n.closeTmpDir())
	}
	n.counters.branches.Store(s.counters.branches.Load())
	n.counters.marks.Store(s.counters.marks.Load())
	n.counters.rewinds.Store(s.counters.rewinds.Load())
	n.counters.bases.Store(s.counters.bases.Load())
	if err != nil {
		n.killedFor = err.Error()
		n.proc.Kill()
	}
	s.next.Store(n)
	return err
}

// goBack starts the server again where it was.
func (m *move) goBack(life context.Context, cause error) error {
	s := m.Supervisor
	if life.Err() != nil {
		if !s.serverEnded() {
			return cause // Stop shuts it down
		}
		s.killedFor = "it was told to end while it was moved: its server recovers at its next start"
		return cause
	}
	if !s.serverEnded() {
		s.proc.Kill()
	}
	s.closeDB()
	if err := s.closeTmpDir(); err != nil {
		s.log.Warn("cannot give back what temporary files took", "error", err)
	}
	if err := s.succeed(life, s.inst, s.store, s.lock); err != nil {
		s.killedFor = cause.Error()
		return errors.Join(cause, fmt.Errorf("start it where it was: %w", err))
	}
	return fmt.Errorf("%w\nhint: instance %s runs on where it was", cause, s.inst.Name)
}

// holdWrites has writes wait. MariaDB waits for its appliers without a limit, and they may wait for a lock.
func (m *move) holdWrites(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, orderWithin)
	defer cancel()
	return m.exec(ctx, "FLUSH TABLES WITH READ LOCK")
}
