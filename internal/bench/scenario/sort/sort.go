package sort

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
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

// Settings of all places of the scenario: buffers are so small that the files of a sort
// and the temporary tables are written, as those of large data are on any server.
const (
	sortBuffer  = "262144" // the default of MySQL
	memoryTable = "16384"  // the least that a server takes
	smallPool   = "32M"
	smallCache  = "8M" // of temporary tables on disk, where they have one of their own
)

// sortQuery is what the rows of the scenario ask.
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
	coresBusy  = "cores busy"
	spilled    = "spilled to the disk" // of what a row has in RAM first: the most at once
)

// sorting is the scenario while it is made and concluded.
type sorting struct {
	lab    *lab.Lab
	rows   int
	places []*sortPlace
	// full is why there is no room for what is mounted for rows, nil if there is.
	full error
	// sums are the sums of the checksums of the texts up to each row.
	sums []uint64
}

// asked is how many rows a query asks for.
func (o *sorting) asked(q sortQuery) int { return o.rows / q.part }

// Scenario measures sorting and grouping by a text that is too long for memory, by the
// place of the files that this takes.
func Scenario(l *lab.Lab) runner.Scenario { return newSorting(l).scenario() }

func newSorting(l *lab.Lab) *sorting {
	o := &sorting{lab: l, rows: max(l.Options.Scaled(sortRows), minSortRows)}
	o.places = o.newPlaces()
	return o
}

func (o *sorting) scenario() runner.Scenario {
	l := o.lab
	settings := l.Settings()
	settings["data"] = fmt.Sprintf("%d rows with %d bytes of text, %s, in RAM wherever tmpdir is; GROUP BY takes a quarter of them", o.rows, textBytes, runner.Bytes.Format(float64(o.bytes())))
	settings[runner.Published] = "2 threads, 200,000 rows by a text: 11 MB/s with /tmp on disk, 60 MB/s with a RAM device before the disk, in a third of the time"
	settings["session"] = "sort_buffer_size=" + sortBuffer + ", tmp_table_size and max_heap_table_size=" + memoryTable
	settings["server"] += ", innodb_buffer_pool_size=" + smallPool
	settings["tmpdir"] = "files of sorts and temporary tables"
	temporary := l.Server.Family().Stock.Temporary
	if temporary.Dir != "" {
		settings["tmpdir"] = "files of sorts; temporary tables are InnoDB's, and " + temporary.Dir + " is in the same place"
	}
	if temporary.Cache != "" {
		settings["server"] += ", " + temporary.Cache + "=" + smallCache
	}
	s := runner.Scenario{
		Name: "sort", Rounds: 6, Unit: runner.PerSecond, Settings: settings,
		Title:  fmt.Sprintf("rows a second ordered, or grouped, by a text, %d threads, by the place of temporary files", sortThreads),
		Beside: []runner.Measure{{Name: runner.Written, Unit: runner.Bytes}, {Name: spilled, Unit: runner.Bytes}, {Name: lab.ServerCPU, Unit: runner.Seconds}, {Name: coresBusy, Unit: runner.Count}, {Name: sortMerges, Unit: runner.Count}, {Name: diskTables, Unit: runner.Count}},
	}
	s.Beside = append(s.Beside, lab.FsyncBeside()...)
	s.Conclusion = l.IfDisk(slices.ContainsFunc(o.places, func(p *sortPlace) bool { return !p.InRAM() }), o.conclusion)
	for _, q := range sortQueries {
		for _, p := range o.places {
			s.Cases = append(s.Cases, runner.Case{
				Name: q.name + ", " + p.where, Base: q.name + ", " + cmp.Or(p.tier.base, o.places[0].where), Settings: p.About, Ours: p.tier.ours || p.Ramaria,
				Command: l.RepeatCommand("sort", p.Place), Found: func() string { return p.lies },
				Prepare: func(ctx context.Context) error {
					if p.tier.spare && o.full != nil {
						return o.full
					}
					if err := p.prepare(ctx); err != nil {
						return err
					}
					if err := p.patience(q); err != nil {
						return err
					}
					return p.tryOut(ctx, q)
				},
				Round:   func(ctx context.Context) (runner.Sample, error) { return p.round(ctx, q) },
				Check:   func(context.Context) error { return p.check(q) },
				Cleanup: p.close,
			})
		}
	}
	o.need().SetIn(&s)
	return s
}

