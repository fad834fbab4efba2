package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/supervisor"
)

// HandOverEnd asks to forget a hand-over.
type HandOverEnd struct {
	Name string
	// Writable has an instance that was handed over be written to again.
	Writable bool
}

// EndHandOver forgets a hand-over, and removes the account that the target follows by. The instance need not run.
func (e *Engine) EndHandOver(ctx context.Context, q HandOverEnd) (dir string, err error) {
	if _, err := e.Registry.Get(q.Name); err != nil {
		return "", err
	}
	lock, err := e.Registry.Lock(ctx, instance.HandOverLock(q.Name), func() { e.note("waiting: another command is at the hand-over of %s", q.Name) })
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.UnlockRemove()) }()
	h, err := e.Registry.HandOver(q.Name)
	if err != nil {
		return "", err
	}
	switch {
	case h == nil:
		return "", RequestError{fmt.Errorf("end the hand-over of instance %s: there is none\nhint: ramaria status %[1]s", q.Name)}
	case h.HandedOver() && !q.Writable:
		return "", RequestError{fmt.Errorf("end the hand-over of instance %s: %s has its data since %s, and this one would be written to beside it\nhint: ramaria rm %[1]s removes it; --end --writable has it be written to again, without what is at %[2]s since", q.Name, h.Cut.To, h.Cut.At.Format(time.DateTime))}
	}
	i, err := e.Registry.Open(q.Name)
	if errors.Is(err, instance.ErrGone) {
		return h.Dir, e.Registry.DeleteHandOver(q.Name)
	}
	if err != nil {
		return "", err
	}
	state, err := i.State()
	if err != nil {
		return "", err
	}
	if !state.Phase.Alive() { // the account goes at the next start
		if c := h.Cut; c != nil && len(c.Revoked) > 0 {
			return "", fmt.Errorf("end the hand-over of instance %s: it is %w\nhint: ramaria up %[1]s", q.Name, NotRunningError(state.Phase))
		}
		return h.Dir, e.Registry.DeleteHandOver(q.Name)
	}
	db, err := dbconn.Open(i.Endpoint.Socket, i.Supervisor, "")
	if err != nil {
		return "", err
	}
	defer db.Close()
	d := i.Server.Dialect()
	// First: the supervisor keeps an instance read-only that was handed over.
	if err := e.Registry.DeleteHandOver(q.Name); err != nil {
		return "", err
	}
	if h.Cut != nil {
		err = supervisor.UndoCutOver(ctx, d, db, h.Cut)
	}
	if err == nil {
		err = dbconn.ExecUnlogged(ctx, db, d.EndReplicaAccountSQL(h.User, h.Host))
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("end the hand-over of instance %s: %w\nhint: the same command again", q.Name, err), e.Registry.PutHandOver(q.Name, h))
	}
	return h.Dir, nil
}

// refuseHandOver refuses to take data back that a target has, or to make an instance again that another server has the data
// of.
func (e *Engine) refuseHandOver(what, name string) error {
	h, err := e.Registry.HandOver(name)
	switch {
	case err != nil || h == nil:
		return err
	case h.HandedOver():
		return RequestError{fmt.Errorf("%s of instance %s: it was handed over to %s\nhint: ramaria rm %[2]s removes it; ramaria hand-over %[2]s --end --writable forgets that", what, name, h.Cut.To)}
	}
	return RequestError{fmt.Errorf("%s of instance %s: it is being handed over, and the target would have what is not there any more\nhint: ramaria hand-over %[2]s --end", what, name)}
}
