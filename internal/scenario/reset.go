package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Names of the rows that conclusions refer to.
const (
	RowHand        = "by hand: drop, create, load"
	RowNoop        = "reset, no change"
	RowThree       = "reset, 3 rows"
	RowNoopMany    = "reset, no change, 300 tables"
	RowThreeMany   = "reset, 3 rows, 300 tables"
	RowThreeLarge  = "reset, 3 rows, 2 GB"
	RowMake        = "changing 10,000 rows"
	RowUndo        = "reset, 10,000 rows"
	RowClone       = "fresh clone"
	RowLease       = "lease, warm pool"
	RowSakilaFill  = "sakila, INSERT ... SELECT alone"
	RowSakilaClone = "fresh clone, sakila"
)

// How often a round does what it measures.
const (
	resetCycles = 300
	bulkCycles  = 3
	cloneCycles = 30
	leaseCycles = 30
	handCycles  = 5
)

// The ways of a reset, as the API names them.
const (
	wayNoop   = "noop"
	wayRewind = "rewind"
)

// What is changed: an UPDATE, an INSERT into a table with a counter, a DELETE.
var (
	worldChanges = []change{
		{"UPDATE country SET population = population + 1 ORDER BY code LIMIT 1", 1},
		{"INSERT INTO city (name, country_code, district, population) VALUES ('Ramaria', 'ABD', 'Gomphales', 1)", 1},
		{"DELETE FROM language ORDER BY country_code, language LIMIT 1", 1},
	}
	manyChanges = []change{
		{"UPDATE t1 SET n = n + 1 WHERE id = 1", 1},
		{"INSERT INTO t150 (name, n) VALUES ('new', 1)", 1},
		{"DELETE FROM t300 WHERE id = 7", 1},
	}
	largeChanges = []change{
		{"UPDATE sbtest1 SET k = k + 1 WHERE id = 500000", 1},
		{"INSERT INTO sbtest2 (k, c, pad) VALUES (1, 'new', 'new')", 1},
		{"DELETE FROM sbtest3 WHERE id = 700000", 1},
	}
	bulkChanges = []change{
		{"UPDATE item SET n = n + 1 WHERE id <= 4000", 4000},
		{"DELETE FROM item WHERE id BETWEEN 20001 AND 23000", 3000},
		{"INSERT INTO item (name, n) SELECT name, n FROM item WHERE id BETWEEN 10001 AND 13000 ORDER BY id", 3000},
	}
)

// ResetScenario measures resets through the HTTP API, with connections that stay open,
// and what else puts a database back.
func (l *Lab) ResetScenario() bench.Scenario {
	// Three instances, so that what one template has in the server's caches is not another's.
	settings := l.settings()
	small := &farm{lab: l, name: "resets", flags: l.resetFrom, settings: settings}
	many := &farm{lab: l, name: "resets-many", flags: l.manyFrom, settings: settings}
	large := &farm{lab: l, name: "resets-large", flags: l.largeFrom, settings: settings}
	undone := func(_, undone time.Duration) time.Duration { return undone }
	made := func(made, _ time.Duration) time.Duration { return made }
	noop := resetting{farm: small, template: labDatabase, way: wayNoop, cycles: resetCycles, value: undone}
	three := resetting{farm: small, template: labDatabase, changes: worldChanges, way: wayRewind, cycles: resetCycles, value: undone}
	noopMany, threeMany, threeLarge := noop, three, three
	noopMany.farm, noopMany.template = many, "many"
	threeMany.farm, threeMany.template, threeMany.changes = many, "many", manyChanges
	threeLarge.farm, threeLarge.template, threeLarge.changes, threeLarge.tables = large, "sbtest", largeChanges, []string{"sbtest1", "sbtest2", "sbtest3"}
	undo := resetting{farm: small, template: "bulk", changes: bulkChanges, way: wayRewind, cycles: bulkCycles, value: undone}
	change := undo
	change.value = made
	servers, files := int64(3), 3*l.freshBytes()
	cases := []bench.Case{
		l.handCase(), noop.named(RowNoop, ""), three.named(RowThree, ""), noopMany.named(RowNoopMany, RowNoop), threeMany.named(RowThreeMany, RowThree),
	}
	if !l.Options.Quick { // 2 GB take minutes to make
		servers, files = servers+1, files+l.freshBytes()+largeData.memory()
		cases = append(cases, threeLarge.named(RowThreeLarge, RowThree))
	}
	return bench.Scenario{
		Name: "reset", Conclude: concludeReset, Title: "a database as its template again, through the API, AUTO_INCREMENT restored", Unit: bench.Seconds, Memory: servers*l.residentBytes() + files, Shm: l.shmOfRAM(files), Settings: settings,
		Beside: fsyncBeside(),
		Cases: located(l.onVolume(""), append(cases,
			change.named(RowMake, RowMake), undo.named(RowUndo, RowMake),
			small.clone(RowClone, labDatabase, ""), small.warm(RowLease, labDatabase), small.fill(RowSakilaFill, sakila), small.clone(RowSakilaClone, sakila, RowSakilaFill),
		)...),
	}
}

