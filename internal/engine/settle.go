package engine

import (
	"context"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/instance"
)

const (
	// settlePoll is the pause between two looks at an instance that starts or stops.
	settlePoll = 20 * time.Millisecond
	// settleFirst and settleAgain are after how long that is said, and said again.
	settleFirst, settleAgain = time.Second, 10 * time.Second
)

// settle waits for as long as an instance starts or stops, by a command that was killed meanwhile or by its
// supervisor itself, and returns its state after that.
func (e *Engine) settle(ctx context.Context, r *instance.Record, s instance.State) (instance.State, error) {
	began := time.Now()
	say := began.Add(settleFirst)
	for s.Phase == instance.Starting || s.Phase == instance.Stopping {
		if now := time.Now(); now.After(say) {
			say = now.Add(settleAgain)
			e.note("instance %s is %s, for %s; waiting until that is over\nhint: ramaria logs %[1]s shows what its server does", r.Name, s.Phase, now.Sub(s.Since).Round(time.Second))
			e.noteWarnings(r, s)
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(settlePoll):
		}
		var err error
		if s, err = r.State(); err != nil {
			return s, err
		}
	}
	return s, nil
}

// tellStart notes what an instance waits for that is being started, and now and then that it does, until the
// function is called that it returns.
func (e *Engine) tellStart(r *instance.Record) (over func()) {
	done, told := make(chan struct{}), make(chan struct{})
	began := time.Now()
	t := &startTold{e: e, r: r, began: began, again: began.Add(settleAgain)}
	go func() {
		defer close(told)
		ticks := time.NewTicker(settleFirst)
		defer ticks.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-ticks.C:
				t.look(now)
			}
		}
	}()
	return func() {
		close(done)
		<-told
	}
}

// startTold is what was told of a start.
type startTold struct {
	e        *Engine
	r        *instance.Record
	warnings []string
	// began is when the start began, and again when something is to be said even if there is no news.
	began, again time.Time
}

func (t *startTold) look(now time.Time) {
	s, err := t.r.State()
	switch {
	case err == nil && s.Phase == instance.Starting && !slices.Equal(s.Warnings, t.warnings):
		t.warnings = s.Warnings
		t.e.noteWarnings(t.r, s)
	case now.Before(t.again):
		return
	default:
		t.e.note("instance %s: its server does not answer yet, after %s\nhint: ramaria logs %[1]s shows what it does", t.r.Name, now.Sub(t.began).Round(time.Second))
	}
	t.again = now.Add(settleAgain)
}

func (e *Engine) noteWarnings(r *instance.Record, s instance.State) {
	for _, text := range s.Warnings {
		e.note("instance %s: %s", r.Name, text)
	}
}
