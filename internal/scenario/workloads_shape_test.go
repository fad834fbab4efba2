package scenario

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// report is what sysbench 1.0.20 says.
const report = `SQL statistics:
    queries performed:
        read:                            48328
        total:                           69040
    transactions:                        3452   (1150.27 per sec.)
    queries:                             69040  (23005.36 per sec.)
    ignored errors:                      0      (0.00 per sec.)

Latency (ms):
         min:                                    1.82
         avg:                                    6.95
         max:                                   61.30
         99th percentile:                       25.28
         sum:                                23990.21
`

func TestSysbenchReport(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       sysbenchReport
		fails      bool
	}{
		{"as it is", report, sysbenchReport{1150.27, 0.02528}, false},
		{"another percentile", strings.Replace(report, "99th", "95th", 1), sysbenchReport{}, true},
		{"no transactions", "FATAL: unable to connect to MySQL server", sysbenchReport{}, true},
		{"a number that is none", strings.Replace(report, "1150.27", "1.1.5", 1), sysbenchReport{}, true},
		{"nothing done", strings.NewReplacer("1150.27", "0.00", "25.28", "0.00").Replace(report), sysbenchReport{}, false},
	} {
		got, err := parseSysbench(tc.text)
		if (err != nil) != tc.fails || !tc.fails && got != tc.want {
			t.Errorf("%s: %+v, %v", tc.name, got, err)
		}
	}
}

func TestCPUTime(t *testing.T) {
	stat := "4711 (mariadbd) (x) S 1 2 3 4 -1 5 6 7 8 9 250 50 10 11 20 0 30 0 99\n"
	if got, err := parseCPUTime(stat); err != nil || got != 3*time.Second {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "1 (x) S 1 2", "1 (x) S 1 2 3 4 5 6 7 8 9 10 a b c"} {
		if _, err := parseCPUTime(bad); err == nil {
			t.Errorf("%q: accepted", bad)
		}
	}
	before, err := cpuTime(1)
	if err != nil || before < 0 {
		t.Errorf("%v, %v", before, err)
	}
}

// workloadLab is a lab that can make scenarios, and run none.
func workloadLab(t *testing.T, o Options) *Lab {
	t.Helper()
	o.Volumes = append(o.Volumes, volume.Shm)
	return &Lab{Server: &server.Server{Flavour: server.MariaDB, Version: server.Version{Major: 10, Minor: 11}}, Host: hostWith(t, ""), Dir: t.TempDir(), Options: o}
}

// TestWorkloadScenarios makes them as the command does, with all kinds of options.
func TestWorkloadScenarios(t *testing.T) {
	for name, o := range map[string]Options{
		"standard": {},
		"quick":    {Quick: true, Scale: 0.05},
		"large":    {Scale: 20},
		"narrow":   {Places: []string{placeRAMByHand}, Threads: []int{3}},
		"all":      {Places: append(PlaceNames()[:5], "emulated:500"), Volumes: []volume.Kind{volume.XFS, volume.Tmpfs}, Threads: []int{1, 2}},
	} {
		l := workloadLab(t, o)
		for _, s := range []bench.Scenario{l.OltpScenario(), l.SortScenario(), l.EnginesScenario()} {
			names := map[string]bool{}
			for _, c := range s.Cases {
				if names[c.Name] {
					t.Errorf("%s: %s has two rows %q", name, s.Name, c.Name)
				}
				names[c.Name] = true
				if !strings.HasPrefix(c.Command, "ramaria bench "+s.Name+" --place ") {
					t.Errorf("%s: row %q has command %q", name, c.Name, c.Command)
				}
				if err := c.Cleanup(t.Context()); err != nil {
					t.Errorf("%s: clean up %q that was not prepared: %v", name, c.Name, err)
				}
			}
			if err := s.Validate(); err != nil {
				t.Errorf("%s: %s: %v", name, s.Name, err)
			}
			if s.Memory <= 0 || s.Memory > 64<<30 {
				t.Errorf("%s: %s takes %d bytes of memory", name, s.Name, s.Memory)
			}
		}
	}
}

