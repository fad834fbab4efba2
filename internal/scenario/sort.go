package scenario

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// sortRows and sortThreads are those of the published comparison.
	sortRows    = 200_000
	sortThreads = 2
	// textBytes is the length of the text that is ordered by, and sortRowBytes about what a row
	// takes with it, in a table or in a file of a sort.
	textBytes    = 192
	sortRowBytes = 240
)

// Settings of all places of the SortScenario: buffers are so small that the files of a sort
// and the temporary tables are written, as those of large data are on any server.
const (
	sortBuffer  = "262144" // the default of MySQL
	memoryTable = "16384"  // the least that a server takes
	smallPool   = "32M"
	smallCache  = "8M" // of Aria, in which MariaDB has its temporary tables
)

// sortQuery is what the rows of a SortScenario ask.
type sortQuery struct {
	name string
	// text has the number of the last row that is asked for, in the place of %d.
	text string
	// part is how many times fewer rows are asked for than there are.
	part    int
	ordered bool
	// proof is the counter that has to move, or what was measured was something else.
	proof string
	// writes are about how many writes a row takes, measured: in a mount with -o sync each
	// waits for the device.
	writes float64
}

var sortQueries = []sortQuery{
	{"ORDER BY", "SELECT t, 1 FROM story WHERE id <= %d ORDER BY t", 1, true, sortMerges, 0.03},
	// The index of so large a temporary table grows faster than its rows: all of them take
	// minutes where every write waits for the device.
	{"GROUP BY", "SELECT t, COUNT(*) FROM story WHERE id <= %d GROUP BY t ORDER BY NULL", 4, false, diskTables, 0.4},
}

// Measures beside the rows a second.
const (
	diskTables = "Created_tmp_disk_tables"
	sortMerges = "Sort_merge_passes"
	serverCPU  = "server CPU"
	coresBusy  = "cores busy"
)

// sorting is the scenario while it is made and concluded.
type sorting struct {
	lab    *Lab
	rows   int
	places []*sortPlace
	// sums are the sums of the checksums of the texts up to each row.
	sums []uint64
}

// asked is how many rows a query asks for.
func (o *sorting) asked(q sortQuery) int { return o.rows / q.part }

// SortScenario measures sorting and grouping by a text that is too long for memory, by the
// place of the files that this takes.
func (l *Lab) SortScenario() bench.Scenario { return l.newSorting().scenario() }

func (l *Lab) newSorting() *sorting {
	o := &sorting{lab: l, rows: max(l.Options.scaled(sortRows), minSortRows)}
	o.places = o.newPlaces()
	return o
}

func (o *sorting) scenario() bench.Scenario {
	l := o.lab
	settings := l.settings()
	settings["data"] = fmt.Sprintf("%d rows with %d bytes of text, %s, in RAM wherever tmpdir is; GROUP BY takes a quarter of them", o.rows, textBytes, bench.Bytes.Format(float64(o.bytes())))
	settings[bench.Published] = "2 threads, 200,000 rows by a text: 11 MB/s with /tmp on disk, 60 MB/s with a RAM device before the disk, in a third of the time"
	settings["session"] = "sort_buffer_size=" + sortBuffer + ", tmp_table_size and max_heap_table_size=" + memoryTable
	settings["server"] += ", innodb_buffer_pool_size=" + smallPool
	settings["tmpdir"] = "files of sorts and temporary tables"
	if l.Server.Flavour == server.MySQL {
		settings["tmpdir"] = "files of sorts; temporary tables are InnoDB's, and innodb_temp_tablespaces_dir is in the same place"
	} else {
		settings["server"] += ", aria_pagecache_buffer_size=" + smallCache
	}
	s := bench.Scenario{
		Name: "sort", Rounds: 5, Unit: bench.PerSecond, Settings: settings,
		Title:  fmt.Sprintf("rows a second ordered, or grouped, by a text, %d threads, by the place of temporary files", sortThreads),
		Beside: []bench.Measure{{Name: bench.Written, Unit: bench.Bytes}, {Name: serverCPU, Unit: bench.Seconds}, {Name: coresBusy, Unit: bench.Count}, {Name: sortMerges, Unit: bench.Count}, {Name: diskTables, Unit: bench.Count}},
	}
	s.Beside = append(s.Beside, fsyncBeside()...)
	s.Conclude = l.ofDisk(slices.ContainsFunc(o.places, func(p *sortPlace) bool { return !p.inRAM() }), o.conclude)
	for _, q := range sortQueries {
		for _, p := range o.places {
			s.Cases = append(s.Cases, bench.Case{
				Name: q.name + ", " + p.where, Base: q.name + ", " + o.places[0].where, Settings: p.says,
				Command: l.again("sort", p.place), Found: func() string { return p.lies },
				Prepare: func(ctx context.Context) error {
					if err := p.prepare(ctx); err != nil {
						return err
					}
					return p.patience(q)
				},
				Round:   func(ctx context.Context) (bench.Sample, error) { return p.round(ctx, q) },
				Check:   func(context.Context) error { return p.check(q) },
				Cleanup: p.close,
			})
		}
	}
	o.room().of(&s)
	return s
}

