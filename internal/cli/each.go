package cli

import (
	"context"
	"errors"
	"slices"
)

// manyError is what went wrong with some of several names, in their order; the first decides the
// exit status.
type manyError []error

func (m manyError) Error() string   { return errors.Join(m...).Error() }
func (m manyError) Unwrap() []error { return m }

// several returns the errors that are not nil as a manyError, nil if all are nil.
func several(errs []error) error {
	failed := manyError(slices.DeleteFunc(errs, func(err error) bool { return err == nil }))
	if len(failed) == 0 {
		return nil
	}
	return failed
}

// eachOf does f for each name until ctx ends. An error with one name leaves the others alone.
func eachOf(ctx context.Context, names []string, f func(name string) error) error {
	var errs []error
	for _, name := range names {
		err := f(name)
		errs = append(errs, err)
		if err != nil && ctx.Err() != nil {
			break
		}
	}
	return several(errs)
}
