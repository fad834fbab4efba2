package scenario

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/dbconn"
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
func LogScenario(l *lab.Lab) runner.Scenario {
	flags := func(ctx context.Context, kind volume.Kind) ([]string, error) {
		return l.SysbenchFlags(ctx, lab.PoolData, string(kind))
	}
	bare := &bareLoad{lab: l, flags: flags}
	settings := l.SysbenchSettings(lab.PoolData)
	logged := &lab.TemplateServer{Lab: l, Name: "logged", Flags: flags, Settings: settings}
	watched := &watchedLoad{TemplateServer: &lab.TemplateServer{Lab: l, Name: "watched", Flags: flags, Settings: settings}}
	s := runner.Scenario{
		Name: "log", Rounds: 5, Conclusion: logConclusion, Unit: runner.PerSecond, Memory: 3 * (l.ResidentBytes() + lab.PoolData.Memory()), Shm: l.SharedMemoryOfRAM(3 * lab.PoolData.Memory()), Settings: settings, Beside: lab.FsyncBeside(),
		Title: fmt.Sprintf("transactions of sysbench, %d threads, %d s in turn, %s of data in RAM", lab.SysbenchThreads, logSeconds, runner.Bytes.Format(float64(lab.PoolData.Size()))),
	}
	for _, w := range LogWorkloads {
		s.Cases = append(s.Cases, lab.WithStorage(l.VolumeStorage(""), bare.workload(w), loggedWorkload(logged, w), watched.workload(w))...)
	}
	return s
}

// logConclusion says what share of the throughput the log and the journal cost.
func logConclusion(r *runner.Result) string {
	m := medians(r)
	var list []string
	for _, w := range LogWorkloads {
		off := m[RowNoLog(w)]
		log, both := 1-m[RowLog(w)]/off, 1-m[RowWatched(w)]/off
		if !math.IsNaN(log) && !math.IsNaN(both) {
			list = append(list, fmt.Sprintf("%s %s (%s the log alone)", w, cost(both), cost(log)))
		}
	}
	if list == nil {
		return ""
	}
	return "the log and the journal cost: " + strings.Join(list, ", ") + "."
}

// bareLoad is a server without a log, and its load.
type bareLoad struct {
	*lab.NoLogServer
	lab   *lab.Lab
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
	kind, err := b.lab.RAMKind(ctx)
	if err != nil {
		return err
	}
	flags, err := b.flags(ctx, kind)
	if err != nil {
		return err
	}
	image, err := b.lab.BuildImage(ctx, kind, flags)
	if err != nil {
		return err
	}
	b.NoLogServer, err = b.lab.StartWithoutLog(ctx, "nolog", kind, image)
	return err
}

func (b *bareLoad) workload(workload string) runner.Case {
	const database = "sbtest"
	return runner.Case{
		Name: RowNoLog(workload), Base: RowNoLog(workload), Settings: "ramaria's settings without a binary log, no supervisor",
		Prepare: b.begin,
		Round: func(ctx context.Context) (runner.Sample, error) {
			return logRate(ctx, b.lab, b.Endpoint(database), "nolog", workload)
		},
		Check: func(ctx context.Context) error {
			db, err := dbconn.Open(b.Socket(), b.Login, database)
			if err != nil {
				return err
			}
			defer db.Close()
			return lab.CheckTablesIn(ctx, db, "the server without a log", lab.PoolData, 1)
		},
		Cleanup: func(context.Context) error { return b.Close() },
	}
}

// loggedWorkload runs on an instance that has no templates, so that its log is not read.
func loggedWorkload(f *lab.TemplateServer, workload string) runner.Case {
	return runner.Case{
		Name: RowLog(workload), Ours: true, Base: RowNoLog(workload), Settings: "ramaria's settings, no template",
		Prepare: f.Start,
		Round: func(ctx context.Context) (runner.Sample, error) {
			return logRate(ctx, f.Lab, f.Instance.Endpoint, f.Name, workload)
		},
		Check:   func(ctx context.Context) error { return f.Lab.CheckTables(ctx, f.Name, lab.PoolData, 1) },
		Cleanup: f.Stop,
	}
}

// watchedLoad is a lease, and its load.
type watchedLoad struct {
	*lab.TemplateServer
	lease *lab.Lease
}

func (w *watchedLoad) workload(workload string) runner.Case {
	return runner.Case{
		Name: RowWatched(workload), Ours: true, Base: RowNoLog(workload), Settings: "ramaria's settings, in a clone of a template, by its account, worn in after each reset",
		Prepare: func(ctx context.Context) (err error) {
			if w.lease == nil {
				w.lease, err = w.NewLease(ctx, "sbtest")
			}
			return err
		},
		// The first run wears the rows in, as those of the other cases are, which are not put back:
		// rows that were just inserted lie closer, and took 6 % longer to change.
		Round: func(ctx context.Context) (s runner.Sample, err error) {
			for range 2 {
				if s, err = logRate(ctx, w.Lab, w.lease.Endpoint(), w.Name, workload); err != nil {
					return s, err
				}
			}
			return s, nil
		},
		// As a test would, it has the database put back: the journal begins again with nothing.
		Check: func(ctx context.Context) error {
			return errors.Join(lab.CheckTablesIn(ctx, w.lease.DB, "database "+w.lease.Name, lab.PoolData, 1), w.lease.Reset(ctx, ""), w.CheckClone(ctx, w.lease.Name, "sbtest"))
		},
		Cleanup: func(ctx context.Context) error {
			w.lease.Close()
			return w.Stop(ctx)
		},
	}
}

// logRate runs a workload for logSeconds, and returns its transactions per second.
func logRate(ctx context.Context, l *lab.Lab, e dbconn.Endpoint, name, workload string) (runner.Sample, error) {
	wait, err := l.StartSysbenchAt(ctx, e, name, workload, lab.PoolData, logSeconds)
	if err != nil {
		return runner.Sample{}, err
	}
	tps, err := wait()
	return runner.Sample{Value: tps}, err
}
