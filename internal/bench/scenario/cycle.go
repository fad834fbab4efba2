package scenario

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/fixture"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Names of the rows that conclusions refer to.
const (
	RowCycleStock    = "stock, disk"
	RowCycleFlush    = "+ flush_log_at_trx_commit=2"
	RowCycleDirect   = "+ O_DIRECT"
	RowCycleRAM      = "stock, RAM"
	RowCycleTrx      = "RAM, in one transaction"
	RowCycleExtended = "RAM, extended INSERTs"
	RowCycleSession  = "RAM, one session"
	RowCycleLoad     = "ramaria load"
	RowCyclePacked   = "ramaria, packed dump, one session"
	RowCycleUp       = "ramaria up, hot image"
	RowCycleClone    = "ramaria, fresh clone"
	RowCycleOne      = "ramaria, reset"
	RowCycleHand     = "2 workers, by hand"
	RowCyclePacks    = "2 workers, ramaria, packed dump"
	RowCycleUps      = "2 workers, ramaria up, hot image"
	RowCycleClones   = "2 workers, ramaria, fresh clone"
	RowCycleReset    = "2 workers, ramaria, reset"
)

const (
	// cycleWorkers is how many tests run at once, each in a database of its own.
	cycleWorkers = 2
	// cycleTime is how long a round goes on; the cycles under way then are ended.
	cycleTime      = 3 * time.Second
	quickCycleTime = time.Second / 4
	// leastCycles are done by each worker of a round, as long as they take less than
	// longestCycles all together: one alone is no measure.
	leastCycles   = 3
	longestCycles = 10 * time.Second
	// cycleServers is how many servers there are at once.
	cycleServers = 10
)

// CycleScenario measures how often a second a test gets fresh data, step by step
// from a stock server on disk to a reset. On each the database is dropped, made and
// loaded, but for the resets, which put back three changed rows.
func CycleScenario(l *lab.Lab) runner.Scenario {
	d := newCycleRows(l)
	relaxed := map[string]string{"innodb_flush_log_at_trx_commit": "2"}
	direct := map[string]string{"innodb_flush_log_at_trx_commit": "2", "innodb_flush_method": "O_DIRECT"}
	files := l.FreshBytes() + 4*d.data.Size()
	return runner.Scenario{
		Name: "cycle", Title: "create a database, load it, drop it; the resets put back three changed rows: cycles a second", Unit: runner.PerSecond, Settings: d.settings, Rounds: 5, Conclusion: cycleConclusion, Beside: lab.FsyncBeside(),
		Disk: 4*l.FreshBytes() + 8*d.data.Size(), Memory: cycleServers*l.ResidentBytes() + 2*files, Shm: l.SharedMemoryOf(d.ram.Place, files) + l.SharedMemoryOfRAM(files),
		Cases: slices.Concat([]runner.Case{
			d.calls(RowCycleStock, d.stock, fixture.OneRow),
			d.calls(RowCycleFlush, l.NewServer(d.diskPlace(relaxed), "cycle-flush"), fixture.OneRow),
			d.calls(RowCycleDirect, l.NewServer(d.diskPlace(direct), "cycle-direct"), fixture.OneRow),
			d.calls(RowCycleRAM, d.ram, fixture.OneRow),
			d.transaction(), d.extended(), d.session(),
			d.load(), d.packed(),
		}, lab.WithStorage(l.VolumeStorage(""),
			d.up(RowCycleUp), d.clones(RowCycleClone), d.resets(RowCycleOne, "", 1),
			d.hands(RowCycleHand), d.packs(RowCyclePacks, RowCycleHand), d.changedUps(RowCycleUps, RowCycleHand, cycleWorkers), d.changedClones(RowCycleClones, RowCycleHand, cycleWorkers), d.resets(RowCycleReset, RowCycleHand, cycleWorkers),
		)),
	}
}

// cycleConclusion compares whole cycles: of two workers, and of one the first step and the last.
func cycleConclusion(r *runner.Result) string {
	m := medians(r)
	var list []string
	if reset, times := m[RowCycleReset], m[RowCycleReset]/m[RowCycleHand]; reset > 0 && times > 0 {
		list = append(list, fmt.Sprintf("of two workers, %.0f resets a second, each of three changed rows, %s times as many cycles as by hand", reset, twoDigits(times)))
	}
	if stock := m[RowCycleStock]; stock > 0 && m[RowCycleSession] > 0 && m[RowCycleOne] > 0 {
		list = append(list, fmt.Sprintf("of one worker, the best by hand is %s times a stock server on disk, a reset, which puts back three changed rows, %s times", twoDigits(m[RowCycleSession]/stock), twoDigits(m[RowCycleOne]/stock)))
	}
	if list == nil {
		return ""
	}
	return strings.Join(list, "; ") + "."
}

