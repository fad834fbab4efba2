package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

var exampleTime = time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)

// spreadOf are eleven samples around a median, with a tail to the slow side.
func spreadOf(median float64) []float64 {
	var samples []float64
	for _, f := range []float64{1, 0.97, 1.04, 0.99, 1.21, 0.95, 1.01, 0.98, 1.07, 1, 1.02} {
		samples = append(samples, median*f)
	}
	return samples
}

// rowWith is a measured row.
func rowWith(u runner.Unit, name string, samples ...float64) runner.Row {
	return runner.Row{Name: name, Ours: strings.Contains(name, "ramaria"), Rounds: len(samples), Samples: samples, Stats: runner.Summarise(u, samples), Ratio: math.NaN()}
}

func unavailable(name, note string) runner.Row {
	nan := math.NaN()
	return runner.Row{Name: name, Note: note, Stats: runner.Stats{Median: nan, P99: nan, Min: nan, Max: nan, IQR: nan}, Ratio: nan}
}

// compare fills in the ratios, as a run does.
func compare(r runner.Result) runner.Result {
	for i := range r.Rows {
		base := r.Rows[0]
		for _, row := range r.Rows {
			if r.Rows[i].Base == row.Name {
				base = row
			}
		}
		r.Rows[i].Ratio = r.Unit.Ratio(base.Median, r.Rows[i].Median)
	}
	return r
}

func exampleMachine() runner.Machine {
	return runner.Machine{
		CPU: "Example CPU @ 3.00GHz", Cores: 2, MemoryBytes: 25e9, Kernel: "6.18.0", System: "Debian GNU/Linux 12 (bookworm)",
		Directories: []runner.Directory{
			{Name: "disk", Path: "/var/cache/ramaria/bench", Filesystem: "ext4 on /dev/vda", FsyncP50: 0.0011, FsyncP99: 0.0042},
			{Name: "shm", Path: "/dev/shm", Filesystem: "tmpfs on tmpfs"},
		},
	}
}

// cycleResult has medians so far apart that the axis is logarithmic, long names, a row that
// is compared with another than the first, and one that this machine cannot run.
func cycleResult() runner.Result {
	const u = runner.Seconds
	r := runner.Result{
		Scenario: "cycle", Ramaria: "1.2.3", Time: exampleTime, Title: "create database, load fixture, drop", Unit: u, Machine: exampleMachine(),
		Settings: map[string]string{"server": "mariadb-10.11.19", "data": "5302 rows in 12 tables, 1.9 MB as a dump", "workers": "1"},
		Command:  "ramaria bench cycle --rounds 11 --format html",
		Rows: []runner.Row{
			rowWith(u, "stock", spreadOf(1.02)...),
			rowWith(u, "stock, innodb_flush_log_at_trx_commit=2", spreadOf(0.84)...),
			rowWith(u, "ramfs, innodb_flush_log_at_trx_commit=2, extended insert, one session", spreadOf(0.046)...),
			unavailable("zram", "not available on this machine: needs root"),
			rowWith(u, "ramaria clone", spreadOf(0.0092)...),
			rowWith(u, "ramaria reset", spreadOf(0.0032)...),
			rowWith(u, "ramaria reset, 2 GB", spreadOf(0.0034)...),
		},
	}
	r.Rows[0].Settings = "on disk, no options"
	r.Rows[5].Samples = append(r.Rows[5].Samples, spreadOf(0.0032)...)
	r.Rows[5].Stats = runner.Summarise(u, r.Rows[5].Samples)
	r.Rows[6].Base = "ramaria reset"
	return compare(r)
}

// upResult is linear, was interrupted, and has a conclusion and commands of rows.
func upResult() runner.Result {
	const u = runner.Seconds
	r := runner.Result{
		Scenario: "up", Ramaria: "1.2.3", Time: exampleTime, Title: "from nothing to the first answer of a server with the fixture", Unit: u, Machine: exampleMachine(),
		Settings: map[string]string{"server": "mariadb-10.11.19"}, Command: "ramaria bench up",
		Conclusion: "ramaria up takes 31.0 ms more than cp -a and a bare start, and is 9.8 times faster than the stock way.", Interrupted: true,
		Rows: []runner.Row{
			rowWith(u, "stock", spreadOf(3.31)...),
			rowWith(u, "docker run mariadb", spreadOf(5.9)...),
			rowWith(u, "cp -a and mariadbd", spreadOf(0.306)...),
			rowWith(u, "ramaria up", spreadOf(0.337)...),
		},
	}
	r.Rows[3].Command = "ramaria bench up --place ramaria"
	r.Rows[1].Command = "docker run --rm -e MARIADB_ROOT_PASSWORD=x mariadb:10.11"
	return compare(r)
}

