package ramariatest

import "context"

// once does something once for all tests of a process. The others wait, each for no
// longer than its own context.
type once[T any] struct {
	turn  chan struct{} // holds one element while a goroutine is at it
	done  bool
	value T
	err   error
}

func newOnce[T any]() *once[T] { return &once[T]{turn: make(chan struct{}, 1)} }

// do returns what f returned the first time, its error too: what failed once would only
// fail slowly in every test. But where the caller gave up, or f did not return because it
// ended the test, the next caller tries again.
func (o *once[T]) do(ctx context.Context, f func() (T, error)) (T, error) {
	var zero T
	select {
	case o.turn <- struct{}{}:
	case <-ctx.Done():
		return zero, context.Cause(ctx)
	}
	defer func() { <-o.turn }()
	if o.done {
		return o.value, o.err
	}
	value, err := f()
	if err == nil || ctx.Err() == nil {
		o.value, o.err, o.done = value, err, true
	}
	return value, err
}
