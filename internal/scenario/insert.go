package scenario

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/ramaria-db/ramaria/internal/bench"
)

// insertRows is the standard number of rows of a round: 2 to 5 seconds on a common disk.
const insertRows = 500_000

// InsertScenario measures how many rows a second one connection inserts in bulk, into a
// table that is empty at first.
func (l *Lab) InsertScenario() bench.Scenario {
	rows := wholeBulks(l.Options.scaled(insertRows))
	made := sync.OnceValue(func() numbersWork { return numbersOf(rows) })
	places := l.numbersPlaces(context.Background())
	s := bench.Scenario{
		Name: "insert", Rounds: 5, Unit: bench.PerSecond, Settings: l.numbersSettings(rows, "10 million rows, 1000 in each INSERT: 202 s on disk, 66 s in shared memory"),
		Title:  fmt.Sprintf("%d rows into an empty table, %d in each INSERT, a commit after each, one connection", rows, numbersBulk),
		Beside: numbersBeside(),
		Conclude: l.ofDisk(slices.ContainsFunc(places, onNoRAM), func(r *bench.Result) string {
			return concludeNumbers(r, places, effort{rows, rows / numbersBulk, "rows"})
		}),
	}
	for i, at := range places {
		s.Cases = append(s.Cases, l.insertCase(&numbersServer{running: l.running(at, fmt.Sprintf("insert-%d", i+1))}, made))
	}
	l.numbersRoom(places, rows, 0).of(&s)
	return s
}

func (l *Lab) insertCase(server *numbersServer, made func() numbersWork) bench.Case {
	return bench.Case{
		Name: server.row, Settings: server.says, Command: l.again("insert", server.place),
		Prepare: server.open, Found: server.found,
		Round: func(ctx context.Context) (bench.Sample, error) {
			work := made()
			if err := server.create(ctx); err != nil {
				return bench.Sample{}, err
			}
			t, err := server.time(server.written, func() error { return server.fill(ctx, work) })
			if err != nil {
				return bench.Sample{}, err
			}
			return bench.Sample{Value: float64(work.rows) / t.wall.Seconds(), Beside: server.beside(t, nil)}, nil
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
