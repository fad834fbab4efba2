package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Names of the rows that conclusions refer to.
const (
	RowCycleHand  = "by hand"
	RowCycleReset = "ramaria"
)

const (
	// cycleWorkers is how many tests run at once, each in a database of its own.
	cycleWorkers = 2
	// cycleTime is how long a round goes on; the cycles under way then are ended.
	cycleTime = 3 * time.Second
)

// CycleScenario measures whole cycles of tests that change three rows over a connection
// that stays open, and have their database put back.
func (l *Lab) CycleScenario() Scenario {
	settings := l.settings()
	return Scenario{
		Name: "cycle", Title: fmt.Sprintf("change 3 rows, have them put back: cycles a second of %d workers together", cycleWorkers), Unit: PerSecond, Settings: settings,
		Cases: []Case{l.handCycles(), l.resetCycles(settings)},
	}
}

// handCycles has the worker's database dropped, made and loaded in each cycle.
func (l *Lab) handCycles() Case {
	h := &hand{lab: l}
	type worker struct {
		database, recipe string
		db               *sql.DB
		conn             *sql.Conn
	}
	var workers []*worker
	return Case{
		Name: RowCycleHand, Settings: "drop, create and load by one session of the client; ramaria's settings without a binary log, in RAM",
		Prepare: func(ctx context.Context) (err error) {
			if err := h.begin(ctx); err != nil {
				return err
			}
			for n := range cycleWorkers {
				w := &worker{database: fmt.Sprintf("hand_%d", n+1)}
				workers = append(workers, w)
				if w.recipe, err = h.recipe(w.database); err != nil {
					return err
				}
				if err := h.client(ctx, w.recipe); err != nil {
					return err
				}
				if w.db, err = server.Open(h.socket(), h.login, w.database); err != nil {
					return err
				}
				if w.conn, err = w.db.Conn(ctx); err != nil {
					return err
				}
			}
			return nil
		},
		Round: func(ctx context.Context) (Sample, error) {
			return cycles(ctx, func(ctx context.Context, n int) error {
				if err := makeChanges(ctx, workers[n].conn, worldChanges); err != nil {
					return err
				}
				return h.client(ctx, workers[n].recipe)
			})
		},
		Check: func(ctx context.Context) error {
			var errs []error
			for _, w := range workers {
				errs = append(errs, h.verify(ctx, w.database))
			}
			return errors.Join(errs...)
		},
		Cleanup: func(context.Context) error {
			for _, w := range workers {
				if w.conn != nil {
					w.conn.Close()
				}
				if w.db != nil {
					w.db.Close()
				}
			}
			return h.close()
		},
	}
}

// resetCycles has the worker's lease reset in each cycle.
func (l *Lab) resetCycles(settings map[string]string) Case {
	f := &farm{lab: l, name: "cycles", settings: settings, flags: func(_ context.Context, kind volume.Kind) ([]string, error) {
		return l.From(string(kind)), nil
	}}
	var leases []*lease
	return Case{
		Name: RowCycleReset, Settings: "reset through the HTTP API, connection kept; ramaria's settings, in RAM",
		Prepare: func(ctx context.Context) error {
			for range cycleWorkers {
				w, err := f.newLease(ctx, labDatabase)
				if err != nil {
					return err
				}
				leases = append(leases, w)
			}
			return nil
		},
		Round: func(ctx context.Context) (Sample, error) {
			return cycles(ctx, func(ctx context.Context, n int) error {
				_, _, err := leases[n].cycle(ctx, worldChanges, wayRewind)
				return err
			})
		},
		Check: func(ctx context.Context) error {
			var errs []error
			for _, w := range leases {
				errs = append(errs, f.same(ctx, w.Name, labDatabase))
			}
			return errors.Join(errs...)
		},
		Cleanup: func(ctx context.Context) error {
			for _, w := range leases {
				w.close()
			}
			return f.end(ctx)
		},
	}
}

// cycles has all workers go through whole cycles for cycleTime, and returns how many
// they did in a second, all together.
func cycles(ctx context.Context, cycle func(ctx context.Context, worker int) error) (Sample, error) {
	var done atomic.Int64
	began := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	for n := range cycleWorkers {
		g.Go(func() error {
			for time.Since(began) < cycleTime {
				if err := cycle(ctx, n); err != nil {
					return err
				}
				done.Add(1)
			}
			return nil
		})
	}
	err := g.Wait()
	return Sample{Value: float64(done.Load()) / time.Since(began).Seconds()}, err
}
