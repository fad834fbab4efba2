package engine

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// DownRequest asks to stop an instance.
type DownRequest struct {
	Name string
	// Remove says to remove the instance as well, with its data, and Archive to remove the archive of a
	// durable one, which stays otherwise.
	Remove, Archive bool
}

// Down stops an instance, and removes it if the request says so.
func (e *Engine) Down(ctx context.Context, q DownRequest) error {
	if r, err := e.Registry.Get(q.Name); err == nil && q.Remove && e.hasCluster(r.Spec.Cluster) {
		if err := e.refuseMember("remove", r, fmt.Sprintf("ramaria cluster rm %s removes all of it; ramaria cluster replace %[1]s %s makes the member again", r.Spec.Cluster, r.Name)); err != nil {
			return err
		}
	}
	return e.down(ctx, q)
}

func (e *Engine) down(ctx context.Context, q DownRequest) error {
	if r, err := e.Registry.Get(q.Name); err != nil {
		return err
	} else if r.Passing {
		return fmt.Errorf("stop instance %s: it belongs to a `ramaria run`\nhint: end that command", q.Name)
	}
	lock, err := e.lockName(ctx, q.Name)
	if err != nil {
		return err
	}
	r, err := e.Registry.Get(q.Name)
	if err == nil && q.Remove {
		err = e.refuseAdopted("remove", q.Name)
	}
	if err == nil && q.Remove {
		if err = errors.Join(e.remove(ctx, r), e.removeService(ctx, q.Name)); err == nil {
			return errors.Join(e.leaveArchive(ctx, r, q.Archive), lock.UnlockRemove())
		}
	} else if err == nil {
		if err = errors.Join(e.stop(ctx, r), e.stopService(ctx, q.Name)); err == nil {
			e.noteLacks(r)
		}
	}
	return errors.Join(err, lock.Unlock())
}

// lockName locks the name of an instance, and tells if that takes waiting.
func (e *Engine) lockName(ctx context.Context, name string) (*sys.FileLock, error) {
	return e.Registry.Lock(ctx, name, func() { e.note("waiting: another command is at work on instance %s", name) })
}

// remove stops an instance and removes it. Its data is not wanted any more, so
// the server is not given the time to shut down.
func (e *Engine) remove(ctx context.Context, r *instance.Record) error {
	v, err := e.volumeOf(ctx, r)
	if err != nil {
		return err
	}
	if err := e.signal(ctx, r, syscall.SIGQUIT); err != nil {
		return err
	}
	return e.instances(v).Remove(ctx, r)
}

// noteLacks says after a stop what its archive, or a bucket, has not.
func (e *Engine) noteLacks(r *instance.Record) {
	state, err := r.State()
	if err != nil || state.Phase.Alive() {
		return
	}
	for _, w := range state.Warnings {
		e.note("warning: %s", w)
	}
}

// leaveArchive says what became of the archive of an instance that was removed.
func (e *Engine) leaveArchive(ctx context.Context, r *instance.Record, remove bool) error {
	defer e.leaveBuckets(r)
	dir := e.archiveDir(r.Name, r.Spec)
	if dir == "" || !durable.Exists(dir) {
		return nil
	}
	size, err := sys.DiskUsage(dir)
	if err != nil {
		return err
	}
	if !remove {
		e.note("the archive of instance %s stays in %s (%s)\nhint: ramaria restore %s --as %s --durable brings the instance back; rm -r %s removes the archive",
			r.Name, dir, volume.FormatBytes(size), server.ShellWord(dir), r.Name, server.ShellWord(dir))
		return nil
	}
	if err := durable.Remove(ctx, dir); err != nil {
		return err
	}
	e.note("removed the archive of instance %s in %s (%s)", r.Name, dir, volume.FormatBytes(size))
	return nil
}

// clear is remove, but its record stays: the instance is made again, or tried to be.
func (e *Engine) clear(ctx context.Context, r *instance.Record) error {
	v, err := e.volumeOf(ctx, r)
	if err != nil {
		return err
	}
	if err := e.signal(ctx, r, syscall.SIGQUIT); err != nil {
		return err
	}
	return e.instances(v).Clear(ctx, r)
}

// stop lets the supervisor shut its server down cleanly, and waits.
func (e *Engine) stop(ctx context.Context, r *instance.Record) error {
	return e.signal(ctx, r, syscall.SIGTERM)
}

// signal sends a signal to the supervisor of an instance, if there is one, and
// waits until it is gone.
func (e *Engine) signal(ctx context.Context, r *instance.Record, s syscall.Signal) error {
	state, err := r.State()
	if err != nil || !state.Phase.Alive() {
		return err
	}
	if state.SupervisorPID == 0 {
		return fmt.Errorf("stop instance %s: its supervisor lives, but has not said which process it is\nhint: try again; else fuser %s names it", r.Name, r.LockPath())
	}
	return endHolder(ctx, r.Name, r.LockPath(), state.SupervisorPID, s)
}

// endHolder sends a signal to the process that holds the lock of an instance, of which
// only a number is known, and waits until it is gone.
func endHolder(ctx context.Context, name, lock string, pid int, s syscall.Signal) error {
	p, err := sys.OpenProcess(pid)
	if err != nil && !errors.Is(err, sys.ErrNoProcess) {
		return err
	}
	if err == nil {
		defer p.Close()
	}
	if held, err := sys.Held(lock); err != nil || !held {
		return err
	}
	// Only now is the number certain to mean the process that holds the lock, if it is one
	// of this namespace.
	if err != nil || !sys.HasOpen(pid, lock) {
		if held, err := sys.Held(lock); err != nil || !held { // it has just ended
			return err
		}
		return fmt.Errorf("stop instance %s: its supervisor runs where it cannot be reached from here, as in another container\nhint: ramaria down %s there", name, name)
	}
	if err := p.Signal(s); err != nil && !errors.Is(err, sys.ErrNoProcess) {
		return fmt.Errorf("stop instance %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, server.StopTimeout)
	defer cancel()
	if err := waitGone(ctx, p, pid, lock); err != nil {
		return fmt.Errorf("stop instance %s: %w", name, err)
	}
	return nil
}

// lockPoll is how often it is looked whether a supervisor has let go of its instance.
const lockPoll = 500 * time.Millisecond

// waitGone waits until a supervisor has ended. One that has let go of its instance and is on its way out touches nothing any
// more, and is not waited for: where one of its threads writes to a disk that does not answer, no signal ends that.
func waitGone(ctx context.Context, p *sys.Process, pid int, lock string) error {
	for {
		limited, cancel := context.WithTimeout(ctx, lockPoll)
		err := p.WaitExit(limited)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil { // the end of limited may have come first
			return fmt.Errorf("wait for process %d: %w", pid, ctx.Err())
		}
		if held, err := sys.Held(lock); err != nil || !held && sys.Exiting(pid) {
			return err
		}
	}
}
