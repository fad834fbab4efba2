package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// beforeSupervisor is how long to wait for a supervisor to say which process it is.
const beforeSupervisor = 50 * time.Millisecond

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
		if err := awaitProcess(ctx, state.SupervisorPID); err != nil {
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

// awaitProcess waits until a process ends, or, before there is a number to wait for, a moment.
func awaitProcess(ctx context.Context, pid int) error {
	if pid == 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(beforeSupervisor):
			return nil
		}
	}
	p, err := sys.OpenProcess(pid)
	if errors.Is(err, sys.ErrNoProcess) {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.Close()
	return p.WaitExit(ctx)
}