// minSortRows is the fewest rows that do not fit into the buffer of a sort.
const minSortRows = 5_000

// bytes is about what the rows take.
func (o *sorting) bytes() int64 { return int64(o.rows) * sortRowBytes }

// temporaryBytes is what their sorts take at most: what is merged, and what it becomes.
func (o *sorting) temporaryBytes() int64 { return 3 * sortThreads * o.bytes() }

// need counts servers whose data is in RAM, in /dev/shm but for ramaria's own; those of what is mounted for
// rows, if there is room for them too: else these rows say so.
func (o *sorting) need() lab.Need {
	r := o.needOf(func(p *sortPlace) bool { return !p.tier.spare })
	mounted := o.needOf(func(p *sortPlace) bool { return p.tier.spare })
	all := lab.Need{Disk: r.Disk + mounted.Disk, Memory: r.Memory + mounted.Memory, Shm: r.Shm + mounted.Shm}
	if o.full = o.lab.Fits(all); o.full != nil {
		return r
	}
	return all
}

func (o *sorting) needOf(wanted func(*sortPlace) bool) (r lab.Need) {
	shared := lab.Place{Name: lab.PlaceRAMByHand}
	for _, p := range o.places {
		if p.err != nil || !wanted(p) {
			continue // it has no figures
		}
		r.Memory += o.lab.ResidentBytes() + p.tier.ram
		data := shared
		if p.Ramaria {
			data = p.Place
		}
		r.AddServer(o.lab, data, o.lab.FreshBytes()+2*o.bytes())
		if p.tier.image > 0 {
			r.Disk += p.tier.image
		} else {
			r.AddServer(o.lab, p.Place, o.temporaryBytes())
		}
	}
	return r
}

// longestRound is how long a round may be expected to take.
const longestRound = time.Minute

// patience returns ErrUnavailable where every write waits for a device that is too slow.
func (p *sortPlace) patience(q sortQuery) error {
	if !p.tier.synced || len(p.fsyncs) == 0 {
		return nil
	}
	fsync := runner.Summarise(runner.Seconds, p.fsyncs).Median
	round := time.Duration(q.writes * float64(sortThreads*p.sorting.asked(q)) * fsync * float64(time.Second))
	if round > longestRound {
		return fmt.Errorf("%w in time: an fsync takes %s there, and a round about %s; --scale 0.1 takes less", runner.ErrUnavailable, runner.Seconds.Format(fsync), round.Round(time.Second))
	}
	return nil
}