// minSortRows is the fewest rows that do not fit into the buffer of a sort.
const minSortRows = 5_000

// bytes is about what the rows take.
func (o *sorting) bytes() int64 { return int64(o.rows) * sortRowBytes }

// temporaryBytes is what their sorts take at most: what is merged, and what it becomes.
func (o *sorting) temporaryBytes() int64 { return 3 * sortThreads * o.bytes() }

// room counts servers whose data is in RAM, in /dev/shm but for ramaria's own.
func (o *sorting) room() (r room) {
	shared := place{name: placeRAMByHand}
	for _, p := range o.places {
		if p.err != nil {
			continue // it has no figures
		}
		r.memory += o.lab.residentBytes()
		data := shared
		if p.ramaria {
			data = p.place
		}
		r.put(o.lab, data, o.lab.freshBytes()+2*o.bytes())
		if p.synced {
			r.disk += o.imageBytes()
		} else {
			r.put(o.lab, p.place, o.temporaryBytes())
		}
	}
	return r
}

// longestRound is how long a round may be expected to take.
const longestRound = time.Minute

// patience returns ErrUnavailable where every write waits for a device that is too slow.
func (p *sortPlace) patience(q sortQuery) error {
	if !p.synced || len(p.fsyncs) == 0 {
		return nil
	}
	fsync := bench.Summarise(bench.Seconds, p.fsyncs).Median
	round := time.Duration(q.writes * float64(sortThreads*p.sorting.asked(q)) * fsync * float64(time.Second))
	if round > longestRound {
		return fmt.Errorf("%w in time: an fsync takes %s there, and a round about %s; --scale 0.1 takes less", bench.ErrUnavailable, bench.Seconds.Format(fsync), round.Round(time.Second))
	}
	return nil
}

// answer is what one query came to.
type answer struct {
	rows     int
	sum      uint64 // of the checksums of its rows
	counted  int    // the sum of the second column: of groups, how many rows they have
	unsorted bool
}

// round asks a query in several sessions at once.
func (p *sortPlace) round(ctx context.Context, q sortQuery) (bench.Sample, error) {
	before, err := p.counters(ctx)
	if err != nil {
		return bench.Sample{}, err
	}
	if !p.inRAM() { // what others have left in the page cache is not to count
		if err := sys.SyncFS(p.on); err != nil {
			return bench.Sample{}, err
		}
	}
	var took time.Duration
	written, err := p.device.Count(func() error {
		began := time.Now()
		g, ctx := errgroup.WithContext(ctx)
		for i, conn := range p.conns {
			g.Go(func() (err error) {
				p.answers[i], err = ask(ctx, conn, fmt.Sprintf(q.text, p.sorting.asked(q)))
				return err
			})
		}
		err := g.Wait()
		took = time.Since(began)
		return err
	})
	if err != nil {
		return bench.Sample{}, fmt.Errorf("%s, %s: %w", q.name, p.where, err)
	}
	after, err := p.counters(ctx)
	if err != nil {
		return bench.Sample{}, err
	}
	p.moved = map[string]float64{}
	for name := range after {
		p.moved[name] = after[name] - before[name]
	}
	sample := bench.Sample{
		Value: float64(len(p.conns)*p.sorting.asked(q)) / took.Seconds(),
		Beside: map[string]float64{
			serverCPU: p.moved[serverCPU], coresBusy: (p.moved[serverCPU] + p.moved[clientCPU]) / took.Seconds(),
			sortMerges: p.moved[sortMerges], diskTables: p.moved[diskTables],
		},
	}
	tellWritten(sample.Beside, bench.Written, written, p.inRAM(), p.device)
	tellFsync(sample.Beside, p.fsyncs)
	return sample, nil
}

// check compares the answers of the last round with what was put in, and makes sure that it
// was found in the way that was to be measured.
func (p *sortPlace) check(q sortQuery) error {
	asked := p.sorting.asked(q)
	for _, a := range p.answers {
		switch {
		case a.rows != asked:
			return fmt.Errorf("%s, %s: %d rows, not %d", q.name, p.where, a.rows, asked)
		case a.sum != p.sorting.sums[asked]:
			return fmt.Errorf("%s, %s: the rows are not those that were put in", q.name, p.where)
		case a.counted != asked:
			return fmt.Errorf("%s, %s: they count %d rows, not %d", q.name, p.where, a.counted, asked)
		case q.ordered && a.unsorted:
			return fmt.Errorf("%s, %s: the rows are not in order", q.name, p.where)
		}
	}
	if p.moved[q.proof] < sortThreads {
		return fmt.Errorf("%s, %s: %s is %s higher: it was done in memory", q.name, p.where, q.proof, strconv.FormatFloat(p.moved[q.proof], 'f', -1, 64))
	}
	return nil
}
