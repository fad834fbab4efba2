package durable

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/volume"
)

const (
	// tableRows is the standard number of rows in each of sysbench's tables: 37 MB in all.
	tableRows = 20_000
	// seconds is how long one round of a row runs, and warmup how long each server is under load before
	// anything counts.
	seconds = 2
	warmup  = 2
	// rounds are enough for two runs to be compared.
	rounds = 5
	// leastPool is the smallest buffer pool, in bytes: all data fits into it.
	leastPool = 24 << 20
	// logBytes is what a transaction writes into the binary log at most, and fastest how many a second a
	// server does at most: so much of the disk and of memory a row may take.
	logBytes, fastest = 2 << 10, 20_000
	// interval is what an instance may lose that does not wait for its archive.
	interval = time.Second
)

// Workloads are those of sysbench that are measured unless --workload says others: updates that are
// little but commits, and 4 writes to a commit.
var Workloads = []string{updates, "oltp_write_only"}

// updates is the workload that a quick run has.
const updates = "oltp_update_index"

// Names of servers, as rows have them.
const (
	RowStock   = "stock, disk, synced"
	RowByHand  = "stock, /dev/shm, synced log on disk"
	RowDurable = "ramaria --durable"
	RowDelayed = "ramaria --durable=1s"
	RowRAM     = "ramaria"
	RowNoLog   = "ramaria --log off"
)

// bench is the scenario while it is made and concluded.
type bench struct {
	lab     *lab.Lab
	data    lab.SysbenchData
	seconds int
	kind    volume.Kind
	servers []*dbServer
	// told is the number of threads that the conclusion speaks of.
	told int
	// points are what the rows of the result are, in their order.
	points []point
}

// point is a row: a server under a workload of so many threads.
type point struct {
	*dbServer
	workload string
	threads  int
	// writes are how many a second the disk is held to, 0 for all that it makes.
	writes int
}

// Scenario measures the transactions per second of durable instances, and of what they are between:
// servers on disk, and in RAM.
func Scenario(l *lab.Lab) runner.Scenario { return newBench(l).scenario() }

func newBench(l *lab.Lab) *bench {
	b := &bench{lab: l, data: lab.SysbenchData{Rows: max(l.Options.Scaled(tableRows), 100)}, seconds: seconds}
	if b.held() {
		b.seconds = heldSeconds
	}
	if l.Options.Quick {
		b.seconds = 1
	}
	return b
}

func (b *bench) scenario() runner.Scenario {
	var err error
	if b.kind, err = b.lab.RAMKind(context.Background()); err != nil {
		b.kind = volume.Shm // which says why it cannot be
	}
	b.servers = b.newServers()
	threads := b.threads()
	b.told = lab.NearestThreads(threads)
	settings := b.lab.SysbenchSettings(b.data)
	settings["volume"] = string(b.kind)
	settings["pool"] = runner.Bytes.Format(float64(b.pool())) + ", larger than the data"
	settings["round"] = fmt.Sprintf("%d s of each row in turn, %d rounds unless --rounds or --time say otherwise; before the first, %d s with %d threads that do not count", b.seconds, rounds, b.warmup(), lab.SysbenchThreads)
	settings["dirty pages"] = lab.FlushNote
	if b.held() {
		settings["disk writes"] = b.heldAs()
	}
	settings[runner.Written] = "all that the device below " + b.lab.Disk() + " was given, in every row, and the files there that are made ahead"
	s := runner.Scenario{
		Name: "durable", Rounds: rounds, Warm: true, Unit: runner.PerSecond, XName: "threads", Settings: settings,
		Title: "transactions of sysbench, by what a power failure may take",
		Beside: []runner.Measure{
			{Name: lab.MedianLatency, Unit: runner.Seconds}, {Name: lab.TailLatency, Unit: runner.Seconds}, {Name: besideArchived, Unit: runner.Bytes}, {Name: runner.Written, Unit: runner.Bytes},
			{Name: besideSyncMedian, Unit: runner.Seconds}, {Name: besideSyncTail, Unit: runner.Seconds},
		},
	}
	s.Cases = b.cases()
	s.Conclusion = b.lab.IfDisk(true, b.conclusion)
	if b.held() {
		s.XName, s.Conclusion = writesName, b.lab.IfDisk(true, b.heldConclusion)
	}
	b.need().SetIn(&s)
	return s
}

