package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// BranchRequest asks for a new instance on the data that another one has now.
type BranchRequest struct {
	Name string // of the parent
	New  string
}

// Branched tells of a new branch.
type Branched struct {
	URL string
	// Ran says that the parent runs. Ready is then how long it took until the branch answered, and
	// Pause for how long the parent stood still.
	Ran          bool
	Ready, Pause time.Duration
}

// Branch starts a new instance on the data that another one has now, running or not.
func (e *Engine) Branch(ctx context.Context, q BranchRequest) (out Branched, err error) {
	if err := instance.CheckNew(q.New); err != nil {
		return Branched{}, RequestError{err}
	}
	err = e.atInstance(ctx, q.Name, "branch", func(c *client.Client) error {
		if i, err := e.Registry.Open(q.Name); err == nil && i.Server.Daemon.Missing() != "" {
			return fmt.Errorf("branch %s: its server runs, but %s is not there any more, for another one to start\nhint: ramaria down %s, and ramaria up %s, which finds another server and keeps the data",
				q.Name, i.Server.Daemon.Missing(), q.Name, q.Name)
		}
		if err := e.tellPause(ctx, c); err != nil {
			return err
		}
		b, err := c.Branch(ctx, client.BranchRequest{Name: q.New})
		if err != nil {
			return err
		}
		out = Branched{URL: b.Endpoint.URL, Ran: true, Ready: micros(b.ReadyMicros), Pause: micros(b.Snapshot.PauseMicros)}
		return nil
	}, func(parent *instance.Instance, s *instance.Store) error {
		i, err := e.branchStopped(ctx, parent, s, q.New)
		if err == nil {
			out = Branched{URL: i.Endpoint.URL()}
		}
		return err
	})
	return out, err
}

// micros is a time that the API gives.
func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// branchStopped branches an instance that does not run, whose name is locked.
func (e *Engine) branchStopped(ctx context.Context, parent *instance.Instance, s *instance.Store, name string) (*instance.Instance, error) {
	// Before waiting for the lock, which is held if name is the parent's own.
	if _, err := e.Registry.Get(name); !errors.Is(err, instance.ErrNotFound) {
		return nil, errors.Join(instance.TakenError(name), err)
	}
	lock, err := e.lockName(ctx, name)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	if _, err := e.Registry.Get(name); !errors.Is(err, instance.ErrNotFound) {
		return nil, errors.Join(instance.TakenError(name), err)
	}
	i, err := s.Branch(ctx, parent, name, volume.How{}, func(i *instance.Instance) error {
		return pool.Inherit(parent.PoolPath(), i.PoolPath())
	})
	if err == nil {
		err = e.start(ctx, i, true)
	}
	if err != nil {
		return nil, errors.Join(err, lock.UnlockRemove()) // nobody waits for a name that came to nothing
	}
	return e.Registry.Open(name)
}
