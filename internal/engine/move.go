package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// MoveRequest asks to move an instance to another volume.
type MoveRequest struct {
	Name string
	// Volume is the kind of volume, with a size or without. The volume is made if it does not exist.
	Volume string
}

// Moved describes an instance that was moved.
type Moved struct {
	Instance *instance.Instance
	// There says that it lay in a volume of that kind already, and nothing was done.
	There bool
	// Ran says that it was running. Held is then for how long writes waited before its server ended, and Pause for how
	// long no server answered.
	Ran               bool
	Took, Held, Pause time.Duration
	Bytes             int64
}

// Move moves an instance to another volume, whether it runs or not. If it runs, errors are those of client.Client.Move.
// Otherwise they match instance.ErrNotFound, instance.ErrGone, *volume.NoRoomError or, for a malformed volume,
// RequestError.
func (e *Engine) Move(ctx context.Context, q MoveRequest) (out Moved, err error) {
	spec, err := volume.ParseSpec(q.Volume)
	if err == nil && spec.Kind == volume.Auto {
		err = errors.New("move to volume auto: a move needs a kind\nhint: --volume disk")
	}
	if err != nil {
		return Moved{}, RequestError{err}
	}
	i, err := e.Registry.Open(q.Name)
	if err != nil {
		return Moved{}, err
	}
	if err := e.refuseMemberNamed("move", q.Name); err != nil {
		return Moved{}, err
	}
	if i.Volume == string(spec.Kind) {
		return Moved{Instance: i, There: true}, nil
	}
	began := time.Now()
	v, err := e.targetVolume(ctx, i, spec)
	if err != nil {
		return Moved{}, err
	}
	err = e.onlineOrOffline(ctx, q.Name, "move", func(c *client.Client) error {
		over := e.tellMove(ctx, c, q.Name)
		m, err := c.Move(ctx, client.MoveRequest{Volume: spec.String()})
		over()
		if err != nil && ctx.Err() != nil {
			awaitTakenBack(ctx, c)
		}
		out = Moved{Ran: true, Held: micros(m.HeldMicros), Pause: micros(m.PauseMicros), Bytes: m.DataBytes}
		return err
	}, func(i *instance.Instance, s *instance.Store) error {
		out.Bytes, err = e.moveStopped(ctx, i, s, e.instances(v), spec)
		return err
	})
	if err != nil {
		return Moved{}, err
	}
	out.Took = time.Since(began)
	out.Instance, err = e.Registry.Open(q.Name)
	return out, err
}

// takeBackTime bounds how long an interrupted move is waited for, and takeBackPause is the pause between two looks.
const takeBackTime, takeBackPause = time.Minute, 20 * time.Millisecond

// awaitTakenBack waits after an interruption until the instance is in one place: the command that is typed next finds it
// as it was.
func awaitTakenBack(ctx context.Context, c *client.Client) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackTime)
	defer cancel()
	for ctx.Err() == nil {
		s, err := c.Status(ctx)
		if err == nil && s.Moving == nil || errors.Is(err, client.ErrNoServer) {
			return
		}
		time.Sleep(takeBackPause)
	}
}

// targetVolume opens the volume that an instance is to move to, and refuses a move that would not fit.
func (e *Engine) targetVolume(ctx context.Context, i *instance.Instance, spec volume.Spec) (volume.Volume, error) {
	size, err := sys.DiskUsage(i.Dir)
	if err != nil {
		return nil, err
	}
	v, err := e.openVolume(ctx, spec.String())
	if err != nil {
		return nil, err
	}
	if err := e.sweep(ctx, v); err != nil {
		return nil, err
	}
	return v, volume.CheckRoom(v, size+instance.StartRoom, "instance "+i.Name)
}

// moveStopped moves an instance that does not run, whose name is locked.
func (e *Engine) moveStopped(ctx context.Context, i *instance.Instance, from, to *instance.Store, spec volume.Spec) (size int64, err error) {
	if i.Volume == string(spec.Kind) { // another command was first
		return 0, nil
	}
	if size, err = sys.DiskUsage(i.Dir); err != nil {
		return 0, err
	}
	state, err := i.State()
	if err != nil {
		return size, err
	}
	lock, err := sys.TryLock(i.LockPath(), sys.Exclusive)
	if err != nil {
		return size, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	next := to.Moved(i, spec)
	there, err := to.Receive(ctx, next)
	if err != nil {
		return size, err
	}
	defer func() { err = errors.Join(err, there.Unlock()) }()
	clean := context.WithoutCancel(ctx)
	files, err := instance.Carry(i, next)
	if err == nil {
		show := e.meters("moving " + i.Name)
		stop := every(meterPause, func() { show.progress("copying", files.Read(), size) })
		err = files.Round(ctx)
		stop()
		show.close()
	}
	if err == nil {
		err = files.Last(ctx)
	}
	if err == nil {
		err = next.SaveState(state)
	}
	if err == nil {
		err = e.Registry.Put(&next.Record)
	}
	if err != nil {
		return size, errors.Join(fmt.Errorf("move instance %s: %w", i.Name, err), to.Leave(clean, &i.Record))
	}
	return size, from.Leave(clean, &next.Record)
}

// meterPause is the pause between two looks how far a move is.
const meterPause = 200 * time.Millisecond

// every calls f now and then until the function is called that it returns.
func every(pause time.Duration, f func()) (stop func()) {
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		ticks := time.NewTicker(pause)
		defer ticks.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticks.C:
				f()
			}
		}
	}()
	return func() { close(done); <-over }
}

// tellMove shows how far the move of a running instance is, until the function is called that it returns.
func (e *Engine) tellMove(ctx context.Context, c *client.Client, name string) (over func()) {
	show := e.meters("moving " + name)
	stop := every(meterPause, func() {
		if s, err := c.Status(ctx); err == nil && s.Moving != nil {
			show.progress("copying", s.Moving.CopiedBytes, s.Moving.TotalBytes)
		}
	})
	return func() { stop(); show.close() }
}