// cases are the rows: servers side by side, under each load.
func (b *bench) cases() (list []runner.Case) {
	for _, workload := range b.workloads() {
		for _, n := range b.threads() {
			for _, writes := range b.writes() {
				for _, at := range b.servers {
					list = append(list, b.row(point{at, workload, n, writes}))
				}
			}
		}
	}
	return list
}

// Further measures of rows: bytes of the binary log that the archive got in a round, and what an fsync of
// 4 KiB takes on the disk.
const (
	besideArchived   = "archived"
	besideSyncMedian = "disk's " + lab.FsyncMedian
	besideSyncTail   = "disk's " + lab.FsyncTail
)

// threads are the numbers of threads that are measured.
func (b *bench) threads() []int {
	switch {
	case len(b.lab.Options.Threads) > 0:
		return lab.Unique(b.lab.Options.Threads)
	case b.lab.Options.Quick:
		return []int{lab.ToldThreads}
	}
	return []int{1, lab.ToldThreads, 32}
}

func (b *bench) workloads() []string {
	switch {
	case len(b.lab.Options.Workloads) > 0:
		return lab.Unique(b.lab.Options.Workloads)
	case b.lab.Options.Quick:
		return []string{updates}
	}
	return Workloads
}

func (b *bench) pool() int64 { return max(4*b.data.Size(), leastPool) }

func (b *bench) warmup() int { return min(warmup, b.seconds) }

// newServers are those that are compared, the one that the others are compared with first.
func (b *bench) newServers() []*dbServer {
	set := map[string]string{"innodb_buffer_pool_size": strconv.FormatInt(b.pool(), 10)}
	var list []*dbServer
	places := []lab.Place{
		{Name: lab.PlaceDisk, Row: RowStock, SyncedLog: true, Parent: lab.DiskDir, About: "stock settings, a binary log, sync_binlog=1, innodb_flush_log_at_trx_commit=1: loses nothing"},
		{Name: lab.PlaceRAMByHand, Row: RowByHand, SyncedLog: true, Parent: lab.ShmDir, About: "the same with its data directory in shared memory, and the binary log on the disk, by hand: loses nothing, as far as the log is replayed"},
		{Row: RowDurable, Ramaria: true, Durable: instance.DurableCommit, About: "an instance whose commits wait for its archive on the disk: loses nothing"},
		{Row: RowDelayed, Ramaria: true, Durable: interval.String(), About: "an instance whose archive on the disk follows: loses a second"},
		{Row: RowRAM, Ramaria: true, About: "an instance, and its log, in RAM: loses everything"},
		{Row: RowNoLog, Ramaria: true, LogOff: true, About: "an instance without a log, in RAM: loses everything"},
	}
	if b.held() {
		places = slices.DeleteFunc(places, func(p lab.Place) bool { return !p.SyncedLog && p.Durable != instance.DurableCommit })
	}
	for _, p := range places {
		if p.Ramaria {
			p.Name, p.Kind = lab.PlaceRamaria, b.kind
			p.About += ", volume " + string(b.kind)
		}
		p.Set = set
		list = append(list, &dbServer{PlacedServer: b.lab.NewServer(p, fmt.Sprintf("durable-%d", len(list)+1)), bench: b})
	}
	return list
}

// rowName is the name of the row of a server under the load of a point.
func (b *bench) rowName(server string, p point) string {
	name := server + ", " + p.workload + ", " + lab.ThreadsOf(p.threads)
	if b.held() {
		name += ", " + heldName(p.writes)
	}
	return name
}

