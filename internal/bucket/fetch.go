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
				o.b, o.err = get(ctx, s, name)
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

// get gets an object, and tries again when that fails.
func get(ctx context.Context, s Store, name string) ([]byte, error) {
	wait := retryFirst
	for try := 1; ; try++ {
		b, err := s.Get(ctx, name)
		switch {
		case err == nil:
			return b, nil
		case errors.Is(err, fs.ErrNotExist):
			return nil, &missingError{name, err}
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case try == fetchTries:
			return nil, fmt.Errorf("fetch object %s: %w", name, err)
		}
		if err := pause(ctx, wait); err != nil {
			return nil, err
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
