package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"

	"github.com/ramaria-db/ramaria/internal/instance"
)

// RunRequest asks for a private instance made by Spec.
type RunRequest struct {
	Spec instance.Spec
	// Stdin is read for the source "-".
	Stdin io.Reader
}

// Run makes a private instance with this process as its supervisor, calls use with it, and
// removes the instance.
func (e *Engine) Run(ctx context.Context, q RunRequest, use func(*instance.Instance) error) (err error) {
	var b [4]byte
	if _, err := rand.Read(b[:]); err != nil {
		return err
	}
	name := instance.PassingPrefix + hex.EncodeToString(b[:])
	// Held for as long as this process lives: an instance of this kind whose name
	// is not locked is one whose `ramaria run` was killed.
	lock, err := e.Registry.Lock(ctx, name, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.UnlockRemove()) }()
	i, err := e.create(ctx, nil, instance.Order{Name: name, Spec: q.Spec, Passing: true}, q.Stdin)
	if err != nil {
		return err
	}
	defer func() {
		clean := context.WithoutCancel(ctx)
		v, verr := e.volumeOf(clean, &i.Record)
		if verr == nil {
			verr = e.instances(v).Remove(clean, &i.Record)
		}
		err = errors.Join(err, verr)
	}()
	v, err := e.volumeOf(ctx, &i.Record)
	if err != nil {
		return err
	}
	found := standOf(i)
	s, err := e.startSupervisor(ctx, i, v)
	if err != nil {
		return found.explain(ctx, err)
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	watched, stop := context.WithCancel(context.WithoutCancel(ctx))
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		// It ends without an error, by either end.
		_ = s.Run(watched)
		if s.Ended() {
			e.note("ramaria: the server of this run has ended; its log is gone with it")
		}
	}()
	defer func() { stop(); <-watching }()
	e.notePasswordless(ctx, i)
	return use(i)
}
