package durable

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestHangs: nothing waits for ever for a write that does not return, and then nothing else is done with the archive.
func TestHangs(t *testing.T) {
	for name, do := range map[string]func(context.Context, *Keeper) error{
		"Stop":       func(ctx context.Context, k *Keeper) error { return k.Stop(context.WithoutCancel(ctx)) },
		"Close":      func(_ context.Context, k *Keeper) error { return k.Close() },
		"BeginAgain": func(ctx context.Context, k *Keeper) error { return k.BeginAgain(ctx, "", time.Time{}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := &Keeper{cancel: func() {}, done: make(chan struct{})}
				ctx, down := context.WithCancel(t.Context())
				time.AfterFunc(time.Minute, down)
				returned := make(chan error, 1)
				go func() { returned <- do(ctx, k) }()
				select {
				case err := <-returned:
					if !errors.Is(err, ErrHangs) {
						t.Errorf("the error is %v, want %v", err, ErrHangs)
					}
				case <-time.After(time.Hour):
					t.Error("it waits for ever")
				}
				if err := k.Close(); err != nil { // without the log and the archive that there are not
					t.Errorf("close: %v", err)
				}
				close(k.done)
			})
		})
	}
}
