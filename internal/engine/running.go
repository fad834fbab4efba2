package engine

import (
	"context"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/supervisor"
)

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

// spawn starts the supervisor of an instance, which outlives this process.
func (e *Engine) spawn(ctx context.Context, i *instance.Instance) error {
	child, err := supervisor.Spawn(ctx, i, e.superviseArgv(i.Name))
	if err != nil {
		return err
	}
	// It is a child as long as both live, as beside ramaria ui: see that it is not left a zombie.
	go func() { _ = child.Wait() }()
	return nil
}
