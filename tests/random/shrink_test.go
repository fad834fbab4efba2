package random

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	// shrinking is for how long a life that failed is made shorter.
	shrinking = 40 * time.Second
	// attempts is how often a life is lived again until it counts as one that fails in a race only.
	attempts = 3
)

// shrink drops steps from a life while it still fails, alone in a clone of its own.
func (r *runner) shrink(ctx context.Context, name string, t *template, steps []step) (shorter []step, how string) {
	end := time.Now().Add(shrinking)
	n := 0
	fails := func(list []step) bool {
		n++
		// A name of its own: a clone that was another's could be dirty before it is used.
		_, err := r.live(ctx, fmt.Sprintf("%s/%d", name, n), fmt.Sprintf("again_%s_%d", name, n), t, list)
		return err != nil
	}
	alone := false
	for range attempts {
		if alone = fails(steps); alone {
			break
		}
	}
	if !alone {
		return steps, fmt.Sprintf("It does not fail alone (%d attempts), so others have their part in it. The whole life", attempts)
	}
	for size := len(steps) / 2; size > 0 && time.Now().Before(end); {
		dropped := false
		for from := 0; from < len(steps) && time.Now().Before(end); {
			// The last steps matter most, so begin at the other end.
			list := slices.Delete(slices.Clone(steps), from, min(from+size, len(steps)))
			if fails(list) {
				steps, dropped = list, true
			} else {
				from += size
			}
		}
		if !dropped || size > len(steps) {
			size /= 2
		}
	}
	return steps, fmt.Sprintf("What is left after dropping steps (%d attempts)", n)
}