const sakila = "sakila"

// hundredChanges change a hundred rows of the fixture.
var hundredChanges = []change{
	{"UPDATE city SET population = population + 1 ORDER BY id LIMIT 50", 50},
	{"INSERT INTO city (name, country_code, district, population) SELECT name, country_code, district, 1 FROM city ORDER BY id LIMIT 25", 25},
	{"DELETE FROM language ORDER BY country_code, language LIMIT 25", 25},
}

// RowHundred is the reset of a HundredScenario.
const RowHundred = "ramaria db reset"

// HundredScenario puts a hundred changed rows back, and loads the fixture anew.
func (l *Lab) HundredScenario() bench.Scenario {
	const cycles = 20
	settings := l.settings()
	f := &farm{lab: l, name: "resets", settings: settings, flags: func(_ context.Context, kind volume.Kind) ([]string, error) { return l.From(string(kind)), nil }}
	undone := func(_, undone time.Duration) time.Duration { return undone }
	hundred := resetting{farm: f, template: labDatabase, changes: hundredChanges, way: wayRewind, cycles: cycles, value: undone}
	return bench.Scenario{
		Name: "hundred", Title: "a hundred changes put back", Unit: bench.Seconds, Settings: settings, Beside: fsyncBeside(), Cases: located(l.onVolume(""), l.handCase(), hundred.named(RowHundred, "")),
	}
}

// resetFrom are the flags of an instance with the fixture, bulk, and sakila if it is there.
func (l *Lab) resetFrom(_ context.Context, kind volume.Kind) ([]string, error) {
	return l.withDumps(kind, "bulk", bulkDump(), l.sakila())
}

func (l *Lab) manyFrom(_ context.Context, kind volume.Kind) ([]string, error) {
	return l.withDumps(kind, "many", manyDump(), nil)
}

// withDumps are the flags of an instance with the fixture, a dump that is written, and others.
func (l *Lab) withDumps(kind volume.Kind, name, text string, others []string) ([]string, error) {
	path, err := l.writeDump(name, text)
	if err != nil {
		return nil, err
	}
	flags := append(l.From(string(kind)), "--from", path)
	for _, path := range others {
		flags = append(flags, "--from", path)
	}
	return flags, nil
}

func (l *Lab) largeFrom(ctx context.Context, kind volume.Kind) ([]string, error) {
	return l.sysbenchFrom(ctx, largeData, string(kind))
}

// resetting is a case that changes a lease and resets it, many times a round.
type resetting struct {
	farm     *farm
	template string
	tables   []string // that are checked; nil for all
	changes  []change
	way      string
	cycles   int
	value    func(made, undone time.Duration) time.Duration
}

func (r resetting) named(name, base string) bench.Case {
	var l *lease
	return bench.Case{
		Name: name, Ours: name != RowMake, Base: base, Settings: "ramaria's settings, in RAM, HTTP API and connection kept",
		Prepare: func(ctx context.Context) (err error) {
			l, err = r.farm.newLease(ctx, r.template, r.tables...)
			return err
		},
		Round: func(ctx context.Context) (s bench.Sample, err error) {
			for range r.cycles {
				made, undone, err := l.cycle(ctx, r.changes, r.way)
				if err != nil {
					return bench.Sample{}, err
				}
				s.Values = append(s.Values, r.value(made, undone).Seconds())
			}
			return s, nil
		},
		Check: func(ctx context.Context) error { return r.farm.same(ctx, l.Name, r.template) },
		Cleanup: func(ctx context.Context) error {
			l.close()
			return r.farm.end(ctx)
		},
	}
}

// clone makes databases from a template; dropping them is not measured.
func (f *farm) clone(name, template, base string) bench.Case {
	last := ""
	drop := func(ctx context.Context) error {
		if last == "" {
			return nil
		}
		err := f.api.DropDatabase(ctx, last)
		last = ""
		return err
	}
	return bench.Case{
		Name: name, Ours: true, Base: base, Settings: "ramaria's settings, in RAM, HTTP API",
		Prepare: func(ctx context.Context) error { return f.sample(ctx, template) },
		Round: func(ctx context.Context) (s bench.Sample, err error) {
			for range cloneCycles {
				if err := drop(ctx); err != nil {
					return bench.Sample{}, err
				}
				if last, err = f.lease(ctx, template, &s); err != nil {
					return bench.Sample{}, err
				}
			}
			return s, nil
		},
		Check: func(ctx context.Context) error {
			return errors.Join(f.same(ctx, last, template), drop(ctx))
		},
		Cleanup: f.end,
	}
}

