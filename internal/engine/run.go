package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// RunRequest asks for a private instance made by Spec.
type RunRequest struct {
	Spec instance.Spec
	// AcceptLoss goes on with what the archive has, where that is not all that was acknowledged.
	AcceptLoss bool
	// Stdin is read for the source "-".
	Stdin io.Reader
}

// Run makes a private instance with this process as its supervisor, calls use with it, and
// removes the instance.
func (e *Engine) Run(ctx context.Context, q RunRequest, use func(*instance.Instance) error) error {
	return e.passing(ctx, func(name string) (*instance.Instance, error) {
		return e.makeRun(ctx, instance.Order{Name: name, Spec: q.Spec, Passing: true}, q)
	}, use)
}

// passing has create make an instance of a random name, calls use while this process is its supervisor, and removes it.
func (e *Engine) passing(ctx context.Context, create func(name string) (*instance.Instance, error), use func(*instance.Instance) error) (err error) {
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
	i, err := create(name)
	if err != nil {
		return err
	}
	defer func() {
		clean := context.WithoutCancel(ctx)
		err = errors.Join(err, e.endRun(clean, name))
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
	defer func() {
		err = errors.Join(err, s.Kill())
		for _, text := range s.Lacks() {
			e.note("warning: %s", text)
		}
	}()
	watched, stop := context.WithCancel(context.WithoutCancel(ctx))
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		// It ends without an error, by either end.
		_ = s.Run(watched)
		if s.Ended() {
			e.note("ramaria: the server of this run has ended; its log is gone with it")
			if why := s.Reason(); why != "" {
				e.note("instance %s was %s", name, why)
			}
		}
	}()
	defer func() { stop(); <-watching }()
	e.notePasswordless(ctx, i)
	return use(i)
}

// endRun removes the instance of a run, which may have been moved meanwhile.
func (e *Engine) endRun(ctx context.Context, name string) error {
	r, err := e.Registry.Get(name)
	if err != nil {
		return err
	}
	v, err := e.volumeOf(ctx, r)
	if err != nil {
		return err
	}
	return e.instances(v).Remove(ctx, r)
}

// makeRun makes the instance of a run. A durable one begins an archive, which outlives it, or goes on with the
// one that is there.
func (e *Engine) makeRun(ctx context.Context, o instance.Order, q RunRequest) (*instance.Instance, error) {
	if !levelOf(o.Spec).Durable() {
		return e.create(ctx, nil, o, q.Stdin)
	}
	o.Spec.Archive = mergeArchive(nil, o.Spec.Archive)
	if o.Spec.ArchiveDir() == "" {
		return nil, RequestError{errors.New("run with --durable: the instance goes with the run, and only its archive stays\nhint: --archive DIR says where, and the next run with it goes on with the data")}
	}
	dir := e.archiveDir(o.Name, o.Spec)
	if !durable.Exists(dir) {
		return e.create(ctx, nil, o, q.Stdin)
	}
	if err := e.checkDurable(o.Name, o.Spec, true); err != nil {
		return nil, err
	}
	if user, err := e.archiveUser(dir); err != nil {
		return nil, err
	} else if user != nil {
		return nil, RequestError{fmt.Errorf("run with --durable: %s is the archive of instance %s, and an archive goes on with one\nhint: --archive DIR, a new directory", dir, user.Name)}
	}
	if err := e.claimOfRun(ctx, dir, o.Spec); err != nil {
		return nil, err
	}
	if len(o.Spec.From) > 0 {
		e.note("the run goes on with the data in %s; --from is for a new archive", dir)
	}
	return e.recover(ctx, o, q.AcceptLoss)
}

// claimOfRun makes buckets that an archive did not have before its own.
func (e *Engine) claimOfRun(ctx context.Context, dir string, spec instance.Spec) error {
	a, err := durable.OpenReading(dir)
	if err != nil {
		return err
	}
	kept, err := a.Made()
	if err != nil {
		return err
	}
	_, err = e.claimBuckets(ctx, a.Manifest.ID, added(kept.Spec, spec))
	return err
}
