package numbers

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// insertRows is the standard number of rows of a round: 2 to 5 seconds on a common disk.
const insertRows = 500_000

// Insert measures how many rows a second one connection inserts in bulk, into a
// table that is empty at first.
func Insert(l *lab.Lab) runner.Scenario {
	rows := wholeBulks(l.Options.Scaled(insertRows))
	made := sync.OnceValue(func() numbersWork { return numbersOf(rows) })
	places := numbersPlaces(context.Background(), l)
	s := runner.Scenario{
		Name: "insert", Rounds: 5, Unit: runner.PerSecond, Settings: numbersSettings(l, rows, "10 million rows, 1000 in each INSERT: 202 s on disk, 66 s in shared memory"),
		Title:  fmt.Sprintf("%d rows into an empty table, %d in each INSERT, a commit after each, one connection", rows, numbersBulk),
		Beside: numbersBeside(),
		Conclusion: l.IfDisk(slices.ContainsFunc(places, lab.NotInRAM), func(r *runner.Result) string {
			return numbersConclusion(r, places, effort{rows, rows / numbersBulk, "rows"})
		}),
	}
	for i, at := range places {
		s.Cases = append(s.Cases, insertCase(l, &numbersServer{PlacedServer: l.NewServer(at, fmt.Sprintf("insert-%d", i+1))}, made))
	}
	numbersNeed(l, places, rows, 0).SetIn(&s)
	return s
}

func insertCase(l *lab.Lab, server *numbersServer, made func() numbersWork) runner.Case {
	return runner.Case{
		Name: server.Row, Settings: server.About, Ours: server.Ramaria, Command: l.RepeatCommand("insert", server.Place),
		Prepare: server.open, Found: server.Describe,
		Round: func(ctx context.Context) (runner.Sample, error) {
			work := made()
			if err := server.create(ctx); err != nil {
				return runner.Sample{}, err
			}
			t, err := server.time(server.CountWritten, func() error { return server.fill(ctx, work) })
			if err != nil {
				return runner.Sample{}, err
			}
			return runner.Sample{Value: float64(work.rows) / t.wall.Seconds(), Beside: server.beside(t, nil)}, nil
		},
		Check: func(ctx context.Context) error {
			if err := server.check(ctx, made().numbers); err != nil {
				return err
			}
			// A table that is gone has no pages that would be written during the others' rounds, and
			// those that it still had in the pool are not counted.
			return server.settle(ctx, "DROP TABLE "+numbersTable)
		},
		Cleanup: server.end,
	}
}
