package engine

import (
	"context"
	"errors"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/supervisor"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// ExplainNoRoom returns err, the error of a load, or a *volume.NoRoomError with the numbers if
// the load failed because the instance's volume was full: the server then says only that a
// statement was interrupted, or that it is read-only. what names what was loaded. Call it
// before anything is undone.
//
// The volume may have some room again by then, since logs are purged. If the server was
// read-only in the middle of a load, it lacked room.
func (e *Engine) ExplainNoRoom(ctx context.Context, i *instance.Instance, what string, err error) error {
	return e.noRoom(ctx, i, what, err, func(free, least int64) bool { return dbconn.ReadOnly(err) || free <= 2*least })
}

// noRoom is ExplainNoRoom where full tells from the free bytes, and those below which servers are
// read-only, whether it is for want of room.
func (e *Engine) noRoom(ctx context.Context, i *instance.Instance, what string, err error, full func(free, least int64) bool) error {
	if err == nil || ctx.Err() != nil || !dbconn.Starved(err) {
		return err
	}
	v, verr := e.volumeOf(ctx, &i.Record)
	if verr != nil {
		return err
	}
	u, uerr := v.Usage()
	if uerr != nil {
		return err
	}
	least := supervisor.ReadOnlyBelow(v, u)
	if !full(u.Free, least) {
		return err
	}
	return &volume.NoRoomError{What: what, Kind: v.Kind(), Dir: v.Dir(), Need: max(2*least, u.Free+least), Usage: u, Err: err}
}

// writableTimeout is how long a supervisor may take to find that a volume has room again and to
// clear read_only, and writablePoll how often RetryReadOnly tries.
const (
	writableTimeout = 3 * time.Second
	writablePoll    = 50 * time.Millisecond
)

// RetryReadOnly calls write, and repeats it while the server is read-only although its volume
// has room again: the supervisor clears read_only within about a second. If the volume has no
// room, the error is that of ExplainNoRoom.
func (e *Engine) RetryReadOnly(ctx context.Context, i *instance.Instance, what string, write func() error) error {
	for until := time.Now().Add(writableTimeout); ; {
		err := e.noRoom(ctx, i, what, write(), func(free, least int64) bool { return free <= least })
		var full *volume.NoRoomError
		if !dbconn.ReadOnly(err) || errors.As(err, &full) || time.Now().After(until) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(writablePoll):
		}
	}
}
