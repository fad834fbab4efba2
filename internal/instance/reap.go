package instance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// ConfigArg is the argument by which a server process is known to be that of the
// instance: no other command starts one with it.
func (r *Record) ConfigArg() string { return "--defaults-file=" + r.ConfigPath() }

// PoolPath is the file with the instance's templates and leases.
func (r *Record) PoolPath() string { return filepath.Join(r.Dir, "pool.json") }

// ConfigPath is the server's option file.
func (r *Record) ConfigPath() string { return filepath.Join(r.RunDir, "my.cnf") }

// Reap cleans up after the supervisor of r when that was killed: the server, if it
// outlived it, is killed; a passing instance is removed; any other is noted as
// crashed. It does nothing, and takes no time, for all other instances.
func (s *Store) Reap(ctx context.Context, r *Record) error {
	state, err := r.State()
	if err != nil || state.Phase.Alive() {
		return err
	}
	if !r.Passing && state.Phase != Crashed {
		return nil
	}
	lock, err := sys.TryLock(filepath.Join(s.Registry.Dir, r.Name+".lock"), sys.Exclusive)
	if errors.Is(err, sys.ErrLocked) {
		return nil // some command is at it
	}
	if err != nil {
		return fmt.Errorf("reap instance %s: %w", r.Name, err)
	}
	if err := s.reap(ctx, r); err != nil {
		return errors.Join(fmt.Errorf("reap instance %s: %w", r.Name, err), lock.Unlock())
	}
	if r.Passing {
		return lock.UnlockRemove()
	}
	return lock.Unlock()
}

func (s *Store) reap(ctx context.Context, r *Record) error {
	// Under the lock things may have changed.
	if _, err := s.Registry.Get(r.Name); errors.Is(err, ErrNotFound) {
		return nil
	}
	state, err := r.State()
	if err != nil || state.Phase.Alive() {
		return err
	}
	if err := killOrphan(ctx, state.ServerPID, r.ConfigArg()); err != nil {
		return err
	}
	if r.Passing {
		return s.Remove(ctx, r)
	}
	var saved State
	err = ReadJSON(r.statePath(), &saved)
	if err != nil && !errors.Is(err, errDamaged) || err == nil && saved.Phase == state.Phase {
		return err
	}
	state.Since = time.Now()
	return r.SaveState(state)
}

// exitTime is how long an exiting process may take to let go of its memory.
const exitTime = 10 * time.Second

// killOrphan ends the server process pid if it still runs and is the one that was
// started with arg. One that is ending already is waited for: its port is taken and its
// files are in use until the end.
func killOrphan(ctx context.Context, pid int, arg string) error {
	if pid == 0 {
		return nil
	}
	p, err := sys.OpenProcess(pid)
	if errors.Is(err, sys.ErrNoProcess) {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.Close()
	// Asked only now: the number may have been given to another process before.
	switch {
	case sys.HasArg(pid, arg):
		if err := p.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, sys.ErrNoProcess) {
			return err
		}
		return p.WaitExit(ctx)
	case sys.Exiting(pid):
		// Most likely the server. If it is not, nothing is lost but a moment.
		short, cancel := context.WithTimeout(ctx, exitTime)
		defer cancel()
		if err := p.WaitExit(short); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// Sweep removes directories in the volume that no record knows: what commands
// that were killed in the middle of making an instance left.
func (s *Store) Sweep(ctx context.Context) error {
	entries, err := os.ReadDir(filepath.Join(s.Volume.Dir(), "instances"))
	if missing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep instances: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if CheckName(e.Name()) != nil {
			continue
		}
		if _, err := s.Registry.Get(e.Name()); !errors.Is(err, ErrNotFound) {
			continue
		}
		lockPath := filepath.Join(s.Registry.Dir, e.Name()+".lock")
		lock, err := sys.TryLock(lockPath, sys.Exclusive)
		if err != nil {
			continue // being made just now
		}
		if errors.Is(checkFree(s.dir(e.Name())), ErrHeld) {
			errs = append(errs, lock.UnlockRemove())
			continue // its record was lost, not its server
		}
		if _, err := s.Registry.Get(e.Name()); errors.Is(err, ErrNotFound) {
			errs = append(errs, s.sweepDir(ctx, s.dir(e.Name())))
		}
		errs = append(errs, lock.UnlockRemove())
	}
	return errors.Join(errs...)
}

// sweepDir removes what there is of an instance that no record knows.
func (s *Store) sweepDir(ctx context.Context, dir string) error {
	err := s.Volume.Remove(ctx, dir)
	if run := s.Registry.runDir(dir, s.UID); filepath.Dir(run) != dir {
		err = errors.Join(err, s.removeOwn(run))
	}
	return err
}
