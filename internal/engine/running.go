package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// awaitPause is the pause between two looks at an instance whose supervisor cannot be waited for.
const awaitPause = 50 * time.Millisecond

// NotRunningError says that an instance must run for a request but does not. Its value is the
// phase of the instance.
type NotRunningError instance.Phase

func (e NotRunningError) Error() string { return string(e) }

// Running returns a running instance. Errors match instance.ErrNotFound and NotRunningError.
func (e *Engine) Running(name string) (*instance.Instance, error) {
	i, err := e.Registry.Open(name)
	if err != nil {
		return nil, err
	}
	state, err := i.State()
	if err != nil {
		return nil, err
	}
	if state.Phase != instance.Running && i.Spec.Cluster != "" {
		return nil, fmt.Errorf("use instance %s: it is %w\nhint: ramaria cluster up %s", name, NotRunningError(state.Phase), i.Spec.Cluster)
	}
	if state.Phase != instance.Running {
		return nil, fmt.Errorf("use instance %s: it is %w\nhint: ramaria up %s", name, NotRunningError(state.Phase), name)
	}
	return i, nil
}

// Await waits until an instance no longer runs. The error says why, if nobody stopped it.
func (e *Engine) Await(ctx context.Context, name string) error {
	for {
		r, err := e.Registry.Get(name)
		if errors.Is(err, instance.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		state, err := r.State()
		switch {
		case err != nil:
			return err
		case state.Phase == instance.Crashed:
			return fmt.Errorf("wait for instance %s: it crashed: %s\nhint: ramaria logs %s", name, state.Reason, name)
		case !state.Phase.Alive():
			return nil
		}
		if err := awaitHolder(ctx, r.LockPath(), state.SupervisorPID); err != nil {
			return fmt.Errorf("wait for instance %s: %w", name, err)
		}
		// Who ended it may be about to start it again, as up --fresh does.
		lock, err := e.Registry.Lock(ctx, name, func() {})
		if err != nil {
			return err
		}
		if err := lock.Unlock(); err != nil {
			return err
		}
	}
}

// awaitHolder waits until the process that holds the lock of an instance ends. Where the number is not its number, or not
// yet, or that of another namespace, it waits a moment.
func awaitHolder(ctx context.Context, lock string, pid int) error {
	if p, err := sys.OpenProcess(pid); err == nil {
		defer p.Close()
		if sys.HasOpen(pid, lock) { // only now is the number certain to mean it
			return p.WaitExit(ctx)
		}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(awaitPause):
		return nil
	}
}
