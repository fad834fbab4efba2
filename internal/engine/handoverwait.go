package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// applied waits until the target has all that the instance logged.
func (c *cutting) applied(ctx context.Context) (end dbconn.Source, err error) {
	for {
		if end, err = c.d.LogEnd(ctx, c.db); err != nil {
			return end, c.late(ctx, err, "")
		}
		if err := c.has(ctx, end); err != nil {
			return end, err
		}
		// A statement that changes nothing is logged all the same.
		if last, err := c.d.LogEnd(ctx, c.db); err != nil || last == end {
			return end, c.late(ctx, err, "")
		}
	}
}

// has waits until the target has a log up to a position.
func (c *cutting) has(ctx context.Context, end dbconn.Source) error {
	at := ""
	for {
		state, err := c.farD.TargetState(ctx, c.far)
		switch {
		case err != nil:
			return c.late(ctx, err, at)
		case state.Fatal:
			return fmt.Errorf("the target has stopped: %s", strings.ReplaceAll(state.Error, "\n", " "))
		case state.Has(end):
			return nil
		}
		at = fmt.Sprintf(": it is at %s:%d, and the log ends at %s:%d", state.ExecFile, state.ExecPos, end.File, end.Pos)
		select {
		case <-ctx.Done():
			return c.late(ctx, ctx.Err(), at)
		case <-time.After(cutOverPause):
		}
	}
}

// late says what it is when a time is over.
func (c *cutting) late(ctx context.Context, err error, at string) error {
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("the target has not applied all in time" + at)
	}
	return err
}

// nears is has, but gives up as soon as the target comes no nearer.
func (c *cutting) nears(ctx context.Context, end dbconn.Source) error {
	from, err := c.farD.TargetState(ctx, c.far)
	if err != nil {
		return c.late(ctx, err, "")
	}
	for noted := false; ; noted = true {
		look, cancel := context.WithTimeout(ctx, stuckWithin)
		err := c.has(look, end)
		over := look.Err()
		cancel()
		if err == nil || over == nil || ctx.Err() != nil {
			return err
		}
		now, serr := c.farD.TargetState(ctx, c.far)
		switch {
		case serr != nil:
			return c.late(ctx, serr, "")
		case now.ExecFile == from.ExecFile && now.ExecPos == from.ExecPos:
			return fmt.Errorf("%w, and has applied nothing for %v", err, stuckWithin)
		case !noted:
			c.e.note("waiting until the target has caught up, at most %v: it is %d s behind", catchUpWithin, now.Behind)
		}
		from = now
	}
}

// catchUp waits until the target is but a moment behind, so that the pause is short.
func (c *cutting) catchUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, catchUpWithin)
	defer cancel()
	for began := time.Now(); ; {
		asked := time.Now()
		end, err := c.d.LogEnd(ctx, c.db)
		if err == nil {
			err = c.nears(ctx, end)
		}
		behind := time.Since(asked)
		switch {
		case err != nil:
			return fmt.Errorf("cut over instance %s to %s: %w; the instance is written to as before\nhint: %s when it has less to do; SHOW %s STATUS there says how far it is", c.Name, c.Address, err, c.again(), c.farD.Applier.Replica)
		case behind < littleBehind || time.Since(began) > catchUpWithin/2 && behind < cutOverWithin/2:
			return nil
		}
	}
}
