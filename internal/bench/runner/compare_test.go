package runner

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// one makes a result with one row.
func one(unit Unit, rounds int, samples []float64) []Result {
	r := newResult(Scenario{Name: "s", Unit: unit, Cases: []Case{{Name: "row"}}})
	r.Rows[0].Rounds, r.Rows[0].Samples = rounds, samples
	r.summarise()
	return []Result{r}
}

func compareOne(t *testing.T, unit Unit, a, b []float64) Difference {
	t.Helper()
	list := Compare(one(unit, len(a), a), one(unit, len(b), b))
	if len(list) != 1 {
		t.Fatalf("%d differences, want 1", len(list))
	}
	return list[0]
}

func scaled(values []float64, by float64) []float64 {
	out := slices.Clone(values)
	for i := range out {
		out[i] *= by
	}
	return out
}

func TestCompareVerdicts(t *testing.T) {
	base := []float64{1.00, 1.02, 0.99, 1.03, 0.98, 1.01, 0.97, 1.04, 1.005, 0.995}
	exact := []float64{1, 1.0001, 1.0002, 1.0003, 1.0004, 1.0005}
	for _, tc := range []struct {
		name  string
		unit  Unit
		a, b  []float64
		want  Verdict
		ratio float64
	}{
		{"less seconds are better", Seconds, base, scaled(base, 0.5), Better, 2},
		{"more seconds are worse", Seconds, base, scaled(base, 2), Worse, 0.5},
		{"more a second is better", PerSecond, base, scaled(base, 2), Better, 2},
		{"less a second is worse", PerSecond, base, scaled(base, 0.5), Worse, 0.5},
		{"less bytes are better", Bytes, base, scaled(base, 0.5), Better, 2},
		{"a count is neither", Count, base, scaled(base, 2), Changed, 2},
		{"identical", Seconds, base, base, Noise, 1},
		{"all equal", Seconds, []float64{1, 1, 1, 1}, []float64{1, 1, 1, 1}, Noise, 1},
		{"all equal, and twice that", Seconds, []float64{1, 1, 1, 1, 1}, []float64{2, 2, 2, 2, 2}, Worse, 0.5},
		{"sure, and 1 %", Seconds, exact, scaled(exact, 1.01), Noise, 1 / 1.01},
		{"sure, and 3 %", Seconds, exact, scaled(exact, 1.03), Worse, 1 / 1.03},
		{"three rounds", Seconds, base[:3], scaled(base[:3], 10), TooFew, 0.1},
		{"one round against many", Seconds, base[:1], scaled(base, 10), TooFew, math.NaN()},
		{"four rounds", Seconds, base[:4], scaled(base[:4], 10), Worse, 0.1},
		{"none on both sides", Seconds, nil, nil, Unmeasured, math.NaN()},
		{"none in A", Seconds, nil, base, OnlyB, math.NaN()},
		{"none in B", Seconds, base, nil, OnlyA, math.NaN()},
		{"nothing but NaN", Seconds, []float64{math.NaN(), math.Inf(1)}, base, OnlyB, math.NaN()},
		{"zeros", Bytes, make([]float64, 5), make([]float64, 5), Noise, math.NaN()},
		{"from zero", Bytes, make([]float64, 5), base, Worse, math.NaN()},
		{"to zero", Bytes, base, make([]float64, 5), Better, math.NaN()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := compareOne(t, tc.unit, tc.a, tc.b)
			if d.Verdict != tc.want {
				t.Errorf("verdict %q, want %q: %+v", d.Verdict, tc.want, d)
			}
			if !math.IsNaN(tc.ratio) && !near(d.Ratio, tc.ratio) {
				t.Errorf("ratio %v, want %v", d.Ratio, tc.ratio)
			}
			if d.Low > d.Ratio || d.High < d.Ratio {
				t.Errorf("ratio %v is not within %v to %v", d.Ratio, d.Low, d.High)
			}
		})
	}
}

// falseAlarms is the share of comparisons that tell a change of two rows that come from
// one distribution.
func falseAlarms(cases, rounds int, draw func(*rand.Rand) []float64) float64 {
	r := rand.New(rand.NewPCG(7, 8))
	alarms := 0
	for range cases {
		a, b := draw(r), draw(r)
		if v := Compare(one(Seconds, rounds, a), one(Seconds, rounds, b))[0].Verdict; v != Noise {
			alarms++
		}
	}
	return float64(alarms) / float64(cases)
}

