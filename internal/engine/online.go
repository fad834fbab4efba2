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

// onlineOrOffline calls online with the API of an instance that runs, or offline with the files of
// one that does not run and whose name is locked meanwhile. verb says what is to be done.
func (e *Engine) onlineOrOffline(ctx context.Context, name, verb string, online func(*client.Client) error, offline func(*instance.Instance, *instance.Store) error) error {
	i, err := e.Registry.Open(name)
	if err != nil {
		return err
	}
	state, err := i.State()
	if err != nil {
		return err
	}
	if state.Phase == instance.Running || state.Phase == instance.Starting {
		err := online(client.New(i.APISocket()))
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
		if err := online(client.New(i.APISocket())); err != nil {
			return fmt.Errorf("%s instance %s: %w", verb, name, err)
		}
		return nil
	}
	v, err := e.volumeOf(ctx, &i.Record)
	if err != nil {
		return err
	}
	return offline(i, e.instances(v))
}

// longPause is from when on an expected pause is noted beforehand.
const longPause = 100 * time.Millisecond

// notePause notes for how long a snapshot is expected to pause the server of an instance, from
// longPause on.
func (e *Engine) notePause(ctx context.Context, c *client.Client) error {
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
