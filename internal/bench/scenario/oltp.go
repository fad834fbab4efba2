package scenario

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
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
)

// oltp is the scenario while it is made and concluded.
type oltp struct {
	lab     *lab.Lab
	data    lab.SysbenchData
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
func OltpScenario(l *lab.Lab) runner.Scenario { return newOltp(l).scenario() }

func newOltp(l *lab.Lab) *oltp {
	o := &oltp{lab: l, data: lab.SysbenchData{Rows: max(l.Options.Scaled(oltpRows), 100)}, seconds: oltpSeconds}
	if l.Options.Quick {
		o.seconds = 1
	}
	return o
}

func (o *oltp) scenario() runner.Scenario {
	settings := o.lab.Settings()
	settings["data"] = fmt.Sprintf("%d tables of %d rows, %s", lab.SysbenchTables, o.data.Rows, runner.Bytes.Format(float64(o.data.Size())))
	if !o.lab.Server.Family().Stock.Logs {
		settings["binary log"] = "ramaria's rows write one, stock " + o.lab.Server.Family().Name + " does not"
	}
	settings[runner.Published] = "at most 700 transactions a second on an SSD, 1400 on PCIe flash, 1700 there with atomic writes; p99 with 8 threads 34, 13 and 12 ms, without checksums 13 ms, on tmpfs 10 ms"
	settings["workload"] = readWrite + ": 14 reads, 4 writes and a commit, all of it random"
	settings["round"] = fmt.Sprintf("%d s of each row in turn, %d rounds unless --rounds or --time say otherwise; before the first, %d s with %d threads that do not count", o.seconds, oltpRounds, o.warmup(), lab.SysbenchThreads)
	settings["dirty pages"] = lab.FlushNote
	s := runner.Scenario{
		Name: "oltp", Rounds: oltpRounds, Warm: true, Unit: runner.PerSecond, XName: "threads", Settings: settings,
		Title:  "transactions of sysbench by the number of threads",
		Beside: []runner.Measure{{Name: lab.TailLatency, Unit: runner.Seconds}, {Name: runner.Written, Unit: runner.Bytes}},
	}
	s.Beside = append(s.Beside, lab.FsyncBeside()...)
	for _, pool := range o.pools(settings) {
		servers := o.newServers(pool)
		o.servers = append(o.servers, servers...)
		base := slices.IndexFunc(servers, func(s *oltpServer) bool { return s.Place.Name == lab.PlaceDisk && !s.trusting })
		for _, threads := range pool.threads {
			for _, at := range servers {
				if at.trusting && threads != o.told && len(o.lab.Options.Threads) == 0 {
					continue // there is no time for a curve of each, unless the user takes it
				}
				s.Cases = append(s.Cases, o.row(at, servers[max(base, 0)], threads))
			}
		}
	}
	s.Conclusion = o.lab.IfDisk(slices.ContainsFunc(o.servers, func(s *oltpServer) bool { return !s.InRAM() }), o.conclusion)
	o.need().SetIn(&s)
	return s
}

// threads are the numbers of threads that are measured.
func (o *oltp) threads() []int {
	switch {
	case len(o.lab.Options.Threads) > 0:
		return lab.Unique(o.lab.Options.Threads)
	case o.lab.Options.Quick: // there is time for several rounds of one alone
		return []int{lab.ToldThreads}
	}
	return []int{1, 2, 4, lab.ToldThreads, 16, 32, 64}
}

// pools are a buffer pool that holds all of the data, and one that holds a quarter.
func (o *oltp) pools(settings map[string]string) []oltpPool {
	threads := o.threads()
	o.told = lab.NearestThreads(threads)
	size := o.data.Size()
	large := oltpPool{bytes: max(4*size, 4*leastPool), threads: threads, all: !o.lab.Options.Quick}
	small := oltpPool{suffix: smallPoolSuffix, bytes: max(size/4, leastPool), threads: []int{o.told}}
	if len(o.lab.Options.Threads) > 0 {
		small.threads = threads
	}
	settings["pool"] = runner.Bytes.Format(float64(large.bytes)) + ", larger than the data"
	switch {
	case o.lab.Options.Quick:
		return []oltpPool{large}
	case size < 2*small.bytes: // it would be one more large pool
		settings["small pool"] = "left out: so little data fits into the smallest there is"
		return []oltpPool{large}
	}
	settings["small pool"] = runner.Bytes.Format(float64(small.bytes)) + ", smaller than the data"
	return []oltpPool{large, small}
}

func (o *oltp) warmup() int { return min(oltpWarmup, o.seconds) }

// newServers are those of a pool, the one that the others are compared with first.
func (o *oltp) newServers(pool oltpPool) []*oltpServer {
	var list []*oltpServer
	add := func(s lab.Place, row string, without ...string) {
		set := map[string]string{"innodb_buffer_pool_size": strconv.FormatInt(pool.bytes, 10)}
		if len(without) > 0 {
			set["innodb_doublewrite"] = "OFF"
		}
		s = s.With(set)
		s.Row = row + pool.suffix
		if s.Ramaria && pool.suffix != "" {
			s.About += ": held small here, a page that it lacks passes a loop device on xfs; without --set innodb_buffer_pool_size the pool grows with the data"
		}
		if len(without) > 0 {
			s.About += ": " + strings.Join(without, ", ")
		}
		name := fmt.Sprintf("oltp-%d", len(o.servers)+len(list)+1)
		list = append(list, &oltpServer{PlacedServer: o.lab.NewServer(s, name), oltp: o, trusting: len(without) > 0, unsummed: len(without) > 1, large: pool.suffix == ""})
	}
	for _, s := range o.lab.Places(context.Background(), lab.PlaceDisk, lab.PlaceRAMByHand, lab.PlaceRamaria) {
		add(s, s.Row)
		if s.Name != lab.PlaceDisk {
			continue
		}
		const atomic, unsummed = "as if the device wrote pages atomically", "and no checksums (innodb_checksum_algorithm=none)"
		add(s, s.Row+" as if atomic (no doublewrite)", atomic)
		if pool.all {
			add(s, s.Row+" as if atomic, no checksums", atomic, unsummed)
		}
	}
	return list
}

// row is a server under so many threads.
func (o *oltp) row(at, base *oltpServer, threads int) runner.Case {
	o.points = append(o.points, oltpPoint{at, base, threads})
	return runner.Case{
		Name: at.Row + ", " + lab.ThreadsOf(threads), Base: base.Row + ", " + lab.ThreadsOf(threads), Settings: at.About, Ours: at.Ramaria, Series: at.Row, X: float64(threads),
		Command: o.lab.RepeatCommand("oltp", at.Place, "--threads", strconv.Itoa(threads)),
		Prepare: at.prepare, Found: at.Describe,
		Round:   func(ctx context.Context) (runner.Sample, error) { return at.load(ctx, threads) },
		Check:   at.check,
		Cleanup: at.Close,
	}
}

// need is what the servers take of the disk and of memory, which all run at once.
func (o *oltp) need() (r lab.Need) {
	// With its redo and undo logs, what it logs under load, and the data twice: pages that
	// were split are half empty.
	files := o.lab.FreshBytes() + 512<<20 + 2*o.data.Size()
	for _, s := range o.servers {
		r.Memory += o.lab.ResidentBytes() + o.data.Size()
		r.AddServer(o.lab, s.Place, files)
	}
	return r
}

// conclusion says what RAM gains, what the slowest transactions take, and what a device that
// writes pages atomically would gain, all with one number of threads.
func (o *oltp) conclusion(r *runner.Result) string {
	var parts []string
	for _, part := range []string{o.ramConclusion(r), o.tailConclusion(r), o.reliability(r)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if parts == nil {
		return ""
	}
	return "With " + lab.ThreadsOf(o.told) + ": " + strings.Join(parts, "; ") + "."
}

// oltpPools are the large one and the small one, in words.
var oltpPools = []struct {
	large bool
	where string
}{{true, ""}, {false, "with the small pool "}}

// rows are those of a pool that the conclusion speaks of and that wanted wants.
func (o *oltp) rows(r *runner.Result, large bool, wanted func(oltpPoint) bool) (list []*runner.Row) {
	for i, p := range o.points {
		row := &r.Rows[i]
		if p.large == large && p.threads == o.told && p.oltpServer != p.base && !math.IsNaN(row.Ratio) && wanted(p) {
			list = append(list, row)
		}
	}
	return list
}

func (o *oltp) ramConclusion(r *runner.Result) string {
	var parts []string
	for _, pool := range oltpPools {
		rows := o.rows(r, pool.large, func(p oltpPoint) bool { return p.InRAM() && !p.base.InRAM() })
		if rows == nil {
			continue
		}
		has := fmt.Sprintf("has %.2f times the transactions of %s", rows[0].Ratio, strings.TrimSuffix(r.BaseOf(rows[0]).Series, smallPoolSuffix))
		part := pool.where
		if !slices.ContainsFunc(rows, r.Gains) {
			best := slices.MaxFunc(rows, func(a, b *runner.Row) int { return cmp.Compare(a.Ratio, b.Ratio) })
			part += "RAM " + r.NoGain(best.Ratio) + ": "
		}
		for i, row := range rows {
			if i > 0 {
				part, has = part+"; ", fmt.Sprintf("%.2f times", row.Ratio)
			}
			part += strings.TrimSuffix(row.Series, smallPoolSuffix) + " " + has
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// tailConclusion tells the latency of all servers with the large pool.
func (o *oltp) tailConclusion(r *runner.Result) string {
	var list []string
	for i, p := range o.points {
		p99, told := r.Rows[i].Beside[lab.TailLatency]
		if p.large && p.threads == o.told && told {
			list = append(list, r.Rows[i].Series+" "+runner.Seconds.Format(p99))
		}
	}
	if list == nil {
		return ""
	}
	return "99 % of the transactions take at most: " + strings.Join(list, ", ")
}

func (o *oltp) reliability(r *runner.Result) string {
	var list []string
	gained, best := false, 0.0
	for _, pool := range oltpPools {
		for _, row := range o.rows(r, pool.large, func(p oltpPoint) bool { return p.trusting && !p.unsummed }) {
			list = append(list, fmt.Sprintf("%s%.2f times", pool.where, row.Ratio))
			gained, best = gained || r.Gains(row), max(best, row.Ratio)
		}
	}
	if list == nil {
		return ""
	}
	s := "the disk without the doublewrite buffer has " + strings.Join(list, ", ") + " as many as with it"
	if !gained {
		s += ", which " + r.NoGain(best)
	}
	return s
}
