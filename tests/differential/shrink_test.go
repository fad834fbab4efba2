package differential

import (
	"context"
	"slices"
)

// rounds is how many cycles a set of trials that differ is made shorter in.
const rounds = 8

// shrinking is a trial that differs, as short as it is known to do so.
type shrinking struct {
	*trial
	// differs is in what; "" until it did so once more.
	differs string
	// spare are parts that it did without one by one, in the last round.
	spare []int
	done  bool
}

// try is a trial without some of its parts.
type try struct {
	of    *shrinking
	drop  []int
	trial *trial
}

// shrink makes trials that differ shorter, all at once: each round tries each of them without each of its parts, and
// without all the parts that the round before did without one by one.
func (r *runner) shrink(ctx context.Context, trials []*trial) (list []*shrinking, err error) {
	for _, t := range trials {
		list = append(list, &shrinking{trial: t})
	}
	for round := range rounds {
		var tries []*try
		for _, s := range list {
			for _, drop := range s.drops(round) {
				r.again++
				tries = append(tries, &try{s, drop, s.without(database(again+r.again), drop...)})
			}
		}
		if len(tries) == 0 {
			break
		}
		var run []*trial
		for _, y := range tries {
			run = append(run, y.trial)
		}
		found, err := r.differing(ctx, run)
		if err != nil {
			return list, err
		}
		for _, s := range list {
			s.take(tries, found)
		}
	}
	return list, nil
}

// drops are the parts that a round does without.
func (s *shrinking) drops(round int) (list [][]int) {
	switch {
	case s.done:
		return nil
	case round == 0:
		return [][]int{nil} // does it once more?
	case round == 1:
		list = s.large()
	case len(s.spare) > 1:
		list = append(list, s.spare)
	}
	for n := range s.size() {
		list = append(list, []int{n})
	}
	return list
}

// take takes the shortest of what a round tried that differs.
func (s *shrinking) take(tries []*try, found map[string]string) {
	var best *try
	var spare []int
	for _, y := range tries {
		if y.of != s || found[y.trial.database] == "" {
			continue
		}
		if len(y.drop) == 1 {
			spare = append(spare, y.drop[0])
		}
		if best == nil || len(y.drop) > len(best.drop) {
			best = y
		}
	}
	if best == nil {
		s.done = true
		return
	}
	s.trial, s.differs, s.spare = best.trial, found[best.trial.database], nil
	for _, n := range spare {
		if !slices.Contains(best.drop, n) { // it is further to the front by what is gone before it
			before := 0
			for _, gone := range best.drop {
				if gone < n {
					before++
				}
			}
			s.spare = append(s.spare, n-before)
		}
	}
}