func TestOltpRows(t *testing.T) {
	s := workloadLab(t, Options{}).OltpScenario()
	byName := map[string]bench.Case{}
	for _, c := range s.Cases {
		byName[c.Name] = c
	}
	c := byName["ramaria, shm, small pool, 8 threads"]
	if c.Base != "stock, disk, small pool, 8 threads" || c.Series != "ramaria, shm, small pool" || c.X != 8 ||
		c.Command != "ramaria bench oltp --place ramaria --volume shm --threads 8" {
		t.Errorf("row %+v", c)
	}
	// With one number of threads, as the small pool.
	unsummed := 0
	for name := range byName {
		if strings.Contains(name, "no checksums") {
			unsummed++
		}
	}
	// 7 numbers of threads on 3 servers, one on 2 that trust the device and on 4 with the small pool.
	if unsummed != 1 || len(s.Cases) != 7*3+2+4 || s.Rounds < 4 {
		t.Errorf("%d rows, %d of them without checksums", len(s.Cases), unsummed)
	}
	if small := workloadLab(t, Options{Scale: 0.1}).OltpScenario(); strings.Contains(small.Cases[len(small.Cases)-1].Name, "small pool") {
		t.Error("the small pool holds all of the data and is told as small")
	}
}

// concluded is what a scenario says of rows with such medians, by the beginnings of their names.
func concluded(s bench.Scenario, medians map[string]float64, beside map[string]map[string]float64) string {
	r := measured(s, median(medians, beside))
	return s.Conclude(&r)
}

// median finds a row's, and what is told beside it, by the longest beginning of its name.
func median(medians map[string]float64, beside map[string]map[string]float64) func(row string) (bench.Sample, bool) {
	return func(row string) (bench.Sample, bool) {
		longest := ""
		for name := range medians {
			if strings.HasPrefix(row, name) && len(name) > len(longest) {
				longest = name
			}
		}
		return bench.Sample{Value: medians[longest], Beside: beside[longest]}, longest != ""
	}
}

// measured is what a run of one round comes to, of which each row measures a sample, or is not
// available.
func measured(s bench.Scenario, of func(row string) (bench.Sample, bool)) bench.Result {
	s.Conclude, s.Cases = nil, slices.Clone(s.Cases)
	for i, c := range s.Cases {
		sample, there := of(c.Name)
		s.Cases[i] = bench.Case{
			Name: c.Name, Settings: c.Settings, Base: c.Base, Series: c.Series, X: c.X,
			Prepare: func(context.Context) error {
				if !there {
					return bench.ErrUnavailable
				}
				return nil
			},
			Round: func(context.Context) (bench.Sample, error) { return sample, nil },
		}
	}
	r, err := (&bench.Runner{Warmup: -1, Rounds: 1}).Run(context.Background(), s)
	if err != nil {
		panic(err)
	}
	return r
}

// TestOltpThreads: rows have names of their own, and the conclusion speaks of the number of
// threads that is nearest to the published one.
func TestOltpThreads(t *testing.T) {
	for _, tc := range []struct {
		o    Options
		rows int
		told int
	}{
		{Options{}, 7*3 + 2 + 4, 8},
		// Who names them gets the curves of all servers.
		{Options{Threads: []int{4, 8, 8, 12}}, 3 * (3 + 2 + 4), 8},
		{Options{Threads: []int{2, 64, 2}}, 2 * (3 + 2 + 4), 2},
		{Options{Threads: []int{12, 4}}, 2 * (3 + 2 + 4), 4},
		{Options{Threads: []int{64}, Places: []string{PlaceRamaria, PlaceRamaria}, Volumes: []volume.Kind{volume.Shm}}, 2, 64},
	} {
		o := workloadLab(t, tc.o).newOltp()
		if s := o.scenario(); len(s.Cases) != tc.rows || o.told != tc.told {
			t.Errorf("%+v: %d rows, want %d; told are %d threads, want %d", tc.o, len(s.Cases), tc.rows, o.told, tc.told)
		}
	}
}

func TestConcludeOltp(t *testing.T) {
	s := workloadLab(t, Options{}).OltpScenario()
	got := concluded(s, map[string]float64{
		"stock, disk, ": 100, "stock, disk as if": 101, "stock, disk, small": 10, "stock, disk as if atomic (no doublewrite), small": 10,
		"stock, /dev/shm": 150, "stock, /dev/shm, small": 40, "ramaria": 960, "ramaria, shm, 8": 300, "ramaria, shm, small": 9,
	}, map[string]map[string]float64{"stock, disk, ": {tailLatency: 0.034}, "ramaria, shm, 8": {tailLatency: 0.010}})
	want := "With 8 threads: stock, /dev/shm has 1.50 times the transactions of stock, disk; ramaria, shm 3.00 times; " +
		"with the small pool stock, /dev/shm has 4.00 times the transactions of stock, disk; ramaria, shm 0.90 times; " +
		"99 % of the transactions take at most: stock, disk 34.0 ms, ramaria, shm 10.0 ms; " +
		"the disk without the doublewrite buffer has 1.01 times, with the small pool 1.00 times as many as with it, which gains nothing that stands out from the noise."
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := concluded(s, map[string]float64{"stock": 100, "ramaria": 101}, nil); !strings.Contains(got, "RAM gains nothing that stands out") {
		t.Error(got)
	}
	if got := concluded(s, nil, nil); got != "" {
		t.Error(got)
	}
}

