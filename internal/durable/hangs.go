package durable

import (
	"context"
	"errors"
	"time"
)

// ErrHangs says that the disk of an archive does not answer.
var ErrHangs = errors.New("a write to its disk does not return")

// hangPatience is for how much longer something is waited for that was told to end: a write that has begun cannot be called
// back, and takes moments where the disk answers.
const hangPatience = 2 * time.Second

// Abandon says that something else is at work on the archive that does not return. It is called before Stop and Close.
func (k *Keeper) Abandon() { k.hung = true }

// within does what writes to the archive when it is to be closed, and takes lastPatience for it. If that does not return,
// the error matches ErrHangs, nothing is done any more, and the process must end: what is at work stays so.
func (k *Keeper) within(ctx context.Context, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, lastPatience)
	defer cancel()
	return k.returns(limited, do)
}

// returns does what writes to the archive, and returns hangPatience after the end of ctx at the latest.
func (k *Keeper) returns(ctx context.Context, do func(context.Context) error) error {
	if k.hung {
		return ErrHangs
	}
	done := make(chan error, 1)
	go func() { done <- do(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(hangPatience):
		k.hung = true
		return ErrHangs
	}
}