// cycleRows is what the rows of the cycle scenario share.
type cycleRows struct {
	lab      *lab.Lab
	data     *lab.Data
	settings map[string]string
	// stock and ram are servers that are set up by hand; instance is ramaria's, and so is templates.
	stock, ram, instance *lab.PlacedServer
	templates            *lab.TemplateServer
}

func newCycleRows(l *lab.Lab) *cycleRows {
	d := &cycleRows{lab: l, data: l.Data(), settings: l.Settings()}
	d.settings[runner.Published] = "cycles a second: stock 2.34, flush_log_at_trx_commit=2 2.88, O_DIRECT 2.92, ramfs 5.93, in one transaction 6.08, extended INSERTs 19.4, one session 22.2"
	d.data.Describe(d.settings)
	d.stock = l.NewServer(d.diskPlace(nil), "cycle-stock")
	d.ram = l.NewServer(d.ramPlace(), "cycle-ram")
	d.instance = l.NewServer(lab.Place{Name: lab.PlaceRamaria, About: "ramaria's settings, supervised", Ramaria: true}, "cycle")
	d.templates = &lab.TemplateServer{Lab: l, Name: "cycles", Settings: d.settings, Flags: func(_ context.Context, kind volume.Kind) ([]string, error) {
		return d.data.From(string(kind)), nil
	}}
	return d
}

// diskPlace is the disk, with settings over those of a stock server.
func (d *cycleRows) diskPlace(set map[string]string) lab.Place {
	s := lab.Place{Name: lab.PlaceDisk, Row: "stock", About: "stock settings", Parent: lab.DiskDir, Set: d.data.Set()}
	if len(set) > 0 {
		s = s.With(set)
	}
	return s
}

// ramPlace is RAM by hand: a ramfs, as in the published measurements, and where
// no ramfs is possible, shared memory.
func (d *cycleRows) ramPlace() lab.Place {
	s := lab.Place{Name: lab.PlaceRAMByHand, Row: "RAM", About: "stock settings, data directory in shared memory", Parent: lab.ShmDir, Set: d.data.Set()}
	if os.Geteuid() == 0 {
		s.About, s.Parent = "stock settings, data directory on ramfs, else in shared memory", inRamfs
	}
	return s
}

// inRamfs is the directory of the lab's volume ramfs.
func inRamfs(l *lab.Lab) (string, error) {
	v, err := l.OpenVolume(context.Background(), volume.Ramfs)
	if err != nil {
		return lab.ShmDir(l)
	}
	return v.Dir(), v.Close()
}

// begin prepares the data, and a server that is set up by hand.
func (d *cycleRows) begin(ctx context.Context, r *lab.PlacedServer) (lab.ShellClient, error) {
	if err := d.data.Ready(ctx); err != nil {
		return lab.ShellClient{}, err
	}
	if r.Ramaria && r.Kind == "" {
		kind, err := d.lab.RAMKind(ctx)
		if err != nil {
			return lab.ShellClient{}, err
		}
		r.Kind, d.settings["volume"] = kind, string(kind)
	}
	if err := r.Start(ctx); err != nil {
		return lab.ShellClient{}, err
	}
	if r == d.ram {
		d.settings["RAM by hand"] = runner.Filesystem(d.lab.Host, r.Data)
	}
	return d.lab.ShellClient(r.Endpoint, filepath.Join(d.lab.Dir, r.Name+".cnf"))
}

// cycles lets workers go through whole cycles for the time of a round, and returns how many
// they did in a second, all together.
func (d *cycleRows) cycles(ctx context.Context, workers int, cycle func(ctx context.Context, worker int) error) (runner.Sample, error) {
	limit := cycleTime
	if d.lab.Options.Quick {
		limit = quickCycleTime
	}
	var done atomic.Int64
	began := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	for n := range workers {
		g.Go(func() error {
			enough := func(n int) bool {
				took := time.Since(began)
				return took >= limit && (n >= leastCycles || took >= longestCycles)
			}
			for i := 0; !enough(i); i++ {
				if err := cycle(ctx, n); err != nil {
					return err
				}
				done.Add(1)
			}
			return nil
		})
	}
	err := g.Wait()
	return runner.Sample{Value: float64(done.Load()) / time.Since(began).Seconds()}, err
}
