package engine

import (
	"context"
	"errors"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// reap cleans up after killed supervisors and builders. It looks at a few small
// files only, so that every command can afford it.
func (e *Engine) reap(ctx context.Context) error {
	e.Registry.Sweep()
	records, err := e.Registry.List()
	if err != nil {
		return err
	}
	errs := []error{e.Opener().Reclaim(ctx)}
	e.eachPlace(func(v volume.Volume) {
		// What a killed move was throwing away is in a volume where nothing may ever be made again. What cannot be
		// swept the next command that makes something there tells.
		_ = v.Sweep(ctx)
	})
	for _, r := range records {
		errs = append(errs, e.reapLeft(ctx, r))
		v, err := e.volumeOf(ctx, r)
		if err != nil {
			continue // its own commands will say what is wrong with it
		}
		errs = append(errs, e.instances(v).Reap(ctx, r))
	}
	return errors.Join(errs...)
}

// reapLeft removes what a killed move left of an instance in other volumes than its own.
func (e *Engine) reapLeft(ctx context.Context, r *instance.Record) error {
	var errs []error
	e.eachPlace(func(v volume.Volume) { errs = append(errs, e.instances(v).ReapLeft(ctx, r)) })
	return errors.Join(errs...)
}

// eachPlace calls f with each place of a volume, which need not be there.
func (e *Engine) eachPlace(f func(volume.Volume)) {
	for _, kind := range volume.Kinds {
		if !kind.Mounted() || e.Places.Mounts != "" {
			f(e.Opener().At(kind))
		}
	}
}

// sweep removes from a volume what killed commands left half made. It is called
// by the commands that make things, which can take the time.
func (e *Engine) sweep(ctx context.Context, v volume.Volume) error {
	images, err := e.Images(v)
	if err != nil {
		return err
	}
	return errors.Join(v.Sweep(ctx), images.Sweep(ctx), e.instances(v).Sweep(ctx), e.sweepDownloads())
}