// tryOut returns an error that leaves the row without figures where the query fails in a place that
// promises less than a disk does.
func (p *sortPlace) tryOut(ctx context.Context, q sortQuery) error {
	if !p.tier.mayFail {
		return nil
	}
	if _, err := p.round(ctx, q); err != nil {
		// A server may end a connection that had no room.
		if again := p.connect(ctx); ctx.Err() != nil || again != nil {
			return errors.Join(err, again)
		}
		return lab.NotApplicableError("it fails: " + cmp.Or(errors.Unwrap(err), err).Error())
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
func (p *sortPlace) round(ctx context.Context, q sortQuery) (runner.Sample, error) {
	before, err := p.counters(ctx)
	if err != nil {
		return runner.Sample{}, err
	}
	if !p.InRAM() { // what others have left in the page cache is not to count
		if err := sys.SyncFS(p.on); err != nil {
			return runner.Sample{}, err
		}
	}
	var took time.Duration
	written, err := p.count(func() error {
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
		return runner.Sample{}, fmt.Errorf("%s, %s: %w", q.name, p.where, err)
	}
	after, err := p.counters(ctx)
	if err != nil {
		return runner.Sample{}, err
	}
	p.moved = map[string]float64{}
	for name := range after {
		p.moved[name] = after[name] - before[name]
	}
	sample := runner.Sample{
		Value: float64(len(p.conns)*p.sorting.asked(q)) / took.Seconds(),
		Beside: map[string]float64{
			lab.ServerCPU: p.moved[lab.ServerCPU], coresBusy: (p.moved[lab.ServerCPU] + p.moved[clientCPU]) / took.Seconds(),
			sortMerges: p.moved[sortMerges], diskTables: p.moved[diskTables],
		},
	}
	if !math.IsNaN(p.spilled) {
		sample.Beside[spilled] = p.spilled
	}
	lab.AddWritten(sample.Beside, runner.Written, written, p.InRAM(), p.device)
	lab.AddFsync(sample.Beside, p.fsyncs)
	return sample, nil
}

// count calls work, which is a round, and returns what was written to the device meanwhile.
func (p *sortPlace) count(work func() error) (written int64, err error) {
	err = p.scratch.Use(func() (err error) {
		p.spilled, err = p.scratch.MostSpilled(func() (err error) {
			written, err = p.device.Count(work)
			return err
		})
		return err
	})
	return written, err
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

// fullyBusy is the part of the processors from which on they are told to bound a row: its
// sessions begin and end apart, and wait for each other's turns.
const fullyBusy = 0.8

// busy is the part that a row used of the processors that it could: those of the machine, or
// one for each session of the server.
func (o *sorting) busy(q sortQuery, r *runner.Row) float64 {
	took := float64(sortThreads*o.asked(q)) / r.Median
	return min(1, max(r.Beside[lab.ServerCPU]/(took*sortThreads), r.Beside[coresBusy]/float64(runtime.NumCPU())))
}

// conclusion says what the places give against the first, and whether that one waits for its
// device: it does if files reach it, and the same work is faster with them in RAM, beyond noise.
// Where what is written was not counted there is no cause to tell. How busy
// the processors are is told, but proves nothing on a machine that has other work.
func (o *sorting) conclusion(r *runner.Result) string {
	var parts []string
	for i, q := range sortQueries {
		rows := r.Rows[i*len(o.places):][:len(o.places)]
		if s := o.queryConclusion(r, q, rows); s != "" {
			parts = append(parts, q.name+": "+s)
		}
		if s := o.tierConclusion(r, rows); s != "" {
			parts = append(parts, "There "+s)
		}
	}
	if parts == nil {
		return ""
	}
	return strings.Join(parts, ". ") + "."
}

func (o *sorting) queryConclusion(r *runner.Result, q sortQuery, rows []runner.Row) string {
	first := &rows[0]
	if math.IsNaN(first.Median) {
		return ""
	}
	said := []string{fmt.Sprintf("%s has the processors %.0f %% busy", o.places[0].where, 100*o.busy(q, first))}
	inRAM, gained, best := false, false, 0.0
	for i := range rows[1:] {
		p, row := o.places[i+1], &rows[i+1]
		if math.IsNaN(row.Ratio) || p.tier.make != nil && !p.tier.synced {
			continue
		}
		said = append(said, fmt.Sprintf("%s %.2f times the rows, %.0f %% busy", p.where, row.Ratio, 100*o.busy(q, row)))
		if p.InRAM() {
			inRAM, gained, best = true, gained || r.Gains(row), max(best, row.Ratio)
		}
	}
	s := strings.Join(said, "; ")
	if !inRAM || o.places[0].InRAM() {
		return s
	}
	nothing := ": RAM " + r.NoGain(best)
	bytes, known := first.Beside[runner.Written]
	// Others write too, and some of the files of a sort would be reached by chance.
	wrote := bytes > float64(sortThreads*o.asked(q)*sortRowBytes)/4
	switch {
	case gained && !known:
		return s // and why is not known
	case gained && wrote:
		return s + ": the device holds it back"
	case gained:
		return s + ": hardly anything is written to the device, so what RAM gains is the work of the file system"
	case !known:
		return s + nothing
	case wrote:
		return s + nothing + ", though the device is written to"
	case o.busy(q, first) >= fullyBusy:
		return s + nothing + ", the page cache holds the files and the processors bound it"
	}
	return s + nothing + ", the page cache holds the files"
}
