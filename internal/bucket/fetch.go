package bucket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

const (
	// fetchAhead and fetchBytes are how many objects, and bytes of them, are fetched at once.
	fetchAhead = 64
	fetchBytes = 64 << 20
)

// fetchTries is how often an object is asked for that cannot be fetched, which takes half a minute.
var fetchTries = 12

// fetched is an object on its way.
type fetched struct {
	done chan struct{}
	b    []byte
	err  error
}

// fetch gets objects, many at once, and gives them to f in their order.
func fetch(ctx context.Context, s Store, list []Object, f func(n int, b []byte) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	flying := make([]*fetched, len(list))
	next, size := 0, int64(0)
	defer func() {
		stop()
		for _, o := range flying[:next] {
			<-o.done
		}
	}()
	for n := range list {
		for next < len(list) && (next == n || next-n < fetchAhead && size+list[next].Size <= fetchBytes) {
			o := &fetched{done: make(chan struct{})}
			name := list[next].Name
			go func() {
				defer close(o.done)
				o.b, o.err = Get(ctx, s, name)
			}()
			flying[next] = o
			size += list[next].Size
			next++
		}
		o := flying[n]
		<-o.done
		if o.err != nil {
			return o.err
		}
		if err := f(n, o.b); err != nil {
			return err
		}
		o.b = nil
		size -= list[n].Size
	}
	return nil
}

// Get gets an object, and tries again when that fails; fs.ErrNotExist if it is not there.
func Get(ctx context.Context, s Store, name string) (b []byte, err error) {
	err = tries(ctx, func() error {
		b, err = s.Get(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			return &missingError{name, err}
		}
		if err != nil {
			return fmt.Errorf("fetch object %s: %w", name, err)
		}
		return nil
	})
	return b, err
}

// Put writes an object, and tries again when that fails.
func Put(ctx context.Context, s Store, name string, b []byte) error {
	return tries(ctx, func() error { return s.Put(ctx, name, b) })
}

// tries calls f until it succeeds, finds nothing, or has failed too often. Errors of f name the object.
func tries(ctx context.Context, f func() error) error {
	wait := retryFirst
	for try := 1; ; try++ {
		err := f()
		var missing *missingError
		switch {
		case err == nil || errors.As(err, &missing):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case try == fetchTries || refused(err):
			return err
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, retryLast)
	}
}

// missingError says that an object is not there which should be.
type missingError struct {
	object string
	err    error
}

func (e *missingError) Error() string { return "object " + e.object + " is missing" }
func (e *missingError) Unwrap() error { return e.err }
