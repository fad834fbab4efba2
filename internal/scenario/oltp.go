package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/server"
)

const (
	// readWrite is the mix that the published comparisons have: 18 statements that read
	// and write and one commit. Single updates (oltp_update_index) are little but commits, and
	// would flatter RAM.
	readWrite = "oltp_read_write"
	// oltpRows is the standard number of rows in a table: 37 MB in all, which any server loads
	// in a few seconds, and four times the smallest pools that work.
	oltpRows = 20_000
	// oltpSeconds is how long one round of a row runs: oltpRounds of all rows take about five
	// minutes.
	oltpSeconds = 2
	// oltpRounds are enough for two runs to be compared.
	oltpRounds = 5
	// oltpWarmup is how long each server is under load before anything counts, in seconds: it
	// stands for the round by which other scenarios warm up.
	oltpWarmup = 2
	// smallPoolSuffix ends the names of the rows whose pool is smaller than the data.
	smallPoolSuffix = ", small pool"
	// leastPool is the smallest buffer pool that every server takes, in bytes.
	leastPool = 6 << 20
	// tailLatency is the measure of what 99 % of the transactions took at most.
	tailLatency = "p99 latency"
	// toldThreads is the number of threads that the conclusion speaks of, or the nearest that is
	// measured: that of the published comparison's latencies.
	toldThreads = 8
)

// oltp is the scenario while it is made and concluded.
type oltp struct {
	lab     *Lab
	data    sysbenchData
	seconds int
	servers []*oltpServer
	// told is the number of threads that the conclusion speaks of.
	told int
	// points are what the rows of the result are, in their order.
	points []oltpPoint
}

// oltpPoint is a row: a server under so many threads.
type oltpPoint struct {
	*oltpServer
	base    *oltpServer
	threads int
}

// oltpPool is a size of the buffer pool and what is measured with it.
type oltpPool struct {
	suffix  string // of the rows
	bytes   int64
	threads []int
	all     bool // with the row of a server without checksums
}

// OltpScenario measures the transactions per second of sysbench by the number of threads.
func (l *Lab) OltpScenario() bench.Scenario { return l.newOltp().scenario() }

func (l *Lab) newOltp() *oltp {
	o := &oltp{lab: l, data: sysbenchData{rows: max(l.Options.scaled(oltpRows), 100)}, seconds: oltpSeconds}
	if l.Options.Quick {
		o.seconds = 1
	}
	return o
}

func (o *oltp) scenario() bench.Scenario {
	settings := o.lab.settings()
	settings["data"] = fmt.Sprintf("%d tables of %d rows, %s", sysbenchTables, o.data.rows, bench.Bytes.Format(float64(o.data.size())))
	if o.lab.Server.Flavour == server.MariaDB {
		settings["binary log"] = "ramaria's rows write one, stock MariaDB does not"
	}
	settings[bench.Published] = "at most 700 transactions a second on an SSD, 1400 on PCIe flash, 1700 there with atomic writes; p99 with 8 threads 34, 13 and 12 ms, without checksums 13 ms, on tmpfs 10 ms"
	settings["workload"] = readWrite + ": 14 reads, 4 writes and a commit, all of it random"
	settings["round"] = fmt.Sprintf("%d s of each row in turn, %d rounds unless --rounds or --time say otherwise; before the first, %d s with %d threads that do not count", o.seconds, oltpRounds, o.warmup(), sysbenchThreads)
	settings["dirty pages"] = sayFlushed
	s := bench.Scenario{
		Name: "oltp", Rounds: oltpRounds, Warm: true, Unit: bench.PerSecond, XName: "threads", Settings: settings,
		Title:  "transactions of sysbench by the number of threads",
		Beside: []bench.Measure{{Name: tailLatency, Unit: bench.Seconds}, {Name: bench.Written, Unit: bench.Bytes}},
	}
	s.Beside = append(s.Beside, fsyncBeside()...)
	for _, pool := range o.pools(settings) {
		servers := o.newServers(pool)
		o.servers = append(o.servers, servers...)
		base := slices.IndexFunc(servers, func(s *oltpServer) bool { return s.place.name == placeDisk && !s.trusting })
		for _, threads := range pool.threads {
			for _, at := range servers {
				if at.trusting && threads != o.told && len(o.lab.Options.Threads) == 0 {
					continue // there is no time for a curve of each, unless the user takes it
				}
				s.Cases = append(s.Cases, o.row(at, servers[max(base, 0)], threads))
			}
		}
	}
	s.Conclude = o.lab.ofDisk(slices.ContainsFunc(o.servers, func(s *oltpServer) bool { return !s.inRAM() }), o.conclude)
	o.room().of(&s)
	return s
}

