package engine

import (
	"context"
	"errors"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/pool"
)

// RewindRequest asks to put an instance back to a mark.
type RewindRequest struct{ Name, Label string }

// Rewound describes an instance that was put back to a mark.
type Rewound struct {
	Instance *instance.Instance
	// Ran says that the instance was running before. It runs now in any case.
	Ran  bool
	Took time.Duration
}

// Rewind puts an instance back to a mark, and starts the instance if it does not run. If it
// runs, errors are those of client.Client.Rewind. Otherwise they match instance.ErrNotFound,
// instance.ErrNoMark or, for an invalid label, RequestError.
func (e *Engine) Rewind(ctx context.Context, q RewindRequest) (out Rewound, err error) {
	if err := instance.CheckLabel(q.Label); err != nil {
		return Rewound{}, RequestError{err}
	}
	if err := e.refuseMemberNamed("rewind", q.Name); err != nil {
		return Rewound{}, err
	}
	if err := e.refuseFollowed("rewind", q.Name); err != nil {
		return Rewound{}, err
	}
	err = e.onlineOrOffline(ctx, q.Name, "rewind", func(c *client.Client) error {
		r, err := c.Rewind(ctx, q.Label)
		out = Rewound{Ran: true, Took: micros(r.Micros)}
		return err
	}, func(i *instance.Instance, s *instance.Store) error {
		began := time.Now()
		err := e.rewindStopped(ctx, i, s, q.Label)
		out = Rewound{Took: time.Since(began)}
		return err
	})
	if err != nil {
		return Rewound{}, err
	}
	out.Instance, err = e.Registry.Open(q.Name)
	return out, err
}

// rewindStopped puts back an instance that does not run, whose name is locked, and starts it.
func (e *Engine) rewindStopped(ctx context.Context, i *instance.Instance, s *instance.Store, label string) error {
	before, err := i.State()
	if err != nil {
		return err
	}
	mark, err := i.ReadMark(label)
	if err != nil {
		return err
	}
	old, err := s.Rewind(ctx, &i.Record, label, func() error { return nil })
	if err != nil {
		return err
	}
	clean := context.WithoutCancel(ctx)
	undo, err := pool.Rewound(i.PoolPath(), i.DataDir(), &mark)
	if err == nil {
		err = i.SaveState(instance.State{Phase: instance.Stopped, Since: time.Now()})
	}
	if err == nil {
		err = e.start(ctx, i, false)
	}
	if err != nil {
		if uerr := errors.Join(s.Unwind(clean, &i.Record, old), i.SaveState(before), undo()); uerr != nil {
			return errors.Join(err, uerr)
		}
		e.note("instance %s has the data it had before", i.Name)
		return err
	}
	return s.Discard(clean, old)
}
