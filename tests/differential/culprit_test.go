package differential

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// again is where the numbers of trials that are repeated begin.
const again = 1_000_000

// differing runs trials until a cycle of them recovers, without those that keep it from that, of which it tells.
func (r *runner) differing(ctx context.Context, trials []*trial) (differ map[string]string, err error) {
	killed := r.kill && len(trials) > 0 && !trials[0].repeats && r.seed%2 == uint64(r.cycles)%2
	for len(trials) > 0 {
		said, found, err := r.in.cycle(ctx, trials, killed)
		var u *unrecoverable
		if !errors.As(err, &u) {
			if err == nil {
				r.count(trials, said)
			}
			return found, err
		}
		r.fresh()
		culprits := r.culprits(ctx, trials, u)
		if len(culprits) == 0 && !killed {
			return nil, fmt.Errorf("no trial alone does it: %w", u)
		}
		if len(culprits) == 0 {
			r.t.Errorf("%s=%d, the server killed among XA transactions, then the RAM lost: %s", envSeed, r.seed, lastLines(u.Error()))
		}
		killed = false
		for _, c := range culprits {
			if !c.repeats && !slices.ContainsFunc(r.fatal, c.has) {
				short, why := r.shrinkFatal(ctx, c)
				r.fatal = append(r.fatal, short)
				r.tell(c, short, "the recovery fails: "+lastLines(why.Error()))
			}
		}
		trials = slices.DeleteFunc(slices.Clone(trials), func(t *trial) bool { return slices.Contains(culprits, t) || slices.ContainsFunc(r.fatal, t.has) })
	}
	return nil, nil
}

// culprits are the trials that keep a recovery from succeeding, alone. Those that the error names are tried first.
func (r *runner) culprits(ctx context.Context, trials []*trial, u *unrecoverable) []*trial {
	var named []*trial
	for _, word := range ofTrial.FindAllString(u.Error(), -1) {
		for _, t := range trials {
			if t.database == word && !slices.Contains(named, t) {
				named = append(named, t)
			}
		}
	}
	for _, t := range named {
		if r.fails(ctx, []*trial{t}) != nil {
			return []*trial{t}
		}
	}
	for len(trials) > 1 {
		half := len(trials) / 2
		switch {
		case r.fails(ctx, trials[:half]) != nil:
			trials = trials[:half]
		case r.fails(ctx, trials[half:]) != nil:
			trials = trials[half:]
		default:
			return nil
		}
	}
	return trials
}

// fails reports whether a recovery of some trials alone fails, on an instance of their own.
func (r *runner) fails(ctx context.Context, trials []*trial) error {
	_, _, err := r.in.cycle(ctx, trials, false)
	var u *unrecoverable
	if !errors.As(err, &u) {
		return nil
	}
	r.fresh()
	return u
}

// shrinkFatal makes a trial shorter that keeps a recovery from succeeding.
func (r *runner) shrinkFatal(ctx context.Context, t *trial) (*trial, error) {
	why := r.fails(ctx, []*trial{t})
	if why == nil {
		return t, errors.New("it recovers alone")
	}
	for n := t.size() - 1; n >= 0; n-- {
		r.again++
		short := t.without(database(again+r.again), n)
		if err := r.fails(ctx, []*trial{short}); err != nil {
			t, why = short, err
		}
	}
	return t, why
}
