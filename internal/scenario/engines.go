package scenario

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/server"
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
	lab     *Lab
	rows    int
	servers []*engineServer
	tables  []*engine
	// answers are those of every work by its name, worked out without a server.
	answers map[string]string
}

// engineServer is a server with the rows, and engine a table of them in one engine.
type engineServer struct {
	*running
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

// EnginesScenario measures the same queries on the same rows in RAM by the storage engine:
// whether MEMORY is what one wants when InnoDB is in RAM anyway.
func (l *Lab) EnginesScenario() bench.Scenario { return l.newEngines().scenario() }

func (l *Lab) newEngines() *engines {
	return &engines{lab: l, rows: max(l.Options.scaled(engineRows), engineGroups)}
}

func (o *engines) scenario() bench.Scenario {
	l := o.lab
	settings := l.settings()
	settings["data"] = fmt.Sprintf("%d rows in %d groups, numbers and a text of up to 60 letters; key and groups as generated, in no order", o.rows, engineGroups)
	settings["caches"] = "every engine's cache holds all of its rows"
	s := bench.Scenario{
		Name: "engines", Unit: bench.Seconds, Settings: settings, Beside: fsyncBeside(),
	}
	var places []place
	for i, at := range l.chosen(context.Background(), PlaceRamaria) {
		row := at.row
		server := &engineServer{running: l.running(at.with(o.caches()), fmt.Sprintf("engines-%d", i+1))}
		server.row = row
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
	s.Conclude = l.ofDisk(slices.ContainsFunc(places, onNoRAM), o.conclude)
	var r room
	for _, e := range o.servers {
		r.memory += l.residentBytes() + int64(len(o.names())*o.rows*engineRowBytes) // tables of MEMORY, and caches
		r.put(l, e.place, l.freshBytes()+int64(2*len(o.names())*o.rows*engineRowBytes))
	}
	r.of(&s)
	return s
}

// names are the engines that the server has.
func (o *engines) names() []string {
	if o.lab.Server.Flavour == server.MariaDB {
		return []string{enginesBase, enginesMemory, "Aria", "MyISAM"}
	}
	return []string{enginesBase, enginesMemory, "MyISAM"}
}

// caches are settings by which every engine has the room that its rows take.
func (o *engines) caches() map[string]string {
	size := fmt.Sprint(max(int64(o.rows)*engineRowBytes, 64<<20))
	set := map[string]string{"innodb_buffer_pool_size": fmt.Sprint(max(3*int64(o.rows)*engineRowBytes, 128<<20)), "key_buffer_size": size}
	if o.lab.Server.Flavour == server.MariaDB {
		set["aria_pagecache_buffer_size"] = size
	}
	return set
}

// row is a work in an engine.
func (e *engine) row(w engineWork) bench.Case {
	name := func(engine string) string {
		s := w.name + ": " + engine
		if len(e.engines.lab.Options.Places) > 0 || len(e.engines.lab.Options.Volumes) > 1 {
			s += ", " + e.engineServer.row
		}
		return s
	}
	return bench.Case{
		Name: name(e.name), Base: name(enginesBase), Settings: e.says, Command: e.lab.again("engines", e.place),
		Prepare: e.prepare, Found: e.found,
		Round: func(ctx context.Context) (bench.Sample, error) {
			did, answer, err := e.do(ctx, w)
			e.answer = answer
			sample := bench.Sample{Value: did.Seconds(), Beside: map[string]float64{}}
			tellFsync(sample.Beside, e.fsyncs)
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
	return execAll(ctx, e.conn, fmt.Sprintf("INSERT INTO %s SELECT * FROM %s.story", e.table(), engineDatabase), "ANALYZE TABLE "+e.table())
}

func (e *engine) create(ctx context.Context, table string) error {
	return execAll(ctx, e.conn, fmt.Sprintf("CREATE TABLE %s (id INT PRIMARY KEY, grp INT NOT NULL, val INT NOT NULL, name VARCHAR(60) NOT NULL) ENGINE=%s", table, e.name))
}

// fill starts the server and makes the rows that all tables get.
func (s *engineServer) fill(ctx context.Context, rows int) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	var err error
	if s.db, err = s.connect(""); err != nil {
		return err
	}
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return err
	}
	if err := countUp(ctx, s.conn, engineDatabase, rows); err != nil {
		return err
	}
	// A text of 20 to 60 letters; everything follows from the number, as storyRow has it.
	return execAll(ctx, s.conn, fmt.Sprintf("SET SESSION max_heap_table_size = %d", max(1<<30, 2*int64(rows)*engineRowBytes)),
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
	return s.running.close(ctx)
}
