package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// atInstance calls running with the API of an instance that runs, or stopped
// with the files of one that does not, while no other command is at work on it. verb
// says what is to be done.
func (e *Engine) atInstance(ctx context.Context, name, verb string, running func(*client.Client) error, stopped func(*instance.Instance, *instance.Store) error) error {
	i, err := e.Registry.Open(name)
	if err != nil {
		return err
	}
	state, err := i.State()
	if err != nil {
		return err
	}
	if state.Phase == instance.Running || state.Phase == instance.Starting {
		err := running(client.New(i.APISocket()))
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("%s instance %s: interrupted: %w", verb, name, ctx.Err())
		}
		if !errors.Is(err, client.ErrNoServer) {
			return err
		}
	}
	lock, err := e.lockName(ctx, name)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	// Under the lock things may have changed.
	if i, err = e.Registry.Open(name); err != nil {
		return err
	}
	if state, err = i.State(); err != nil {
		return err
	}
	if state.Phase.Alive() {
		if err := running(client.New(i.APISocket())); err != nil {
			return fmt.Errorf("%s instance %s: %w", verb, name, err)
		}
		return nil
	}
	v, err := e.volumeOf(ctx, &i.Record)
	if err != nil {
		return err
	}
	return stopped(i, e.instances(v))
}

// longPause is from when on an expected pause is told beforehand.
const longPause = 100 * time.Millisecond

// tellPause says for how long the server of an instance will be paused, if
// that is worth knowing.
func (e *Engine) tellPause(ctx context.Context, c *client.Client) error {
	s, err := c.Status(ctx)
	if err != nil {
		return err
	}
	expected := time.Duration(s.Snapshot.ExpectedPauseMicros) * time.Microsecond
	if !s.Volume.Reflink && expected >= longPause {
		e.note("volume %s copies: %s will be paused for about %s (%s of data); on volume xfs it would be milliseconds",
			s.Volume.Kind, s.Name, expected.Round(longPause), volume.FormatBytes(s.Snapshot.DataBytes))
	}
	return nil
}
