package random

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A statement of a lease is given up after this many strides: none of them waits for a lock for longer
// than a second. On a machine with nothing else to do that is 20 seconds. A stride is a pause and
// some work, so that it lasts as much longer as the machine is busy with other things: a tester that
// runs at idle priority would otherwise take statements that wait for the processor for stuck.
const (
	strides = 200
	stride  = 100 * time.Millisecond
	// strideWork is how many bytes are hashed in a stride, about a millisecond's worth.
	strideWork = 1 << 20
)

var errStuck = fmt.Errorf("the statement did not end in %s of a machine of our own", strides*stride)

// patiently returns a context that ends with the cause errStuck when a statement has taken too long.
func patiently(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		work := make([]byte, 0)
		for range strides {
			select {
			case <-ctx.Done():
				return
			case <-time.After(stride):
			}
			if len(work) == 0 {
				work = make([]byte, strideWork)
			}
			sha256.Sum256(work)
		}
		cancel(errStuck)
	}()
	return ctx, func() { cancel(nil) }
}

// TestPatience: patience has an end, and what ends in time costs none.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := patiently(t.Context())
		defer cancel()
		began := time.Now()
		<-ctx.Done()
		if took := time.Since(began); took != strides*stride || context.Cause(ctx) != errStuck {
			t.Errorf("it ended after %s: %v", took, context.Cause(ctx))
		}
		ctx, cancel = patiently(t.Context())
		cancel()
		if synctest.Wait(); context.Cause(ctx) == errStuck {
			t.Error("what ended in time counts as stuck")
		}
	})
}