// warm takes a lease of a template that the pool has ready, and ends it.
func (f *farm) warm(name, template string) bench.Case {
	return bench.Case{
		Name: name, Ours: true, Base: RowClone, Settings: "ramaria's settings, in RAM, HTTP API; spare clones made ahead",
		Prepare: func(ctx context.Context) error { return f.template(ctx, template) },
		Round: func(ctx context.Context) (s bench.Sample, err error) {
			if err := f.spare(ctx, client.Limits{MaxDatabases: 64, Spare: 2}); err != nil {
				return bench.Sample{}, err
			}
			for range leaseCycles {
				if err := f.ready(ctx, template, spareTimeout); err != nil {
					return bench.Sample{}, err
				}
				name, err := f.lease(ctx, template, &s)
				if err != nil {
					return bench.Sample{}, err
				}
				if err := f.same(ctx, name, template); err != nil {
					return bench.Sample{}, err
				}
				if err := f.api.DropDatabase(ctx, name); err != nil {
					return bench.Sample{}, err
				}
			}
			// What goes on in the background would be in the others' way.
			return s, f.spare(ctx, client.Limits{MaxDatabases: 64})
		},
		Cleanup: f.end,
	}
}

// lease takes a lease, and adds to the sample how long that took.
func (f *farm) lease(ctx context.Context, template string, s *bench.Sample) (name string, err error) {
	began := time.Now()
	d, err := f.api.NewDatabase(ctx, client.DatabaseRequest{Template: template})
	s.Values = append(s.Values, time.Since(began).Seconds())
	return d.Name, err
}

// spare changes the limits, and with them what is made ahead.
func (f *farm) spare(ctx context.Context, l client.Limits) error {
	_, err := f.api.SetLimits(ctx, l)
	return err
}

// spareTimeout is how long a pool may take to have a clone ready: one that cannot make any, as
// its volume is full, says so in its instance's log alone.
const spareTimeout = time.Minute

// ready waits until there are spare clones of a template, for no longer than limit.
func (f *farm) ready(ctx context.Context, template string, limit time.Duration) error {
	for over := time.After(limit); ; {
		list, err := f.api.Templates(ctx)
		if err != nil {
			return err
		}
		changed := ""
		for _, t := range list {
			if t.Name != template {
				continue
			}
			if t.Spare > 0 {
				return nil
			}
			changed = ": " + t.Changed
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return fmt.Errorf("wait for a spare clone of %s: none in %s%s%s", template, limit, changed, f.logTail())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// logTail is the end of what the supervisor of the instance has said, on lines of its own.
func (f *farm) logTail() string {
	if f.instance == nil {
		return ""
	}
	return "\n" + server.LogTail(f.instance.SupervisorLog())
}

// sample makes a database a template that may not be on this machine.
func (f *farm) sample(ctx context.Context, template string) error {
	if template == sakila && f.lab.sakila() == nil {
		return fmt.Errorf("%w: no sample dumps: RAMARIA_SHARED names the folder that has them in data/", bench.ErrUnavailable)
	}
	return f.template(ctx, template)
}

// fill is the least that a copy of a database takes: the rows of its tables, one
// INSERT ... SELECT for each, without foreign keys and without the binary log.
func (f *farm) fill(name, template string) bench.Case {
	const copied = "by_hand"
	var tables []string
	return bench.Case{
		Name: name, Base: name, Settings: "into empty tables, in RAM, one session",
		Prepare: func(ctx context.Context) (err error) {
			if err := f.sample(ctx, template); err != nil {
				return err
			}
			tables, err = baseTables(ctx, f.db, template)
			return err
		},
		Round: func(ctx context.Context) (s bench.Sample, err error) {
			db, err := f.lab.Server.OpenUnlogged(f.instance.Socket(), f.instance.Supervisor)
			if err != nil {
				return bench.Sample{}, err
			}
			defer db.Close()
			empty := "DROP DATABASE IF EXISTS " + copied + "; CREATE DATABASE " + copied
			var fill []string
			for _, t := range tables {
				own, of := copied+"."+server.QuoteName(t), template+"."+server.QuoteName(t)
				empty += "; CREATE TABLE " + own + " LIKE " + of
				fill = append(fill, "INSERT INTO "+own+" SELECT * FROM "+of)
			}
			for range cloneCycles {
				if _, err := db.ExecContext(ctx, empty); err != nil {
					return bench.Sample{}, err
				}
				began := time.Now()
				for _, statement := range fill {
					if _, err := db.ExecContext(ctx, statement); err != nil {
						return bench.Sample{}, err
					}
				}
				s.Values = append(s.Values, time.Since(began).Seconds())
			}
			return s, nil
		},
		Check: func(ctx context.Context) error {
			have, err := readContents(ctx, f.db, copied, nil)
			if err == nil {
				err = f.templates[template].sameRows(have, copied)
			}
			_, dropErr := f.db.ExecContext(ctx, "DROP DATABASE "+copied)
			return errors.Join(err, dropErr)
		},
		Cleanup: f.end,
	}
}
