package bench

import (
	"context"
	"errors"
	"fmt"
)

// run is one run of a scenario.
type run struct {
	scenario Scenario
	result   *Result
	ready    []readyCase                   // prepared and able to run
	cleanups []func(context.Context) error // in the order of Prepare
}

// readyCase is a case and the row that its samples go to.
type readyCase struct {
	Case
	row *Row
}

// ended tells whether ctx has ended. The steps then do nothing and report no
// error: Run does, once.
func ended(ctx context.Context) bool { return ctx.Err() != nil }

// prepare prepares the cases in order and drops those that are unavailable here.
func (r *run) prepare(ctx context.Context) error {
	for i, c := range r.scenario.Cases {
		if ended(ctx) {
			return nil
		}
		row := &r.result.Rows[i]
		if c.Cleanup != nil {
			r.cleanups = append(r.cleanups, c.Cleanup)
		}
		if c.Prepare != nil {
			err := c.Prepare(ctx)
			if errors.Is(err, ErrUnavailable) {
				row.Note = err.Error()
				continue
			}
			if err != nil {
				return fmt.Errorf("prepare case %q: %w", c.Name, err)
			}
		}
		r.ready = append(r.ready, readyCase{c, row})
	}
	return nil
}

// step runs one case once, checks its answer and, if it counts, keeps the sample.
func (r *run) step(ctx context.Context, c readyCase, counts bool) error {
	if ended(ctx) {
		return nil
	}
	sample, err := c.Round(ctx)
	if err != nil {
		return fmt.Errorf("run case %q: %w", c.Name, err)
	}
	if c.Check != nil {
		if err := c.Check(ctx); err != nil {
			return fmt.Errorf("check answer of case %q: %w", c.Name, err)
		}
	}
	if counts {
		c.row.Rounds++
		if len(sample.Values) == 0 {
			sample.Values = []float64{sample.Value}
		}
		c.row.Samples = append(c.row.Samples, sample.Values...)
	}
	return nil
}

// cleanup cleans up the last prepared case first and joins the errors.
func (r *run) cleanup(ctx context.Context) error {
	var errs []error
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		errs = append(errs, r.cleanupOne(ctx, r.cleanups[i]))
	}
	return errors.Join(errs...)
}

func (r *run) cleanupOne(ctx context.Context, cleanup func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), CleanupTimeout)
	defer cancel()
	if err := cleanup(ctx); err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	return nil
}
