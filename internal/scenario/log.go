package scenario

import (
	"context"
	"errors"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// logSeconds is how long one round of a row of the LogScenario runs.
const logSeconds = 5

// LogWorkloads are those of sysbench that the LogScenario runs.
var LogWorkloads = []string{"oltp_write_only", "oltp_read_write", "oltp_update_index"}

// RowNoLog is the name of a workload's row without the binary log.
func RowNoLog(workload string) string { return workload + ", no log" }

// RowLog is the name of its row with the binary log.
func RowLog(workload string) string { return workload + ", log" }

// RowWatched is the name of its row with the journal reading the log, since there is a lease.
func RowWatched(workload string) string { return workload + ", log and journal" }

// LogScenario measures what the binary log and the journal cost the tests.
func (l *Lab) LogScenario() bench.Scenario {
	flags := func(ctx context.Context, kind volume.Kind) ([]string, error) {
		return l.sysbenchFrom(ctx, poolData, string(kind))
	}
	bare := &bareLoad{lab: l, flags: flags}
	settings := l.sysbenchSettings(poolData)
	logged := &farm{lab: l, name: "logged", flags: flags, settings: settings}
	watched := &watchedLoad{farm: &farm{lab: l, name: "watched", flags: flags, settings: settings}}
	s := bench.Scenario{
		Name: "log", Rounds: 5, Conclude: concludeLog, Unit: bench.PerSecond, Memory: 3 * (l.residentBytes() + poolData.memory()), Shm: l.shmOfRAM(3 * poolData.memory()), Settings: settings, Beside: fsyncBeside(),
		Title: fmt.Sprintf("transactions of sysbench, %d threads, %d s in turn, %s of data in RAM", sysbenchThreads, logSeconds, bench.Bytes.Format(float64(poolData.size()))),
	}
	for _, w := range LogWorkloads {
		s.Cases = append(s.Cases, located(l.onVolume(""), bare.workload(w), loggedWorkload(logged, w), watched.workload(w))...)
	}
	return s
}

// bareLoad is a server without a log, and its load.
type bareLoad struct {
	*logless
	lab   *Lab
	flags func(ctx context.Context, kind volume.Kind) ([]string, error)
	begun bool
	err   error
}

func (b *bareLoad) begin(ctx context.Context) error {
	if b.begun {
		return b.err
	}
	b.begun = true
	b.err = b.start(ctx)
	return b.err
}

func (b *bareLoad) start(ctx context.Context) error {
	kind, err := b.lab.ramKind(ctx)
	if err != nil {
		return err
	}
	flags, err := b.flags(ctx, kind)
	if err != nil {
		return err
	}
	image, err := b.lab.imageOn(ctx, kind, flags)
	if err != nil {
		return err
	}
	b.logless, err = b.lab.startLogless(ctx, "nolog", kind, image)
	return err
}

func (b *bareLoad) workload(workload string) bench.Case {
	const database = "sbtest"
	return bench.Case{
		Name: RowNoLog(workload), Base: RowNoLog(workload), Settings: "ramaria's settings without a binary log, no supervisor",
		Prepare: b.begin,
		Round: func(ctx context.Context) (bench.Sample, error) {
			return b.lab.rate(ctx, b.endpoint(database), "nolog", workload)
		},
		Check: func(ctx context.Context) error {
			db, err := server.Open(b.socket(), b.login, database)
			if err != nil {
				return err
			}
			defer db.Close()
			return checkTablesIn(ctx, db, "the server without a log", poolData, 1)
		},
		Cleanup: func(context.Context) error { return b.close() },
	}
}

// loggedWorkload runs on an instance that has no templates, so that nobody reads its log.
func loggedWorkload(f *farm, workload string) bench.Case {
	return bench.Case{
		Name: RowLog(workload), Ours: true, Base: RowNoLog(workload), Settings: "ramaria's settings, no template",
		Prepare: f.begin,
		Round: func(ctx context.Context) (bench.Sample, error) {
			return f.lab.rate(ctx, f.instance.Endpoint, f.name, workload)
		},
		Check:   func(ctx context.Context) error { return f.lab.checkTables(ctx, f.name, poolData, 1) },
		Cleanup: f.end,
	}
}

// watchedLoad is a lease, and its load.
type watchedLoad struct {
	*farm
	lease *lease
}

func (w *watchedLoad) workload(workload string) bench.Case {
	return bench.Case{
		Name: RowWatched(workload), Ours: true, Base: RowNoLog(workload), Settings: "ramaria's settings, in a clone of a template, by its account, worn in after each reset",
		Prepare: func(ctx context.Context) (err error) {
			if w.lease == nil {
				w.lease, err = w.newLease(ctx, "sbtest")
			}
			return err
		},
		// The first run wears the rows in, as those of the other cases are, which nobody puts back:
		// rows that were just inserted lie closer, and took 6 % longer to change.
		Round: func(ctx context.Context) (s bench.Sample, err error) {
			for range 2 {
				if s, err = w.lab.rate(ctx, w.lease.endpoint(), w.name, workload); err != nil {
					return s, err
				}
			}
			return s, nil
		},
		// As a test would, it has the database put back: the journal begins again with nothing.
		Check: func(ctx context.Context) error {
			return errors.Join(checkTablesIn(ctx, w.lease.db, "database "+w.lease.Name, poolData, 1), w.lease.reset(ctx, ""), w.same(ctx, w.lease.Name, "sbtest"))
		},
		Cleanup: func(ctx context.Context) error {
			w.lease.close()
			return w.end(ctx)
		},
	}
}

// rate runs a workload for logSeconds, and returns its transactions per second.
func (l *Lab) rate(ctx context.Context, e server.Endpoint, name, workload string) (bench.Sample, error) {
	wait, err := l.startSysbenchAt(ctx, e, name, workload, poolData, logSeconds)
	if err != nil {
		return bench.Sample{}, err
	}
	tps, err := wait()
	return bench.Sample{Value: tps}, err
}
