package scenario

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/fixture"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Names of the rows that conclusions refer to.
const (
	RowHand       = "by hand: drop, create, load"
	RowNoop       = "reset, no change"
	RowThree      = "reset, 3 rows"
	RowNoopMany   = "reset, no change, 300 tables"
	RowThreeMany  = "reset, 3 rows, 300 tables"
	RowThreeLarge = "reset, 3 rows, 2 GB"
	RowMake       = "changing 10,000 rows"
	RowUndo       = "reset, 10,000 rows"
	RowClone      = "fresh clone"
	RowLease      = "lease, warm pool"
	RowShopFill   = "shop, INSERT ... SELECT alone"
	RowShopClone  = "fresh clone, shop"
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

// The changes: an UPDATE, an INSERT into a table with a counter, a DELETE.
var (
	worldChanges = []lab.Change{
		{Statement: "UPDATE country SET population = population + 1 ORDER BY code LIMIT 1", Rows: 1},
		{Statement: "INSERT INTO city (name, country_code, district, population) VALUES ('Ramaria', 'ABD', 'Gomphales', 1)", Rows: 1},
		{Statement: "DELETE FROM language ORDER BY country_code, language LIMIT 1", Rows: 1},
	}
	manyChanges = []lab.Change{
		{Statement: "UPDATE t1 SET n = n + 1 WHERE id = 1", Rows: 1},
		{Statement: "INSERT INTO t150 (name, n) VALUES ('new', 1)", Rows: 1},
		{Statement: "DELETE FROM t300 WHERE id = 7", Rows: 1},
	}
	largeChanges = []lab.Change{
		{Statement: "UPDATE sbtest1 SET k = k + 1 WHERE id = 500000", Rows: 1},
		{Statement: "INSERT INTO sbtest2 (k, c, pad) VALUES (1, 'new', 'new')", Rows: 1},
		{Statement: "DELETE FROM sbtest3 WHERE id = 700000", Rows: 1},
	}
	bulkChanges = []lab.Change{
		{Statement: "UPDATE item SET n = n + 1 WHERE id <= 4000", Rows: 4000},
		{Statement: "DELETE FROM item WHERE id BETWEEN 20001 AND 23000", Rows: 3000},
		{Statement: "INSERT INTO item (name, n) SELECT name, n FROM item WHERE id BETWEEN 10001 AND 13000 ORDER BY id", Rows: 3000},
	}
)

// ResetScenario measures resets through the HTTP API, with connections that stay open,
// and what else puts a database back.
func ResetScenario(l *lab.Lab) runner.Scenario {
	// Three instances, so that what one template has in the server's caches is not another's.
	settings := l.Settings()
	small := &lab.TemplateServer{Lab: l, Name: "resets", Flags: resetFlags(l), Settings: settings}
	many := &lab.TemplateServer{Lab: l, Name: "resets-many", Flags: manyFlags(l), Settings: settings}
	large := &lab.TemplateServer{Lab: l, Name: "resets-large", Flags: largeFlags(l), Settings: settings}
	undone := func(_, undone time.Duration) time.Duration { return undone }
	made := func(made, _ time.Duration) time.Duration { return made }
	noop := resetting{templates: small, template: lab.FixtureDatabase, way: wayNoop, cycles: resetCycles, value: undone}
	three := resetting{templates: small, template: lab.FixtureDatabase, changes: worldChanges, way: wayRewind, cycles: resetCycles, value: undone}
	noopMany, threeMany, threeLarge := noop, three, three
	noopMany.templates, noopMany.template = many, "many"
	threeMany.templates, threeMany.template, threeMany.changes = many, "many", manyChanges
	threeLarge.templates, threeLarge.template, threeLarge.changes, threeLarge.tables = large, "sbtest", largeChanges, []string{"sbtest1", "sbtest2", "sbtest3"}
	// Whether it is cheaper to undo so many rows or to fill their table is the server's plan to say.
	undo := resetting{templates: small, template: "bulk", changes: bulkChanges, cycles: bulkCycles, value: undone}
	change := undo
	change.value = made
	servers, files := int64(3), 3*l.FreshBytes()
	cases := []runner.Case{
		byHandRow(l), noop.named(RowNoop, ""), three.named(RowThree, ""), noopMany.named(RowNoopMany, RowNoop), threeMany.named(RowThreeMany, RowThree),
	}
	if !l.Options.Quick { // 2 GB take minutes to make
		servers, files = servers+1, files+l.FreshBytes()+lab.LargeData.Memory()
		cases = append(cases, threeLarge.named(RowThreeLarge, RowThree))
	}
	return runner.Scenario{
		Name: "reset", Conclusion: resetConclusion, Title: "a database as its template again, through the API, AUTO_INCREMENT restored", Unit: runner.Seconds, Memory: servers*l.ResidentBytes() + files, Shm: l.SharedMemoryOfRAM(files), Settings: settings,
		Beside: lab.FsyncBeside(),
		Cases: lab.WithStorage(l.VolumeStorage(""), append(cases,
			change.named(RowMake, RowMake), undo.named(RowUndo, RowMake),
			cloneRow(small, RowClone, lab.FixtureDatabase, ""), spareRow(small, RowLease, lab.FixtureDatabase), fillRow(small, RowShopFill, shop), cloneRow(small, RowShopClone, shop, RowShopFill),
		)...),
	}
}

// resetConclusion says what a reset takes, and that its cost follows the change.
func resetConclusion(r *runner.Result) string {
	m := medians(r)
	three := m[RowThree]
	var b strings.Builder
	say := func(format string, figures ...float64) {
		list := make([]any, len(figures))
		for i, v := range figures {
			if math.IsNaN(v) || v == 0 {
				return
			}
			list[i] = v
		}
		fmt.Fprintf(&b, format, list...)
	}
	if times := m[RowHand] / three; faster(r, RowThree, RowHand) {
		say("a reset after 3 rows takes %.2f ms, %.0f times less than by hand", three*1000, times)
	} else {
		say("a reset after 3 rows takes %.2f ms; by hand it is %.2f times that, which "+r.NoGain(times), three*1000, times)
	}
	say("; in 2 GB %.2f times as long", m[RowThreeLarge]/three)
	say("; putting 10,000 rows back %.2f times as long as changing them", m[RowUndo]/m[RowMake])
	say("; a clone of shop %.2f times as long as its INSERT ... SELECT alone", m[RowShopClone]/m[RowShopFill])
	if b.Len() == 0 {
		return ""
	}
	return strings.TrimPrefix(b.String(), "; ") + "."
}

// shop is a database that takes longer to copy than the fixture: indexes, foreign keys and texts, of as many rows as
// many a sample database has.
const (
	shop     = "shop"
	shopRows = 47_000
)

// flagsOf tells what an instance on a volume is made of.
type flagsOf = func(ctx context.Context, kind volume.Kind) ([]string, error)

// resetFlags are for an instance with the fixture, bulk, and shop.
func resetFlags(l *lab.Lab) flagsOf {
	return withDumps(l,
		func() (string, error) { return l.WriteDump("bulk", lab.BulkDump()) },
		func() (string, error) {
			return l.DumpFile(shop, func(w io.Writer) error {
				return fixture.Shop{Rows: shopRows, Database: shop}.WriteDump(w, fixture.Extended)
			})
		})
}

func manyFlags(l *lab.Lab) flagsOf {
	return withDumps(l, func() (string, error) { return l.WriteDump("many", lab.ManyDump()) })
}

// withDumps is for an instance with the fixture, and dumps that are written.
func withDumps(l *lab.Lab, dumps ...func() (string, error)) flagsOf {
	return func(_ context.Context, kind volume.Kind) ([]string, error) {
		flags := l.From(string(kind))
		for _, dump := range dumps {
			path, err := dump()
			if err != nil {
				return nil, err
			}
			flags = append(flags, "--from", path)
		}
		return flags, nil
	}
}

func largeFlags(l *lab.Lab) flagsOf {
	return func(ctx context.Context, kind volume.Kind) ([]string, error) {
		return l.SysbenchFlags(ctx, lab.LargeData, string(kind))
	}
}

// resetting is a case that changes a lease and resets it, many times a round.
type resetting struct {
	templates *lab.TemplateServer
	template  string
	tables    []string // that are checked; nil for all
	changes   []lab.Change
	way       string // "" for the one that the first reset takes
	cycles    int
	value     func(made, undone time.Duration) time.Duration
}

func (r resetting) named(name, base string) runner.Case {
	var l *lab.Lease
	found := ""
	return runner.Case{
		Name: name, Ours: name != RowMake, Base: base, Settings: "ramaria's settings, in RAM, HTTP API and connection kept",
		Found: func() string { return found },
		Prepare: func(ctx context.Context) (err error) {
			if l, err = r.templates.NewLease(ctx, r.template, r.tables...); err != nil || r.way != "" {
				return err
			}
			// The figures of a row are of one way.
			r.way, err = l.Way(ctx, r.changes)
			found = "put back by " + r.way
			return err
		},
		Round: func(ctx context.Context) (s runner.Sample, err error) {
			for range r.cycles {
				made, undone, err := l.Cycle(ctx, r.changes, r.way)
				if err != nil {
					return runner.Sample{}, err
				}
				s.Values = append(s.Values, r.value(made, undone).Seconds())
			}
			return s, nil
		},
		Check: func(ctx context.Context) error { return r.templates.CheckClone(ctx, l.Name, r.template) },
		Cleanup: func(ctx context.Context) error {
			l.Close()
			return r.templates.Stop(ctx)
		},
	}
}