// threads are the numbers of threads that are measured.
func (o *oltp) threads() []int {
	switch {
	case len(o.lab.Options.Threads) > 0:
		return Unique(o.lab.Options.Threads)
	case o.lab.Options.Quick: // there is time for several rounds of one alone
		return []int{toldThreads}
	}
	return []int{1, 2, 4, toldThreads, 16, 32, 64}
}

// nearest is the one of the numbers that is nearest to toldThreads, the lower one of two.
func nearest(threads []int) int {
	distance := func(n int) int { return max(n-toldThreads, toldThreads-n) }
	return slices.MinFunc(threads, func(a, b int) int { return cmp.Or(cmp.Compare(distance(a), distance(b)), cmp.Compare(a, b)) })
}

// pools are a buffer pool that holds all of the data, and one that holds a quarter.
func (o *oltp) pools(settings map[string]string) []oltpPool {
	threads := o.threads()
	o.told = nearest(threads)
	size := o.data.size()
	large := oltpPool{bytes: max(4*size, 4*leastPool), threads: threads, all: !o.lab.Options.Quick}
	small := oltpPool{suffix: smallPoolSuffix, bytes: max(size/4, leastPool), threads: []int{o.told}}
	if len(o.lab.Options.Threads) > 0 {
		small.threads = threads
	}
	settings["pool"] = bench.Bytes.Format(float64(large.bytes)) + ", larger than the data"
	switch {
	case o.lab.Options.Quick:
		return []oltpPool{large}
	case size < 2*small.bytes: // it would be one more large pool
		settings["small pool"] = "left out: so little data fits into the smallest there is"
		return []oltpPool{large}
	}
	settings["small pool"] = bench.Bytes.Format(float64(small.bytes)) + ", smaller than the data"
	return []oltpPool{large, small}
}

func (o *oltp) warmup() int { return min(oltpWarmup, o.seconds) }

// newServers are those of a pool, the one that the others are compared with first.
func (o *oltp) newServers(pool oltpPool) []*oltpServer {
	var list []*oltpServer
	add := func(s place, row string, without ...string) {
		set := map[string]string{"innodb_buffer_pool_size": strconv.FormatInt(pool.bytes, 10)}
		if len(without) > 0 {
			set["innodb_doublewrite"] = "OFF"
		}
		s = s.with(set)
		s.row = row + pool.suffix
		if s.ramaria && pool.suffix != "" {
			s.says += ": held small here, a page that it lacks passes a loop device on xfs; without --set innodb_buffer_pool_size the pool grows with the data"
		}
		if len(without) > 0 {
			s.says += ": " + strings.Join(without, ", ")
		}
		name := fmt.Sprintf("oltp-%d", len(o.servers)+len(list)+1)
		list = append(list, &oltpServer{running: o.lab.running(s, name), oltp: o, trusting: len(without) > 0, unsummed: len(without) > 1, large: pool.suffix == ""})
	}
	for _, s := range o.lab.chosen(context.Background(), placeDisk, placeRAMByHand, PlaceRamaria) {
		add(s, s.row)
		if s.name != placeDisk {
			continue
		}
		const atomic, unsummed = "as if the device wrote pages atomically", "and no checksums (innodb_checksum_algorithm=none)"
		add(s, s.row+" as if atomic (no doublewrite)", atomic)
		if pool.all {
			add(s, s.row+" as if atomic, no checksums", atomic, unsummed)
		}
	}
	return list
}

