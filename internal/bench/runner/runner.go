package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Defaults of a Runner.
const (
	DefaultWarmup = 1
	DefaultRounds = 10
	// CleanupTimeout is how long the Cleanup of one case may take.
	CleanupTimeout = time.Minute
	// MaxRounds is the most rounds that a run may ask for.
	MaxRounds = 1_000_000
)

// Runner runs scenarios.
type Runner struct {
	// Warmup is the number of rounds that are run and checked, but not counted:
	// first touch of memory and cold caches are no part of a result. 0 means
	// DefaultWarmup; none at all is asked for with -1.
	Warmup int
	// Rounds is the number of rounds that count; 0 means those of the scenario.
	Rounds int
	// MaxTime bounds the run, but for Cleanup: no Prepare is begun after it, and no step of a
	// round; no round is begun that would, if it took as long as the longest one so far, end
	// later. What is begun may take half as long again, and is cut off then. A row for which
	// there was but time to warm up has the figures of that; one that came to nothing says so. 0
	// means no bound.
	MaxTime time.Duration
	// Whole prepares and runs every row at least once, whatever MaxTime says.
	Whole bool
	// Progress, if not nil, is called before each case in each round with the number
	// of such steps already done and the number of all of them; before that with 0 for
	// each that is prepared, and at the end with the number of all and no name.
	Progress func(done, total int, name string)
	// Now is the clock of MaxTime; nil means time.Now.
	Now func() time.Time
}

// Run runs all cases of a scenario. The result is valid whatever the error is: it
// holds everything that was measured until then. When ctx ends, Interrupted is
// set in it and the error wraps the cause of ctx; so Ctrl-C loses nothing.
func (r *Runner) Run(ctx context.Context, s Scenario) (Result, error) {
	result := newResult(s)
	if err := r.validate(s); err != nil {
		return result, fmt.Errorf("run scenario %s: %w", s.Name, err)
	}
	warmup, rounds := r.plan(s)
	all := (warmup + rounds) * len(s.Cases)
	run := &run{scenario: s, result: &result, preparing: func(name string) { r.progress(0, all, "preparing "+name) }, limit: r.limit()}
	defer r.progress(all, all, "")
	work, cancel := run.limit.bound(ctx)
	defer cancel()
	err := run.prepare(work)
	if err == nil {
		err = r.rounds(work, run)
	}
	if err == nil && ctx.Err() == nil {
		err = run.hurried()
	}
	if ctx.Err() != nil {
		result.Interrupted = true
		err = errors.Join(context.Cause(ctx), err)
	}
	err = errors.Join(err, run.cleanup(ctx))
	result.summarise()
	if s.Conclusion != nil && !result.Interrupted && result.Failed == "" && result.Measured() {
		if result.Conclusion = s.Conclusion(&result); result.Conclusion != "" {
			result.Conclusion = result.alone() + result.Conclusion
		}
	}
	if err != nil {
		return result, fmt.Errorf("run scenario %s: %w", s.Name, err)
	}
	return result, nil
}

func (r *Runner) validate(s Scenario) error {
	if r.Rounds < 0 || r.Rounds > MaxRounds {
		return fmt.Errorf("%d rounds: must be between 1 and %d", r.Rounds, MaxRounds)
	}
	return s.Validate()
}

// plan says how many rounds warm up, and how many count.
func (r *Runner) plan(s Scenario) (warmup, rounds int) {
	warmup, rounds = max(r.Warmup, 0), cmp.Or(r.Rounds, s.Rounds, DefaultRounds)
	if r.Warmup == 0 && s.Rounds != 1 && !s.Warm {
		warmup = DefaultWarmup
	}
	return warmup, rounds
}

func (r *Runner) progress(done, total int, name string) {
	if r.Progress != nil {
		r.Progress(done, total, name)
	}
}

func (r *Runner) rounds(ctx context.Context, run *run) error {
	warmup, rounds := r.plan(run.scenario)
	total := (warmup + rounds) * len(run.ready)
	var longest time.Duration
	for i := range warmup + rounds {
		start := run.limit.now()
		switch {
		case i > 0 && i < warmup && run.limit.over(2*longest):
			continue // leave what time there is to a round that counts
		case i > 0 && i >= warmup && run.limit.over(longest):
			return nil
		}
		for step, which := range order(len(run.ready), i) {
			if run.limit.over(0) && (i > 0 || !run.limit.whole) {
				return nil // rows may have a round less than others
			}
			c := run.ready[which]
			r.progress(i*len(run.ready)+step, total, c.Name)
			if err := run.step(ctx, c, i >= warmup); err != nil {
				return err
			}
		}
		longest = max(longest, run.limit.now().Sub(start))
	}
	return nil
}
