package engine

import (
	"fmt"

	"github.com/ramaria-db/ramaria/internal/instance"
)

// NotRunningError is the phase of an instance that must run for what was asked.
type NotRunningError instance.Phase

func (e NotRunningError) Error() string { return string(e) }

// Running returns an instance that runs.
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
