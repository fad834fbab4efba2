package engines

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

const (
	// engineRows is the standard number of rows, and engineGroups that of the groups in them.
	engineRows   = 200_000
	engineGroups = 1000
	// engineLookups is how many rows a round of lookups reads, one by one.
	engineLookups = 2000
	// engineRowBytes is about what a row takes at most: MEMORY keeps room for the longest text.
	engineRowBytes = 320
	enginesBase    = "InnoDB"
	enginesMemory  = "MEMORY"
	engineDatabase = "engines"
)

// engines is the scenario while it is made and concluded.
type engines struct {
	lab     *lab.Lab
	rows    int
	servers []*engineServer
	tables  []*engine
	// answers are those of every work by its name, worked out without a server.
	answers map[string]string
}

// engineServer is a server with the rows, and engine a table of them in one engine.
type engineServer struct {
	*lab.PlacedServer
	filled  bool
	failure error
	db      *sql.DB
	conn    *sql.Conn
}

type engine struct {
	*engineServer
	engines *engines
	name    string
	answer  string // of the last round
	made    bool
}

// Scenario measures the same queries on the same rows in RAM by the storage engine:
// whether MEMORY is what one wants when InnoDB is in RAM anyway.
func Scenario(l *lab.Lab) runner.Scenario { return newEngines(l).scenario() }

func newEngines(l *lab.Lab) *engines {
	return &engines{lab: l, rows: max(l.Options.Scaled(engineRows), engineGroups)}
}

func (o *engines) scenario() runner.Scenario {
	l := o.lab
	settings := l.Settings()
	settings["data"] = fmt.Sprintf("%d rows in %d groups, numbers and a text of up to 60 letters; key and groups as generated, in no order", o.rows, engineGroups)
	settings["caches"] = "every engine's cache holds all of its rows"
	s := runner.Scenario{
		Name: "engines", Unit: runner.Seconds, Settings: settings, Beside: lab.FsyncBeside(),
	}
	var places []lab.Place
	for i, at := range l.Places(context.Background(), lab.PlaceRamaria) {
		row := at.Row
		server := &engineServer{PlacedServer: l.NewServer(at.With(o.caches()), fmt.Sprintf("engines-%d", i+1))}
		server.Row = row
		o.servers, places = append(o.servers, server), append(places, at)
		for _, name := range o.names() {
			o.tables = append(o.tables, &engine{engineServer: server, engines: o, name: name})
		}
	}
	s.Title = strings.TrimRight("the same work on the same rows, by the storage engine, one session, "+where(places...), ", ")
	for _, w := range engineWorks {
		for _, e := range o.tables {
			s.Cases = append(s.Cases, e.row(w))
		}
	}
	s.Conclusion = l.IfDisk(slices.ContainsFunc(places, lab.NotInRAM), o.conclusion)
	var r lab.Need
	for _, e := range o.servers {
		r.Memory += l.ResidentBytes() + int64(len(o.names())*o.rows*engineRowBytes) // tables of MEMORY, and caches
		r.AddServer(l, e.Place, l.FreshBytes()+int64(2*len(o.names())*o.rows*engineRowBytes))
	}
	r.SetIn(&s)
	return s
}

// names are the engines that the server has.
func (o *engines) names() []string {
	names := []string{enginesBase, enginesMemory}
	for _, e := range o.lab.Server.Family().Stock.Engines {
		names = append(names, e.Name)
	}
	return names
}

// caches are settings by which every engine has the room that its rows take.
func (o *engines) caches() map[string]string {
	size := fmt.Sprint(max(int64(o.rows)*engineRowBytes, 64<<20))
	set := map[string]string{"innodb_buffer_pool_size": fmt.Sprint(max(3*int64(o.rows)*engineRowBytes, 128<<20))}
	for _, e := range o.lab.Server.Family().Stock.Engines {
		set[e.Cache] = size
	}
	return set
}

// row is a work in an engine.
func (e *engine) row(w engineWork) runner.Case {
	name := func(engine string) string {
		s := w.name + ": " + engine
		if len(e.engines.lab.Options.Places) > 0 || len(e.engines.lab.Options.Volumes) > 1 {
			s += ", " + e.Row
		}
		return s
	}
	return runner.Case{
		Name: name(e.name), Base: name(enginesBase), Settings: e.About, Ours: e.Ramaria, Command: e.Lab.RepeatCommand("engines", e.Place),
		Prepare: e.prepare, Found: e.Describe,
		Round: func(ctx context.Context) (runner.Sample, error) {
			did, answer, err := e.do(ctx, w)
			e.answer = answer
			sample := runner.Sample{Value: did.Seconds(), Beside: map[string]float64{}}
			lab.AddFsync(sample.Beside, e.Fsyncs)
			return sample, err
		},
		Check:   func(context.Context) error { return e.check(w) },
		Cleanup: e.close,
	}
}

func (e *engine) do(ctx context.Context, w engineWork) (time.Duration, string, error) {
	if w.do != nil {
		return w.do(e, ctx)
	}
	began := time.Now()
	answer, err := digest(ctx, e.conn, fmt.Sprintf(w.query, e.table()))
	return time.Since(began), answer, err
}