func TestConcludeSort(t *testing.T) {
	s := workloadLab(t, Options{Scale: 0.05}).SortScenario()
	got := concluded(s, map[string]float64{"ORDER BY": 20_000, "ORDER BY, tmpdir on disk, mounted": 2000, "ORDER BY, ramaria": 20_400, "GROUP BY": 40_000, "GROUP BY, tmpdir on disk": 10_000},
		map[string]map[string]float64{"ORDER BY": {serverCPU: 1.9, coresBusy: 1, bench.Written: 0}, "GROUP BY, tmpdir on disk": {bench.Written: 1e9}})
	want := "ORDER BY: tmpdir on disk has the processors 95 % busy; tmpdir on disk, mounted sync 0.10 times the rows, 0 % busy; tmpdir in /dev/shm 1.00 times the rows, 95 % busy; " +
		"ramaria, shm 1.02 times the rows, 0 % busy: RAM gains nothing that stands out from the noise, the page cache holds the files and the processors bound it. " +
		"GROUP BY: tmpdir on disk has the processors 0 % busy; tmpdir on disk, mounted sync 1.00 times the rows, 0 % busy; tmpdir in /dev/shm 4.00 times the rows, 0 % busy; " +
		"ramaria, shm 4.00 times the rows, 0 % busy: the device holds it back."
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := concluded(s, nil, nil); got != "" {
		t.Error(got)
	}
}

func TestSlowSyncIsNotWaitedFor(t *testing.T) {
	o := &sorting{rows: sortRows}
	for p50, waits := range map[float64]bool{0: true, 0.001: true, 0.008: false} {
		p := &sortPlace{sorting: o, synced: true, fsyncs: []float64{p50}}
		if err := p.patience(sortQueries[1]); (err == nil) != waits {
			t.Errorf("fsync %v: %v", p50, err)
		}
	}
}

// TestEnginesAreWhereTheyAre: nothing that is on disk is told to be in RAM, and of several places
// each is told by itself.
func TestEnginesAreWhereTheyAre(t *testing.T) {
	s := workloadLab(t, Options{Places: []string{placeDisk, placeRAMByHand}}).EnginesScenario()
	got := concluded(s, map[string]float64{"having: ": 1, "having: MEMORY, stock, /dev/shm": 0.5, "having: MEMORY, stock, disk": 0.25}, nil)
	want := "against InnoDB on disk (stock, disk), MEMORY is faster: 4.0 times in having. against InnoDB in RAM (stock, /dev/shm), MEMORY is faster: 2.0 times in having."
	if !strings.HasPrefix(got, want) || strings.Contains(s.Title, "RAM") || strings.HasSuffix(s.Title, ", ") {
		t.Errorf("%s\nwant\n%s\ntitle %q", got, want, s.Title)
	}
	for want, at := range map[string]string{", on disk": placeDisk, ", in RAM": PlaceRamaria} {
		if s := workloadLab(t, Options{Places: []string{at}}).EnginesScenario(); !strings.HasSuffix(s.Title, want) {
			t.Errorf("%s: title %q", at, s.Title)
		}
	}
}

func TestConcludeEngines(t *testing.T) {
	s := workloadLab(t, Options{}).EnginesScenario()
	got := concluded(s, map[string]float64{"count, group by: ": 2, "count, group by: MEMORY": 1, "order by, limit: ": 1, "order by, limit: MEMORY": 1.5, "having: ": 1}, nil)
	want := "against InnoDB in RAM, MEMORY is faster: 2.0 times in count, group by; slower: 1.5 times in order by, limit; the same within noise: having. " +
		"MEMORY is empty after a restart, has no transactions and no foreign keys, and locks its tables as a whole."
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := concluded(s, nil, nil); got != "" {
		t.Error(got)
	}
}
