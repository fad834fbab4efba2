package engine

import (
	"context"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/supervisor"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// BlameRoom returns the error of a load, or, if it failed since the instance's volume is full,
// a *volume.NoRoomError with the numbers: the server says no more than that a statement
// was interrupted, or that it is read-only. It is asked before anything is undone.
func (e *Engine) BlameRoom(ctx context.Context, i *instance.Instance, what string, err error) error {
	if err == nil || ctx.Err() != nil || !dbconn.Starved(err) {
		return err
	}
	v, verr := e.VolumeOf(ctx, &i.Record)
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
