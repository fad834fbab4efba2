package engine

import (
	"fmt"

	"github.com/ramaria-db/ramaria/internal/instance"
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