// row is a server under a load.
func (b *bench) row(p point) runner.Case {
	b.points = append(b.points, p)
	command := []string{"ramaria bench durable" + b.lab.Options.Flags}
	if len(b.lab.Options.Volumes) > 0 {
		command = append(command, "--volume", string(b.kind))
	}
	command = append(command, "--threads", strconv.Itoa(p.threads), "--workload", p.workload)
	c := runner.Case{
		Name: b.rowName(p.Row, p), Base: b.rowName(RowStock, p), Settings: p.About, Ours: p.Ramaria,
		Series: p.Row + ", " + p.workload, X: float64(p.threads),
		Prepare: p.prepare, Found: p.Describe,
		Round:   func(ctx context.Context) (runner.Sample, error) { return p.load(ctx, p) },
		Check:   p.check,
		Cleanup: p.Close,
	}
	if b.held() {
		command = append(command, "--disk-writes", writesText(p.writes))
		b.setHeld(&c, p)
	}
	c.Command = strings.Join(command, " ")
	return c
}

// need is what the servers take of the disk and of memory, which all run at once.
func (b *bench) need() (r lab.Need) {
	files := b.lab.FreshBytes() + 2*b.data.Size()
	turns := int64(len(b.threads()) * len(b.workloads()) * len(b.writes()) * rounds)
	log := logBytes * fastest * int64(b.seconds) * turns / 4 // most are much slower
	for _, s := range b.servers {
		r.Memory += b.lab.ResidentBytes() + b.data.Size()
		if s.Ramaria { // small, with the last files of its log
			r.AddServer(b.lab, s.Place, files-b.lab.FreshBytes()/2+64<<20)
		} else {
			r.AddServer(b.lab, s.Place, files)
		}
		if s.SyncedLog || s.Durable != "" {
			r.Disk += log + b.data.Size()
		}
	}
	return r
}

// conclusion says what being durable costs and gains, with one number of threads.
func (b *bench) conclusion(r *runner.Result) string {
	var parts []string
	for _, workload := range b.workloads() {
		find := func(server string) *runner.Row { return b.find(r, server, point{workload: workload, threads: b.told}) }
		if part := concluded(r, find); part != "" {
			parts = append(parts, workload+": "+part)
		}
	}
	if parts == nil {
		return ""
	}
	return "With " + lab.ThreadsOf(b.told) + ", " + strings.Join(parts, "; ") + "."
}

// concluded is what there is to say of a workload, by its rows; nil is one without figures.
func concluded(r *runner.Result, find func(server string) *runner.Row) string {
	var parts []string
	stock, durable := find(RowStock), find(RowDurable)
	if stock != nil && durable != nil {
		text := fmt.Sprintf("%s, which loses nothing, has %.2f times the transactions of a stock server that syncs each to the disk", RowDurable, durable.Ratio)
		if !r.Gains(durable) && !r.Loses(durable) {
			text += " (within the noise)"
		}
		if mine, theirs := durable.Beside[lab.TailLatency], stock.Beside[lab.TailLatency]; mine > 0 && theirs > 0 {
			text += fmt.Sprintf(", 99 %% of them within %s instead of %s", runner.Seconds.Format(mine), runner.Seconds.Format(theirs))
		}
		if hand := find(RowByHand); hand != nil {
			text += fmt.Sprintf("; with data in RAM and a synced log by hand it is %.2f times", hand.Ratio)
		}
		parts = append(parts, text)
	}
	if delayed, ram := find(RowDelayed), find(RowRAM); delayed != nil && ram != nil {
		text := fmt.Sprintf("%s has %.0f %% of what the same has that is not durable", RowDelayed, 100*delayed.Median/ram.Median)
		if !r.Beats(ram, delayed) && !r.Beats(delayed, ram) {
			text += ", within the noise"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
