package random

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A statement of a lease is given up after this many strides: none of them waits for a lock for longer
// than a second. On a machine with nothing else to do that is 20 seconds. A stride is a pause and
// a statement that the server works on, so that it lasts as much longer as the machine is busy with
// other things: a tester that runs at idle priority would otherwise take statements that wait for the
// processor for stuck. It has seen a statement of one row take 21 seconds beside a load of 40.
const (
	strides = 200
	stride  = 100 * time.Millisecond
	// strideMost is how long the statement of a stride may take: it may be the whole server that is stuck.
	strideMost = 5 * time.Second
	// strideWork takes some milliseconds.
	strideWork = "DO BENCHMARK(10000, MD5('ramaria'))"
)

var errStuck = fmt.Errorf("the statement did not end in %s of a machine of our own", strides*stride)

// patiently returns a context that ends with the cause errStuck when a statement has taken too long.
func (in *instance) patiently(ctx context.Context) (context.Context, context.CancelFunc) {
	return patiently(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, strideMost)
		defer cancel()
		_, _ = in.db.ExecContext(ctx, strideWork) // only the time counts
	})
}

func patiently(ctx context.Context, work func(context.Context)) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for range strides {
			select {
			case <-ctx.Done():
				return
			case <-time.After(stride):
			}
			work(ctx)
		}
		cancel(errStuck)
	}()
	return ctx, func() { cancel(nil) }
}

// TestPatience: patience has an end, which is as far away as work is slow; and what ends in time costs none.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, slow := range []time.Duration{0, time.Second} {
			ctx, cancel := patiently(t.Context(), func(context.Context) { time.Sleep(slow) })
			began := time.Now()
			<-ctx.Done()
			if took := time.Since(began); took != strides*(stride+slow) || !errors.Is(context.Cause(ctx), errStuck) {
				t.Errorf("it ended after %s: %v", took, context.Cause(ctx))
			}
			cancel()
		}
		ctx, cancel := patiently(t.Context(), func(context.Context) {})
		cancel()
		if synctest.Wait(); errors.Is(context.Cause(ctx), errStuck) {
			t.Error("what ended in time counts as stuck")
		}
	})
}
