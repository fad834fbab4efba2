package numbers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

const (
	// updateRows is the standard number of rows in the table, and updateCount of updates in a
	// round.
	updateRows  = 100_000
	updateCount = 20_000
	// updateMost is the most that an update adds: it is never nothing, which would not be
	// written.
	updateMost = 1000
)

// Update measures how many single rows a second one connection updates by their
// primary key, a commit after each.
func Update(l *lab.Lab) runner.Scenario {
	rows, count := wholeBulks(l.Options.Scaled(updateRows)), l.Options.Scaled(updateCount)
	places := numbersPlaces(context.Background(), l)
	s := runner.Scenario{
		Name: "update", Rounds: 5, Unit: runner.PerSecond, Settings: numbersSettings(l, rows, "100,000 updates by primary key: 122 s on disk, 16 s in shared memory"),
		Title:  fmt.Sprintf("%d random updates by primary key in a table of %d rows, a commit after each, one connection", count, rows),
		Beside: append([]runner.Measure{{Name: lab.TailLatency, Unit: runner.Seconds}}, numbersBeside()...),
		Conclusion: l.IfDisk(slices.ContainsFunc(places, lab.NotInRAM), func(r *runner.Result) string {
			return numbersConclusion(r, places, effort{count, count, "updates"})
		}),
	}
	s.Settings["dirty pages"] = lab.FlushNote
	s.Settings["statement"] = "prepared: " + updateStatement
	made := sync.OnceValue(func() numbersWork { return numbersOf(rows) })
	for i, at := range places {
		u := &updates{
			numbersServer: &numbersServer{PlacedServer: l.NewServer(at, fmt.Sprintf("update-%d", i+1))},
			made:          made, count: count,
		}
		s.Cases = append(s.Cases, u.row())
	}
	held := int64(len(places)) * int64(rows+3*count) * 8 // what a server's rows must be, and the updates of a round
	numbersNeed(l, places, rows+count, held).SetIn(&s)
	return s
}

const updateStatement = "UPDATE " + numbersTable + " SET n = n + ? WHERE id = ?"

// updates is a server and what must be in its table.
type updates struct {
	*numbersServer
	made  func() numbersWork // that fills the table
	count int                // of the updates in a round

	rounds uint64
	n      []int64 // by id - 1
	want   numbers
}

// anUpdate adds to the number of a row.
type anUpdate struct {
	id    int
	delta int64
}

// sequence is what a round updates: the same of every server's.
func (u *updates) sequence(round uint64) []anUpdate {
	list := make([]anUpdate, u.count)
	for i := range list {
		v := lab.Mix(lab.StreamRounds+round, uint64(i))
		list[i] = anUpdate{1 + int(v%uint64(u.want.rows)), 1 + int64(v>>32%updateMost)}
	}
	return list
}

func (u *updates) row() runner.Case {
	return runner.Case{
		Name: u.Row, Settings: u.About, Ours: u.Ramaria, Command: u.Lab.RepeatCommand("update", u.Place),
		Prepare: u.prepare, Found: u.Describe,
		Round: u.round,
		Check: func(ctx context.Context) error {
			if err := u.check(ctx, u.want); err != nil {
				return err
			}
			return u.settle(ctx)
		},
		Cleanup: u.end,
	}
}

func (u *updates) prepare(ctx context.Context) error {
	if err := u.open(ctx); err != nil {
		return err
	}
	if err := u.create(ctx); err != nil {
		return err
	}
	work := u.made()
	if err := u.fill(ctx, work); err != nil {
		return err
	}
	u.want = work.numbers
	u.n = make([]int64, 0, u.want.rows)
	for id := 1; id <= int(u.want.rows); id++ {
		u.n = append(u.n, numberAt(id))
	}
	return u.check(ctx, u.want)
}

func (u *updates) round(ctx context.Context) (runner.Sample, error) {
	list := u.sequence(u.rounds)
	u.rounds++
	var latencies []float64
	count := func(work func() error) (int64, error) { return u.CountFlushed(ctx, work) }
	t, err := u.time(count, func() (err error) {
		latencies, err = u.update(ctx, list)
		return err
	})
	if err != nil {
		return runner.Sample{}, err
	}
	u.expect(list)
	slices.Sort(latencies)
	return runner.Sample{
		Value:  float64(len(list)) / t.wall.Seconds(),
		Beside: u.beside(t, map[string]float64{lab.TailLatency: runner.NearestRank(latencies, 99)}),
	}, nil
}

// update makes updates, and returns what each of them took, in seconds.
func (u *updates) update(ctx context.Context, list []anUpdate) (latencies []float64, err error) {
	statement, err := u.conn.PrepareContext(ctx, updateStatement)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, statement.Close()) }()
	latencies = make([]float64, 0, len(list))
	for _, one := range list {
		began := time.Now()
		if _, err := statement.ExecContext(ctx, one.delta, one.id); err != nil {
			return nil, err
		}
		latencies = append(latencies, time.Since(began).Seconds())
	}
	return latencies, nil
}

// expect adds the updates to what must be in the table.
func (u *updates) expect(list []anUpdate) {
	for _, one := range list {
		n := u.n[one.id-1]
		u.n[one.id-1] += one.delta
		u.want.n += one.delta
		u.want.sum += numbersSum(one.id, n+one.delta) - numbersSum(one.id, n)
	}
}
