package runner

import (
	"context"
	"errors"
	"time"
)

func (r *Runner) limit() limit {
	now := r.Now
	if now == nil {
		now = time.Now
	}
	return limit{now: now, begin: now(), most: r.MaxTime, whole: r.Whole, cuts: r.MaxTime > 0 && !r.Whole && r.Now == nil}
}

// limit is the time that a run may take.
type limit struct {
	now   func() time.Time
	begin time.Time
	most  time.Duration // 0 for no bound
	whole bool          // but for one round of every row
	cuts  bool          // what goes on for too long is cut off: not by a clock of a test's
}

// errCut says that something was begun in time, and went on for too long.
var errCut = errors.New("cut off")

// bound returns a context that ends with errCut once what was begun in time has had enough.
func (l limit) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if !l.cuts {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, l.cut(), errCut)
}

// cut is when what was begun in time is cut off.
func (l limit) cut() time.Duration { return l.most + l.most/2 }

// over reports whether the time is over, or will be after something that takes a while.
func (l limit) over(while time.Duration) bool {
	return l.most > 0 && l.now().Sub(l.begin)+while > l.most
}
