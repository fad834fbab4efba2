package scenario

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/dump"
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

// CycleScenario measures how often a second a test gets its data anew: every rung of a
// ladder from a stock server on disk to a reset. On each the database is dropped, made and
// loaded, but for the resets, which put back three changed rows.
func (l *Lab) CycleScenario() bench.Scenario {
	d := l.ladder()
	relaxed := map[string]string{"innodb_flush_log_at_trx_commit": "2"}
	direct := map[string]string{"innodb_flush_log_at_trx_commit": "2", "innodb_flush_method": "O_DIRECT"}
	files := l.freshBytes() + 4*d.payload.size()
	return bench.Scenario{
		Name: "cycle", Title: "create a database, load it, drop it; the resets put back three changed rows: cycles a second", Unit: bench.PerSecond, Settings: d.settings, Rounds: 5, Conclude: concludeCycle, Beside: fsyncBeside(),
		Disk: 4*l.freshBytes() + 8*d.payload.size(), Memory: cycleServers*l.residentBytes() + 2*files, Shm: l.shmOf(d.ram.place, files) + l.shmOfRAM(files),
		Cases: slices.Concat([]bench.Case{
			d.calls(RowCycleStock, d.stock, fixture.OneRow),
			d.calls(RowCycleFlush, l.running(d.onDisk(relaxed), "cycle-flush"), fixture.OneRow),
			d.calls(RowCycleDirect, l.running(d.onDisk(direct), "cycle-direct"), fixture.OneRow),
			d.calls(RowCycleRAM, d.ram, fixture.OneRow),
			d.transaction(), d.extended(), d.session(),
			d.load(), d.packed(),
		}, located(l.onVolume(""),
			d.up(RowCycleUp), d.clones(RowCycleClone), d.resets(RowCycleOne, "", 1),
			d.hands(RowCycleHand), d.packs(RowCyclePacks, RowCycleHand), d.changedUps(RowCycleUps, RowCycleHand, cycleWorkers), d.changedClones(RowCycleClones, RowCycleHand, cycleWorkers), d.resets(RowCycleReset, RowCycleHand, cycleWorkers),
		)),
	}
}

// ladder is what the rows of the cycle scenario share.
type ladder struct {
	lab      *Lab
	payload  *payload
	settings map[string]string
	// stock and ram are servers that are set up by hand; instance is ramaria's, and so is farm.
	stock, ram, instance *running
	farm                 *farm
}

func (l *Lab) ladder() *ladder {
	d := &ladder{lab: l, payload: l.payload(), settings: l.settings()}
	d.settings[bench.Published] = "cycles a second: stock 2.34, flush_log_at_trx_commit=2 2.88, O_DIRECT 2.92, ramfs 5.93, in one transaction 6.08, extended INSERTs 19.4, one session 22.2"
	d.payload.describe(d.settings)
	d.stock = l.running(d.onDisk(nil), "cycle-stock")
	d.ram = l.running(d.inRAM(), "cycle-ram")
	d.instance = l.running(place{name: PlaceRamaria, says: "ramaria's settings, supervised", ramaria: true}, "cycle")
	d.farm = &farm{lab: l, name: "cycles", settings: d.settings, flags: func(_ context.Context, kind volume.Kind) ([]string, error) {
		return d.payload.from(string(kind)), nil
	}}
	return d
}

// onDisk is the disk, with settings over those of a stock server.
func (d *ladder) onDisk(set map[string]string) place {
	s := place{name: placeDisk, row: "stock", says: "stock settings", parent: onDisk, set: d.payload.set()}
	if len(set) > 0 {
		s = s.with(set)
	}
	return s
}

// inRAM is RAM by hand: a ramfs, as in the measurements that this ladder is after, and where
// there is none shared memory.
func (d *ladder) inRAM() place {
	s := place{name: placeRAMByHand, row: "RAM", says: "stock settings, data directory in shared memory", parent: inShm, set: d.payload.set()}
	if os.Geteuid() == 0 {
		s.says, s.parent = "stock settings, data directory on ramfs, else in shared memory", inRamfs
	}
	return s
}

// inRamfs is the directory of the lab's volume ramfs.
func inRamfs(l *Lab) (string, error) {
	v, err := l.volume(context.Background(), volume.Ramfs)
	if err != nil {
		return inShm(l)
	}
	return v.Dir(), v.Close()
}

// begin has the payload ready, and a server that is set up by hand.
func (d *ladder) begin(ctx context.Context, r *running) (shellClient, error) {
	if err := d.payload.ready(ctx); err != nil {
		return shellClient{}, err
	}
	if r.ramaria && r.kind == "" {
		kind, err := d.lab.ramKind(ctx)
		if err != nil {
			return shellClient{}, err
		}
		r.kind, d.settings["volume"] = kind, string(kind)
	}
	if err := r.begin(ctx); err != nil {
		return shellClient{}, err
	}
	if r == d.ram {
		d.settings["RAM by hand"] = bench.Filesystem(d.lab.Host, r.data)
	}
	return d.lab.shellClient(r.endpoint, filepath.Join(d.lab.Dir, r.name+".cnf"))
}

