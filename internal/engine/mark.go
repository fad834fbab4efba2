package engine

import (
	"context"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// MarkRequest asks to keep the data that an instance has now under a label.
type MarkRequest struct {
	Name, Label string
	// Replace replaces a mark with that label.
	Replace bool
}

// Marked describes a new mark.
type Marked struct {
	// Ran says that the instance was running. Took is then the time of the whole request, and
	// Pause how long the instance was paused.
	Ran         bool
	Took, Pause time.Duration
}

// Mark keeps the data that an instance has now under a label, whether the instance runs or not.
// If it runs, errors are those of client.Client.Mark. Otherwise they match
// instance.ErrNotFound, instance.ErrMarkExists or, for an invalid label, RequestError.
func (e *Engine) Mark(ctx context.Context, q MarkRequest) (out Marked, err error) {
	if err := instance.CheckLabel(q.Label); err != nil {
		return Marked{}, RequestError{err}
	}
	err = e.onlineOrOffline(ctx, q.Name, "mark", func(c *client.Client) error {
		if err := e.notePause(ctx, c); err != nil {
			return err
		}
		m, err := c.Mark(ctx, client.MarkRequest{Label: q.Label, Replace: q.Replace})
		if err != nil {
			return err
		}
		out = Marked{Ran: true, Took: micros(m.Snapshot.TotalMicros), Pause: micros(m.Snapshot.PauseMicros)}
		return nil
	}, func(i *instance.Instance, s *instance.Store) error {
		if err := s.Tidy(ctx, &i.Record); err != nil {
			return err
		}
		_, err := s.Mark(ctx, &i.Record, q.Label, q.Replace, volume.How{})
		return err
	})
	return out, err
}

// Marks returns the marks of an instance, the oldest first.
func (e *Engine) Marks(name string) ([]instance.Mark, error) {
	r, err := e.Registry.Get(name)
	if err != nil {
		return nil, err
	}
	return r.Marks()
}

// Unmark removes a mark of an instance, whether the instance runs or not. If it runs, errors
// are those of client.Client.DeleteMark. Otherwise they match instance.ErrNotFound or
// instance.ErrNoMark.
func (e *Engine) Unmark(ctx context.Context, name, label string) error {
	if err := instance.CheckLabel(label); err != nil {
		return RequestError{err}
	}
	return e.deleteMark(ctx, name, label)
}

// deleteMark is Unmark with a label of ours.
func (e *Engine) deleteMark(ctx context.Context, name, label string) error {
	return e.onlineOrOffline(ctx, name, "unmark", func(c *client.Client) error { return c.DeleteMark(ctx, label) },
		func(i *instance.Instance, s *instance.Store) error { return s.DeleteMark(ctx, &i.Record, label) })
}
