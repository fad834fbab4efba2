package cli

import (
	"context"
	"errors"
	"time"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/supervisor"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// blameRoom returns the error of a load, or, if it failed since the instance's volume is full,
// a *volume.NoRoomError with the numbers: the server says no more than that a statement
// was interrupted, or that it is read-only. It is asked before anything is undone.
func (a *app) blameRoom(ctx context.Context, i *instance.Instance, what string, err error) error {
	if err == nil || ctx.Err() != nil || !server.Starved(err) {
		return err
	}
	v, verr := a.volumeOf(ctx, &i.Record)
	if verr != nil {
		return err
	}
	u, uerr := v.Usage()
	if uerr != nil {
		return err
	}
	least := supervisor.ReadOnlyBelow(v, u)
	if u.Free > least {
		return err
	}
	return &volume.NoRoomError{What: what, Kind: v.Kind(), Dir: v.Dir(), Need: 2 * least, Usage: u, Err: err}
}

// releasing is how long a supervisor may take to find that a volume has room again and to let its
// server write, and releaseLook how often that is tried.
const (
	releasing   = 3 * time.Second
	releaseLook = 50 * time.Millisecond
)

// whenWritable calls write, and calls it again while the server is read-only though its volume has
// room again: the supervisor lets it write within a second or so. It returns blameRoom's error.
func (a *app) whenWritable(ctx context.Context, i *instance.Instance, what string, write func() error) error {
	for until := time.Now().Add(releasing); ; {
		err := a.blameRoom(ctx, i, what, write())
		var full *volume.NoRoomError
		if !server.ReadOnly(err) || errors.As(err, &full) || time.Now().After(until) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(releaseLook):
		}
	}
}