// updateResult counts in rates, and nothing is gained in it.
func updateResult() runner.Result {
	const u = runner.PerSecond
	return compare(runner.Result{
		Scenario: "update", Title: "random updates by primary key", Unit: u, Machine: exampleMachine(), Command: "ramaria bench update",
		Rows: []runner.Row{rowWith(u, "tmpfs", spreadOf(11800)...), rowWith(u, "xfs", spreadOf(12100)...), rowWith(u, "zram", spreadOf(10300)...)},
	})
}

// oltpResult has curves, and further measures beside the value.
func oltpResult() runner.Result {
	const u = runner.PerSecond
	r := runner.Result{
		Scenario: "oltp", Ramaria: "1.2.3", Time: exampleTime.Add(time.Hour), Title: "transactions of sysbench oltp_read_write", Unit: u, Machine: exampleMachine(), XName: "threads",
		Command:  "ramaria bench oltp",
		Settings: map[string]string{"server": "mariadb-10.11.19", "tables": "4 of 100,000 rows"},
		Beside:   []runner.Measure{{Name: "p99 latency", Unit: runner.Seconds}, {Name: "written to the device", Unit: runner.Bytes}},
	}
	for i, place := range []string{"disk", "disk, no doublewrite", "EMULATED 500 IOPS", "tmpfs", "ramaria xfs"} {
		for t := 1.0; t <= 64; t *= 2 {
			name := fmt.Sprintf("%s, %.0f threads", place, t)
			row := unavailable(name, "the server ended: out of memory")
			if place != "EMULATED 500 IOPS" || t != 16 {
				row = rowWith(u, name, spreadOf([]float64{70, 110, 42, 620, 655}[i]*math.Pow(t, 0.62)*math.Exp(-t/150))...)
				row.Beside = map[string]float64{"p99 latency": []float64{0.034, 0.021, 0.061, 0.005, 0.0047}[i] * (0.5 + t/9)}
				if i < 3 {
					row.Beside["written to the device"] = 1.1e6 * t
				}
			}
			row.Series, row.X = place, t
			r.Rows = append(r.Rows, row)
		}
	}
	for i := range r.Rows {
		if i >= 7 {
			r.Rows[i].Base = r.Rows[i%7].Name
		}
	}
	return compare(r)
}

// awkwardResult has names that mean something to HTML, to Markdown and to a terminal.
func awkwardResult() runner.Result {
	const u = runner.Bytes
	const long = "/srv/a-directory-whose-name-nobody-can-break-anywhere-since-it-has-no-space-in-it/and-goes-on-below"
	r := runner.Result{
		Scenario: "<i>ram", Title: `a & b <script>alert("x")</script>`, Unit: u, Settings: map[string]string{"<k>": "a|b\nc", "sql_mode": "*_x_*"},
		Command: "ramaria bench ram --disk '<d>' ```",
		Rows: []runner.Row{rowWith(u, `<b>&"x`, spreadOf(52.1e6)...), rowWith(u, long, 31e6), rowWith(u, "oltp_read_write | `café` µ", 0, 0, 0),
			rowWith(u, "twelve words that go on and on, since somebody liked to explain things at length", spreadOf(7.1e6)...), unavailable("\x1b[31mred", "<no>")},
	}
	return compare(r)
}

func nothingMeasured() runner.Result {
	return compare(runner.Result{
		Scenario: "sort", Title: "rows ordered by a text column", Unit: runner.PerSecond,
		Rows: []runner.Row{unavailable("disk", "not available on this machine: no room"), unavailable("tmpfs", "")},
	})
}

// manyRows has n bars.
func manyRows(n int) runner.Result {
	r := runner.Result{Scenario: "many", Title: "many rows", Unit: runner.Seconds}
	for i := range n {
		r.Rows = append(r.Rows, rowWith(runner.Seconds, fmt.Sprintf("row %d", i+1), spreadOf(float64(n-i)*0.1)...))
	}
	return compare(r)
}

func examples() []runner.Result {
	return []runner.Result{cycleResult(), upResult(), updateResult(), oltpResult(), awkwardResult(), nothingMeasured()}
}
