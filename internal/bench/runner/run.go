package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// run is one run of a scenario.
type run struct {
	scenario Scenario
	result   *Result
	ready    []*readyCase                  // prepared and able to run
	cleanups []func(context.Context) error // in the order of Prepare
	// preparing is called before each Prepare, with the name of the case.
	preparing func(name string)
	limit     limit
	// late says that there was no time to prepare a case.
	late bool
}

// readyCase is a case and the row that its samples go to.
type readyCase struct {
	Case
	row *Row
	// warm is what the last round measured that was to warm up.
	warm *Sample
}

// state adds what the preparation found to the settings of the row, if it found any.
func (r *Row) state(found string) {
	switch {
	case found == "":
	case r.Settings == "":
		r.Settings = found
	default:
		r.Settings += "; " + found
	}
}

// ended tells whether ctx has ended. The steps then do nothing and report no
// error: Run does, once.
func ended(ctx context.Context) bool { return ctx.Err() != nil }

// cut tells whether it has ended since the time is over.
func cut(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errCut) }

// unavailable is the note of a row that this machine cannot have, which says so first.
func unavailable(err error) string {
	what, why, found := strings.Cut(err.Error(), ErrUnavailable.Error()+": ")
	if !found {
		return err.Error()
	}
	return ErrUnavailable.Error() + ": " + what + why
}

// prepare prepares the cases in order and drops those that are unavailable here.
func (r *run) prepare(ctx context.Context) error {
	for i, c := range r.scenario.Cases {
		row := &r.result.Rows[i]
		if cut(ctx) || r.limit.over(0) && !r.limit.whole {
			row.Note = fmt.Sprintf("not prepared within %s", r.limit.most)
			r.late = true
			continue
		}
		if ended(ctx) {
			return nil
		}
		if c.Cleanup != nil {
			r.cleanups = append(r.cleanups, c.Cleanup)
		}
		r.preparing(c.Name)
		if c.Prepare != nil {
			err := c.Prepare(ctx)
			if errors.Is(err, ErrUnavailable) {
				row.Note = unavailable(err)
				continue
			}
			if err != nil {
				if err := r.fail(ctx, row, err, fmt.Errorf("prepare case %q: %w", c.Name, err)); err != nil {
					return err
				}
				continue
			}
		}
		if c.Found != nil {
			row.state(c.Found())
		}
		r.ready = append(r.ready, &readyCase{Case: c, row: row})
	}
	return nil
}

// step runs one case once, checks its answer and, if it counts, keeps the sample.
func (r *run) step(ctx context.Context, c *readyCase, counts bool) error {
	if ended(ctx) {
		return nil
	}
	sample, err := c.Round(ctx)
	if err != nil {
		return r.fail(ctx, c.row, err, fmt.Errorf("run case %q: %w", c.Name, err))
	}
	if c.Check != nil {
		if err := c.Check(ctx); err != nil {
			if cut(ctx) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
				ctx = context.WithoutCancel(ctx) // a wrong answer is one, whatever the time
			}
			return r.fail(ctx, c.row, err, fmt.Errorf("check answer of case %q: %w", c.Name, err))
		}
	}
	if len(sample.Values) == 0 {
		sample.Values = []float64{sample.Value}
	}
	if i := slices.IndexFunc(sample.Values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }); i >= 0 {
		err := fmt.Errorf("it measured %v", sample.Values[i])
		return r.fail(ctx, c.row, err, fmt.Errorf("run case %q: %w", c.Name, err))
	}
	if !counts {
		c.warm = &sample
		return nil
	}
	c.row.count(sample)
	return nil
}

// count takes in what a round measured.
func (r *Row) count(sample Sample) {
	r.Rounds++
	r.Samples = append(r.Samples, sample.Values...)
	for name, v := range sample.Beside {
		if r.beside == nil {
			r.beside = map[string][]float64{}
		}
		r.beside[name] = append(r.beside[name], v)
	}
}

// ErrTime says that the time was over before anything was measured.
var ErrTime = errors.New("nothing was measured in time")

// hurried gives rows for which there was no more time the figures of the round that warmed them
// up. Those that have none say why.
func (r *run) hurried() error {
	measured := false
	for _, c := range r.ready {
		switch {
		case c.row.Rounds > 0:
		case c.warm != nil:
			c.row.Note = ""
			c.row.count(*c.warm)
			c.row.state("the one figure is of the round that warms up")
		case c.row.Note == "":
			c.row.Note = fmt.Sprintf("not measured within %s", r.limit.most)
			r.late = true
		}
		measured = measured || c.row.Rounds > 0
	}
	if measured || !r.late {
		return nil
	}
	err := fmt.Errorf("%w: %s is too short", ErrTime, r.limit.most)
	r.result.Failed = reason(err)
	return err
}

// fail notes in the result that a step failed, unless it did so because ctx has ended, and
// returns whole, the error with the step in it; nil if the step was cut off.
func (r *run) fail(ctx context.Context, row *Row, err, whole error) error {
	switch {
	case cut(ctx):
		r.late = true
		if row.Rounds == 0 {
			row.Note = fmt.Sprintf("cut off after %s", r.limit.cut())
		}
		return nil
	case !ended(ctx):
		r.result.Failed = reason(whole)
		row.fail(err)
	}
	return whole
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