// check compares the answer with what the rows come to.
func (e *engine) check(w engineWork) error {
	o := e.engines
	if o.answers == nil {
		o.answers = engineAnswers(o.rows)
	}
	if want := o.answers[w.name]; e.answer != want {
		return fmt.Errorf("%s: %s answers %q, and the rows come to %q", w.name, e.name, e.answer, want)
	}
	return nil
}

func (e *engine) table() string { return engineDatabase + ".rows_" + strings.ToLower(e.name) }

// prepare makes the table of this engine, and before the first one starts the server.
func (e *engine) prepare(ctx context.Context) error {
	if !e.filled {
		e.filled = true
		e.failure = e.fill(ctx, e.engines.rows)
	}
	if e.failure != nil || e.made {
		return e.failure
	}
	e.made = true
	if err := e.create(ctx, e.table()); err != nil {
		return err
	}
	return lab.ExecAll(ctx, e.conn, fmt.Sprintf("INSERT INTO %s SELECT * FROM %s.story", e.table(), engineDatabase), "ANALYZE TABLE "+e.table())
}

func (e *engine) create(ctx context.Context, table string) error {
	return lab.ExecAll(ctx, e.conn, fmt.Sprintf("CREATE TABLE %s (id INT PRIMARY KEY, grp INT NOT NULL, val INT NOT NULL, name VARCHAR(60) NOT NULL) ENGINE=%s", table, e.name))
}

// fill starts the server and makes the rows that all tables get.
func (s *engineServer) fill(ctx context.Context, rows int) error {
	if err := s.Start(ctx); err != nil {
		return err
	}
	var err error
	if s.db, err = s.Connect(""); err != nil {
		return err
	}
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return err
	}
	if err := lab.CountUp(ctx, s.conn, engineDatabase, rows); err != nil {
		return err
	}
	// A text of 20 to 60 letters; everything follows from the number, as storyRow has it.
	return lab.ExecAll(ctx, s.conn, fmt.Sprintf("SET SESSION max_heap_table_size = %d", max(1<<30, 2*int64(rows)*engineRowBytes)),
		fmt.Sprintf("CREATE TABLE %s.story (id INT PRIMARY KEY, grp INT NOT NULL, val INT NOT NULL, name VARCHAR(60) NOT NULL) ENGINE=InnoDB", engineDatabase),
		fmt.Sprintf("INSERT INTO %[1]s.story SELECT id, CRC32(id) %% %[2]d, CRC32(CONCAT('v', id)) %% 1000000, LEFT(SHA2(id, 256), 20 + id %% 41) FROM %[1]s.numbers", engineDatabase, engineGroups))
}

// close ends the server. It may be called more than once.
func (s *engineServer) close(ctx context.Context) error {
	if s.conn != nil {
		s.conn.Close()
	}
	if s.db != nil {
		s.db.Close()
	}
	s.conn, s.db = nil, nil
	return s.Close(ctx)
}

// conclusion says where MEMORY is faster than InnoDB and where slower, and what it lacks.
func (o *engines) conclusion(r *runner.Result) string {
	var all []string
	for k, e := range o.tables {
		if e.name == enginesMemory {
			all = append(all, o.tableConclusion(r, k)...)
		}
	}
	if all == nil {
		return ""
	}
	return strings.Join(all, ". ") + ". MEMORY is empty after a restart, has no transactions and no foreign keys, and locks its tables as a whole."
}

// tableConclusion is that of one table, which has a row for every work: nothing, or a sentence.
func (o *engines) tableConclusion(r *runner.Result, table int) []string {
	var faster, slower, same []string
	for i, w := range engineWorks {
		row := &r.Rows[i*len(o.tables)+table]
		switch {
		case math.IsNaN(row.Ratio):
		case r.Gains(row):
			faster = append(faster, fmt.Sprintf("%.1f times in %s", row.Ratio, w.name))
		case r.Loses(row):
			slower = append(slower, fmt.Sprintf("%.1f times in %s", 1/row.Ratio, w.name))
		default:
			same = append(same, w.name)
		}
	}
	var parts []string
	for _, p := range []struct {
		says string
		list []string
	}{{"faster", faster}, {"slower", slower}, {"the same within noise", same}} {
		if p.list != nil {
			parts = append(parts, p.says+": "+strings.Join(p.list, ", "))
		}
	}
	if parts == nil {
		return nil
	}
	e := o.tables[table]
	against := "against InnoDB " + where(e.Place)
	if len(o.servers) > 1 {
		against += " (" + e.Row + ")"
	}
	return []string{against + ", MEMORY is " + strings.Join(parts, "; ")}
}

// where is a place in words, of several what they have in common: "" for nothing.
func where(places ...lab.Place) string {
	ram := 0
	for _, p := range places {
		if p.InRAM() {
			ram++
		}
	}
	switch ram {
	case len(places):
		return "in RAM"
	case 0:
		return "on disk"
	}
	return ""
}