func TestFalseAlarms(t *testing.T) {
	const most = 0.07
	// A round of many samples: they share its moment.
	clustered := func(r *rand.Rand) []float64 {
		var all []float64
		for _, m := range noisy(r, 10, 1, 0.1) {
			all = append(all, noisy(r, 30, m, 0.02)...)
		}
		return all
	}
	for name, tc := range map[string]struct {
		cases, rounds int
		draw          func(*rand.Rand) []float64
	}{
		"10 rounds, 5 %":       {1000, 10, func(r *rand.Rand) []float64 { return noisy(r, 10, 1, 0.05) }},
		"5 rounds, 5 %":        {1000, 5, func(r *rand.Rand) []float64 { return noisy(r, 5, 1, 0.05) }},
		"30 rounds, 20 %":      {1000, 30, func(r *rand.Rand) []float64 { return noisy(r, 30, 1, 0.2) }},
		"10 rounds, long tail": {1000, 10, func(r *rand.Rand) []float64 { return noisy(r, 10, 1, math.Exp(2*r.Float64())) }},
		"10 rounds, coarse clock": {200, 10, func(r *rand.Rand) []float64 {
			v := noisy(r, 10, 10, 0.1)
			for i := range v {
				v[i] = math.Round(v[i])
			}
			return v
		}},
		"10 x 30 samples": {1000, 10, clustered},
	} {
		rate := falseAlarms(tc.cases, tc.rounds, tc.draw)
		t.Logf("%s: %.1f %%", name, 100*rate)
		if rate > most {
			t.Errorf("%s: %.1f %% of comparisons without a change tell one, want %.0f %% at most", name, 100*rate, 100*most)
		}
	}
	// That the rounds matter: taken as independent, the same samples are far beyond it.
	if rate := falseAlarms(100, 300, clustered); rate < 2*most {
		t.Errorf("samples that share their rounds give %.1f %% when taken as independent: the test shows nothing", 100*rate)
	}
}

func TestCompareFindsChanges(t *testing.T) {
	const (
		cases = 200
		least = 195
	)
	r := rand.New(rand.NewPCG(9, 10))
	found, held := 0, 0
	for range cases {
		d := compareOne(t, Seconds, noisy(r, 10, 1, 0.05), noisy(r, 10, 1.2, 0.05))
		if d.Verdict == Worse {
			found++
		}
		if d.Low <= 1/1.2 && d.High >= 1/1.2 {
			held++
		}
	}
	t.Logf("found in %d of %d, true ratio within the interval in %d", found, cases, held)
	if found < least {
		t.Errorf("a change of 20 %% was found in %d of %d, want %d", found, cases, least)
	}
	if held < cases*93/100 {
		t.Errorf("the true ratio is within the interval in %d of %d", held, cases)
	}
}

// comparedResults are two files with something of everything.
func comparedResults() (a, b []Result) {
	before, after := exampleResult(), exampleResult()
	steady := []float64{1.00, 1.02, 0.99, 1.03, 0.98, 1.01, 0.97, 1.04, 1.005, 0.995}
	for i, by := range []float64{1.1, 0.5, 1.3} {
		before.Rows[i].Samples, before.Rows[i].Rounds = steady, 10
		after.Rows[i].Samples, after.Rows[i].Rounds = scaled(steady, by), 10
	}
	after.Rows[3].Samples, after.Rows[3].Rounds, after.Rows[3].Note = steady, 10, ""
	after.Rows = append(after.Rows, Row{Name: "new", Rounds: 10, Samples: steady})
	after.Settings = map[string]string{"server": "mysql-8.4.3", "rows": "1000 | more"}
	after.Rows[1].Settings = "huge pages"
	after.Machine.Kernel = "6.19.0"
	after.Machine.Directories = []Directory{{Name: "disk", Filesystem: "xfs on /dev/vdb", FsyncP50: 0.0012, FsyncP99: 0.02}}
	after.Interrupted, after.Ramaria, after.Time = true, "1.3.0", after.Time.AddDate(0, 0, 1)
	before.summarise()
	after.summarise()
	other := basedResult()
	rates := basedResult()
	rates.Unit = PerSecond
	rates.summarise()
	gone := basedResult()
	gone.Scenario, gone.Rows = "gone", gone.Rows[:1]
	work, less := gone, gone
	work.Scenario, less.Scenario, less.Title = "work", "work", "half a database as its template again"
	return []Result{before, other, gone, work}, []Result{rates, after, less}
}

