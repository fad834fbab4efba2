package differential

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// rounds is how many cycles a set of trials that differ is made shorter in.
const rounds = 8

// without is a trial that lacks some of its settings and steps, which are numbered through.
func (t *trial) without(database string, drop ...int) *trial {
	short := &trial{database: database, repeats: true}
	for i, s := range t.settings {
		if !slices.Contains(drop, i) {
			short.settings = append(short.settings, s)
		}
	}
	for i, s := range t.steps {
		if !slices.Contains(drop, len(t.settings)+i) {
			short.steps = append(short.steps, s)
		}
	}
	return short
}

// large are larger parts of a trial: all settings, and all steps of each line.
func (t *trial) large() (parts [][]int) {
	of := map[int][]int{}
	for i := range t.settings {
		of[-2] = append(of[-2], i)
	}
	for i, s := range t.steps {
		if s.line >= 0 {
			of[s.line] = append(of[s.line], len(t.settings)+i)
		}
	}
	for _, first := range slices.Sorted(maps.Keys(of)) {
		if len(of[first]) > 1 {
			parts = append(parts, of[first])
		}
	}
	return parts
}

// has reports whether a trial has settings of all the variables, and something of all the lines, of a short one.
func (t *trial) has(short *trial) bool {
	if !slices.ContainsFunc(short.steps, func(s step) bool { return s.line >= 0 }) {
		return false
	}
	for _, s := range short.settings {
		if !slices.ContainsFunc(t.settings, func(o setting) bool { return o.name == s.name }) {
			return false
		}
	}
	for _, s := range short.steps {
		if s.line >= 0 && !slices.ContainsFunc(t.steps, func(o step) bool { return o.line == s.line }) {
			return false
		}
	}
	return true
}

func (t *trial) size() int { return len(t.settings) + len(t.steps) }

// shrink makes trials that differ shorter, all at once: each round tries each of them without each of its parts, and
// without all the parts that the round before did without one by one. It returns them with what then differs;
// those that do not differ when they run once more are left out.
func (r *runner) shrink(ctx context.Context, trials []*trial) (short []*trial, differ []string) {
	short = slices.Clone(trials)
	differ = make([]string, len(trials))
	spare := make([][]int, len(trials))
	done := make([]bool, len(trials))
	for round := range rounds {
		var list []*trial
		type try struct {
			of   int
			drop []int
		}
		var tries []try
		add := func(of int, drop ...int) {
			r.again++
			tries = append(tries, try{of, drop})
			list = append(list, short[of].without(database(again+r.again), drop...))
		}
		for i, t := range short {
			switch {
			case done[i]:
			case round == 0:
				add(i)
			default:
				if len(spare[i]) > 1 {
					add(i, spare[i]...)
				}
				if round == 1 {
					for _, drop := range t.large() {
						add(i, drop...)
					}
				}
				for n := range t.size() {
					add(i, n)
				}
			}
		}
		if len(list) == 0 {
			break
		}
		found, err := r.differing(ctx, list)
		if err != nil {
			r.t.Errorf("make trials shorter: %v", err)
			return nil, nil
		}
		best := make([]int, len(short))
		for i := range short {
			spare[i] = nil
		}
		for n, y := range tries {
			d := found[list[n].database]
			if d == "" {
				continue
			}
			if len(y.drop) == 1 {
				spare[y.of] = append(spare[y.of], y.drop[0])
			}
			if b := best[y.of]; b == 0 || len(y.drop) > len(tries[b-1].drop) {
				best[y.of] = n + 1
			}
		}
		for i := range short {
			if done[i] {
				continue
			}
			if best[i] == 0 {
				done[i] = true
				continue
			}
			y := tries[best[i]-1]
			differ[i] = found[list[best[i]-1].database]
			short[i] = list[best[i]-1]
			// What else could be left out is one place further to the front for each part that is gone before it.
			var rest []int
			for _, n := range spare[i] {
				if !slices.Contains(y.drop, n) {
					before := 0
					for _, d := range y.drop {
						if d < n {
							before++
						}
					}
					rest = append(rest, n-before)
				}
			}
			spare[i] = rest
		}
	}
	return short, differ
}

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