// client is a row whose rounds are calls of the client; path is that of what is loaded, and
// is asked for when the payload is ready.
func (d *ladder) client(c bench.Case, r *running, path func(ctx context.Context) (string, error), round func(ctx context.Context, client shellClient, path string) (bench.Sample, error)) bench.Case {
	var client shellClient
	var file string
	c.Prepare = func(ctx context.Context) (err error) {
		if client, err = d.begin(ctx, r); err != nil {
			return err
		}
		file, err = path(ctx)
		return err
	}
	c.Round = func(ctx context.Context) (bench.Sample, error) { return round(ctx, client, file) }
	// The last load of a round is dropped in the next.
	c.Check = func(ctx context.Context) error { return d.payload.verify(ctx, r.endpoint, d.payload.database) }
	c.Cleanup = r.close
	return located(r.here, c)[0]
}

// cycling is client for rounds of cycles.
func (d *ladder) cycling(c bench.Case, r *running, path func(ctx context.Context) (string, error), cycle func(ctx context.Context, client shellClient, path string) error) bench.Case {
	return d.client(c, r, path, func(ctx context.Context, client shellClient, path string) (bench.Sample, error) {
		return d.cycles(ctx, 1, func(ctx context.Context, _ int) error { return cycle(ctx, client, path) })
	})
}

// calls is the shell script of old: three calls of the client for each cycle.
func (d *ladder) calls(name string, r *running, shape fixture.Shape) bench.Case {
	return d.cycling(bench.Case{
		Name: name, Settings: r.says + "; " + d.shape(shape) + "; three calls of the client",
		Command: d.script("CLIENT -e 'drop database DATABASE'; CLIENT -e 'create database DATABASE'; CLIENT DATABASE < DUMP", shape),
	}, r, d.file(shape), d.payload.cycle)
}

func (d *ladder) file(shape fixture.Shape) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return d.payload.file(shape) }
}

// script is a command line for people: of CLIENT, DATABASE and the dump in a shape.
func (d *ladder) script(text string, shape fixture.Shape) string {
	database, dumped := labDatabase, shape.String()+".sql"
	if d.payload.own != "" {
		database = dump.DatabaseName(d.payload.own)
		dumped = database + ".sql" // the client reads it unpacked
	}
	return strings.NewReplacer("CLIENT", string(d.lab.Server.Flavour), "DATABASE", database, "DUMP", dumped).Replace(text)
}

// shape is what the dump is like, in a word.
func (d *ladder) shape(shape fixture.Shape) string {
	if d.payload.own != "" {
		return filepath.Base(d.payload.own)
	}
	return shape.String()
}

// transaction is the dump between two statements.
func (d *ladder) transaction() bench.Case {
	return d.cycling(bench.Case{
		Name: RowCycleTrx, Settings: d.ram.says + "; SET autocommit=0 before " + d.shape(fixture.OneRow) + ", COMMIT behind it, though statements such as CREATE TABLE commit as well; three calls of the client",
		Command: d.script("(echo 'SET autocommit=0;'; cat DUMP; echo 'COMMIT;') | CLIENT DATABASE", fixture.OneRow),
	}, d.ram, func(context.Context) (string, error) {
		path, err := d.payload.file(fixture.OneRow)
		if err != nil {
			return "", err
		}
		return d.lab.framed("transaction", "SET autocommit=0;\n", path, "\nCOMMIT;\n")
	}, d.payload.cycle)
}

func (d *ladder) extended() bench.Case {
	c := d.calls(RowCycleExtended, d.ram, fixture.Extended)
	if d.payload.own != "" {
		c.Prepare = func(context.Context) error {
			return leftOutError("your dump is loaded as it is; a row further down has it packed")
		}
	}
	return c
}

// session is everything in one call.
func (d *ladder) session() bench.Case {
	return d.cycling(bench.Case{
		Name: RowCycleSession, Settings: d.ram.says + "; " + d.shape(fixture.Extended) + "; one call of the client",
		Command: d.script("(echo 'drop database DATABASE; create database DATABASE; use DATABASE;'; cat DUMP) | CLIENT", fixture.Extended),
	}, d.ram, func(context.Context) (string, error) { return d.payload.recipe(d.payload.database, fixture.Extended) },
		func(ctx context.Context, client shellClient, path string) error { return client.file(ctx, "", path) })
}

// cycles has workers go through whole cycles for the time of a round, and returns how many
// they did in a second, all together.
func (d *ladder) cycles(ctx context.Context, workers int, cycle func(ctx context.Context, worker int) error) (bench.Sample, error) {
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
	return bench.Sample{Value: float64(done.Load()) / time.Since(began).Seconds()}, err
}