func TestComparisonReports(t *testing.T) {
	list := Compare(comparedResults())
	few := Compare([]Result{basedResult()}, []Result{basedResult(), basedResult()})
	for name, write := range map[string]func(*bytes.Buffer) error{
		"compare.txt":       func(b *bytes.Buffer) error { return WriteComparison(b, list, TableOptions{}) },
		"compare-color.txt": func(b *bytes.Buffer) error { return WriteComparison(b, list, TableOptions{Color: true}) },
		"compare-few.txt":   func(b *bytes.Buffer) error { return WriteComparison(b, few, TableOptions{}) },
		"compare.md":        func(b *bytes.Buffer) error { return WriteComparisonMarkdown(b, list) },
		"compare.jsonl":     func(b *bytes.Buffer) error { return WriteComparisonJSON(b, list) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.Bytes())
		})
	}
	for name, err := range map[string]error{
		"table": WriteComparison(brokenPipe{}, list, TableOptions{}), "md": WriteComparisonMarkdown(brokenPipe{}, list), "json": WriteComparisonJSON(brokenPipe{}, list),
	} {
		if err == nil {
			t.Errorf("%s: no error where nothing can be written", name)
		}
	}
}

// TestOtherWork: what does less is not faster, and a job that looks for changes for the worse must
// not pass by it.
func TestOtherWork(t *testing.T) {
	a, b := one(Seconds, 5, []float64{20, 21, 22, 23, 24}), one(Seconds, 5, []float64{1, 1.1, 1.2, 1.3, 1.4})
	if d := Compare(a, b)[0]; d.Verdict != Better || len(d.Differs) > 0 {
		t.Errorf("the same work: %+v", d)
	}
	a[0].Title, b[0].Title = "make 1000 files", "make 50 files"
	list := Compare(a, b)
	if d := list[0]; d.Verdict != OtherWork || !math.IsNaN(d.Ratio) || !slices.Contains(d.Differs, Fact{"title", "make 1000 files", "make 50 files"}) {
		t.Errorf("other work: %+v", d)
	}
	if tally := TallyOf(list); tally.Judged != 0 {
		t.Errorf("it counts as one that was compared: %+v", tally)
	}
}

// TestComparePutsRunsTogether: the rounds of all runs in one file count together.
func TestComparePutsRunsTogether(t *testing.T) {
	short := func(by float64) []Result { return one(Seconds, 2, []float64{by, 1.1 * by}) }
	if d := Compare(short(1), short(3))[0]; d.Verdict != TooFew {
		t.Errorf("two rounds: %q", d.Verdict)
	}
	a, b := slices.Concat(short(1), short(1.01)), slices.Concat(short(3), short(3.01))
	d := Compare(a, b)[0]
	if d.Verdict != Worse || d.A.Runs != 2 || d.A.Rounds != 4 || d.B.Rounds != 4 {
		t.Errorf("two runs of two rounds: %+v", d)
	}
	a[1].Title = "twice of it"
	if d := Compare(a, b)[0]; d.Verdict != OtherWork {
		t.Errorf("runs of different work: %q", d.Verdict)
	}
	a[1].Unit = Bytes
	if d := Compare(a, b)[0]; d.Verdict != OtherUnit {
		t.Errorf("runs in different units: %q", d.Verdict)
	}
}

func TestCompareOrder(t *testing.T) {
	list := Compare(comparedResults())
	var names []string
	for _, d := range list {
		names = append(names, d.Scenario+"/"+d.Row)
	}
	want := "cycle/stock on disk,cycle/shm,cycle/café µ,cycle/zram,cycle/new,reset/by hand,reset/reset,reset/reset, 2 GB,reset/change,reset/undo,gone/by hand,work/by hand"
	if diff := cmp.Diff(want, strings.Join(names, ",")); diff != "" {
		t.Error(diff)
	}
}

func TestTally(t *testing.T) {
	list := []Difference{{Verdict: Better}, {Verdict: Better}, {Verdict: Worse}, {Verdict: Noise}, {Verdict: OnlyA}}
	tally := TallyOf(list)
	if got, want := tally.Summary(), "3 of 4 rows changed beyond noise: 2 better, 1 worse; 1 row could not be compared"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := tally.FalseAlarms(); !near(got, 0.2) {
		t.Errorf("%v false alarms, want 0.2", got)
	}
	for want, list := range map[string][]Difference{
		"no row could be compared":                                      nil,
		"0 of 1 row changed beyond noise":                               {{Verdict: Noise}},
		"1 of 1 row changed beyond noise: 0 better, 0 worse, 1 neither": {{Verdict: Changed}},
	} {
		if got := TallyOf(list).Summary(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