// row is a server under so many threads.
func (o *oltp) row(at, base *oltpServer, threads int) bench.Case {
	o.points = append(o.points, oltpPoint{at, base, threads})
	return bench.Case{
		Name: at.row + ", " + threadsOf(threads), Base: base.row + ", " + threadsOf(threads), Settings: at.says, Series: at.row, X: float64(threads),
		Command: o.lab.again("oltp", at.place, "--threads", strconv.Itoa(threads)),
		Prepare: at.prepare, Found: at.found,
		Round:   func(ctx context.Context) (bench.Sample, error) { return at.load(ctx, threads) },
		Check:   at.check,
		Cleanup: at.close,
	}
}

// room is what the servers take of the disk and of memory, which all run at once.
func (o *oltp) room() (r room) {
	// With its redo and undo logs, what it logs under load, and the data twice: pages that
	// were split are half empty.
	files := o.lab.freshBytes() + 512<<20 + 2*o.data.size()
	for _, s := range o.servers {
		r.memory += o.lab.residentBytes() + o.data.size()
		r.put(o.lab, s.place, files)
	}
	return r
}

// oltpServer is a server with the tables of sysbench.
type oltpServer struct {
	*running
	oltp *oltp
	// trusting says that it has no doublewrite buffer, and unsummed no checksums either.
	trusting, unsummed bool
	large              bool // the pool

	filled  bool
	failure error
}

const oltpDatabase = "sbtest"

// prepare starts it, fills its tables and warms it up, once.
func (s *oltpServer) prepare(ctx context.Context) error {
	if !s.filled {
		s.filled = true
		s.failure = s.fill(ctx)
	}
	return s.failure
}

func (s *oltpServer) fill(ctx context.Context) error {
	if _, err := s.lab.sysbench(ctx); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	db, err := s.connect("")
	if err != nil {
		return err
	}
	defer db.Close()
	if s.unsummed {
		if _, err := db.ExecContext(ctx, "SET GLOBAL innodb_checksum_algorithm = 'none'"); err != nil {
			return errors.Join(fmt.Errorf("%w: %s: %w", bench.ErrUnavailable, s.lab.Server.Name(), err), s.close(ctx))
		}
	}
	if _, err := db.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+oltpDatabase); err != nil {
		return err
	}
	run := s.run(sysbenchThreads)
	if err := s.lab.fillTables(ctx, run); err != nil {
		return err
	}
	run.seconds = s.oltp.warmup()
	wait, err := s.lab.startRun(ctx, run)
	if err == nil {
		_, err = wait()
	}
	return err
}

func (s *oltpServer) run(threads int) sysbenchRun {
	e := s.endpoint
	e.Database = oltpDatabase
	return sysbenchRun{Endpoint: e, name: s.name, workload: readWrite, data: s.oltp.data, threads: threads, seconds: s.oltp.seconds}
}

// load is one round.
func (s *oltpServer) load(ctx context.Context, threads int) (bench.Sample, error) {
	var report sysbenchReport
	written, err := s.flushed(ctx, func() error {
		wait, err := s.lab.startRun(ctx, s.run(threads))
		if err == nil {
			report, err = wait()
		}
		return err
	})
	sample := bench.Sample{Value: report.rate, Beside: map[string]float64{tailLatency: report.p99}}
	tellWritten(sample.Beside, bench.Written, written, s.inRAM(), s.device)
	tellFsync(sample.Beside, s.fsyncs)
	return sample, err
}

// check counts the rows of all tables, and has the server check one of them.
func (s *oltpServer) check(ctx context.Context) error {
	db, err := s.connect(oltpDatabase)
	if err != nil {
		return err
	}
	defer db.Close()
	return checkTablesIn(ctx, db, s.row, s.oltp.data, 1)
}
