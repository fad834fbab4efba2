package engine

import (
	"context"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/supervisor"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// BranchRequest asks for a new instance, New, with the data that the instance Name has now.
type BranchRequest struct {
	Name string // of the parent
	New  string
}

// Branched describes a new branch.
type Branched struct {
	URL string
	// Ran says that the parent was running. Ready is then the time until the branch answered,
	// and Pause how long the parent was paused.
	Ran          bool
	Ready, Pause time.Duration
}

// Branch starts a new instance with the data that another one has now, whether that one runs or
// not. If it runs, errors are those of client.Client.Branch. Otherwise they match
// instance.ErrNotFound, instance.ErrTaken or, for an invalid name, RequestError.
func (e *Engine) Branch(ctx context.Context, q BranchRequest) (out Branched, err error) {
	if err := instance.CheckNew(q.New); err != nil {
		return Branched{}, RequestError{err}
	}
	err = e.onlineOrOffline(ctx, q.Name, "branch", func(c *client.Client) error {
		if err := e.notePause(ctx, c); err != nil {
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
	return supervisor.Branching{
		Store: s, Parent: parent, Lock: e.lockName,
		Copy: func(ctx context.Context, _ string, take func(context.Context, volume.How) error) error {
			return take(ctx, volume.How{})
		},
		Start: func(ctx context.Context, i *instance.Instance) error {
			if err := e.ensureServer(ctx, i); err != nil {
				return err
			}
			return e.spawn(ctx, i)
		},
	}.Branch(ctx, name)
}
