package numbers

import (
	"math"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/labtest"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// TestNumbersStay: figures of two versions are only comparable while they work on the same
// rows.
func TestNumbersStay(t *testing.T) {
	w := numbersOf(1000)
	want := numbers{rows: 1000, max: 1000, n: 498975345, sum: 2148792879064, named: 1000}
	if w.numbers != want {
		t.Errorf("%+v, want %+v", w.numbers, want)
	}
	const first = "INSERT INTO ramaria_bench.numbers (n, name) VALUES "
	if len(w.statements) != 1 || !strings.HasPrefix(w.statements[0], first) || strings.Count(w.statements[0], "(") != numbersBulk+1 {
		t.Errorf("%d statements: %.100s", len(w.statements), w.statements)
	}
	if n := len(numbersOf(wholeBulks(2001)).statements); n != 3 {
		t.Errorf("%d statements for 2001 rows", n)
	}
	for id := 1; id <= 100; id++ {
		if n := len(nameAt(id)); n < 16 || n > 47 {
			t.Errorf("name %d has %d characters", id, n)
		}
	}
	// Contents come again, and statements with them, whose rows get other ids.
	if nameAt(1) != nameAt(1+numbersDistinct) || nameAt(1) == nameAt(2) || numbersSum(1, 5) == numbersSum(1+numbersDistinct, 5) {
		t.Error("contents do not come again as they should")
	}
}

// TestUpdatesAreExpected: what is added up while updates are made is what the table comes to
// in the end.
func TestUpdatesAreExpected(t *testing.T) {
	const rows = 300
	u := updates{count: 2000, want: numbersOf(rows).numbers}
	for id := 1; id <= rows; id++ {
		u.n = append(u.n, numberAt(id))
	}
	first, second := u.sequence(0), u.sequence(1)
	if first[0] == second[0] && first[1] == second[1] {
		t.Error("two rounds update the same")
	}
	hit := map[int]bool{}
	for _, one := range append(first, second...) {
		if one.id < 1 || one.id > rows || one.delta < 1 || one.delta > updateMost {
			t.Fatalf("update %+v", one)
		}
		hit[one.id] = true
	}
	if len(hit) != rows {
		t.Errorf("%d rows were updated of %d", len(hit), rows)
	}
	u.expect(first)
	u.expect(second)
	want := numbers{rows: rows, max: rows, named: rows}
	for i, n := range u.n {
		want.n += n
		want.sum += numbersSum(i+1, n)
	}
	if u.want != want {
		t.Errorf("%+v, want %+v", u.want, want)
	}
}

// placeResult is a result with rows of places, by their medians.
func placeResult(t *testing.T, unit runner.Unit, names []string, medians []float64) (runner.Result, []lab.Place) {
	t.Helper()
	s := runner.Scenario{Unit: unit}
	var places []lab.Place
	figures := map[string]float64{}
	for i, name := range names {
		at, err := lab.PlaceNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		if name == lab.PlaceRamaria {
			at.Kind, at.Row = volume.XFS, "ramaria, xfs"
		}
		places, figures[at.Row] = append(places, at), medians[i]
		s.Cases = append(s.Cases, runner.Case{Name: at.Row})
	}
	return labtest.Measured(s, func(row string) (runner.Sample, bool) {
		// A server computes 20 µs for each of 10,000.
		return runner.Sample{Value: figures[row], Beside: map[string]float64{lab.ServerCPU: 0.2, lab.FsyncMedian: 0.0001}}, !math.IsNaN(figures[row])
	}), places
}

func TestNumbersConclusion(t *testing.T) {
	names := []string{lab.PlaceDisk, lab.PlaceRelaxed, lab.PlaceRAMByHand, lab.PlaceRamariaDisk, lab.PlaceRamaria}
	nan := math.NaN()
	for _, tc := range []struct {
		name    string
		medians []float64
		want    string
	}{
		{
			"gain", []float64{5000, 10_000, 40_000, 9_000, 20_000},
			"stock, /dev/shm has 8.00 times the updates of stock, disk; ramaria, xfs has 4.00 times, with its binary log; the disk alone gives 2.00 times with relaxed settings; " +
				"an fsync of 4 KiB took 100 µs on the disk before the first round, one for each commit is 50 % of that row's time; the server uses 0.10 of a processor on disk, and 0.80 in RAM.",
		},
		{
			// An fsync for each commit takes longer than the row did: it was not measured then.
			"no gain", []float64{12_000, nan, 9_000, nan, 12_100},
			"RAM gains nothing that stands out from the noise: ramaria, xfs has 1.01 times the updates of stock, disk; an fsync of 4 KiB took 100 µs on the disk before the first round; the server uses 0.24 of a processor on disk, and 0.24 in RAM.",
		},
		{"no disk", []float64{nan, 1, 2, 3, 4}, ""},
		{"no RAM", []float64{1, 2, nan, 3, nan}, ""},
	} {
		r, places := placeResult(t, runner.PerSecond, names, tc.medians)
		if got := numbersConclusion(&r, places, effort{10_000, 10_000, "updates"}); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", tc.name, got, tc.want)
		}
	}
}

// TestNoiseIsNoGain: what is better by the medians, and not in every round, is no gain.
func TestNoiseIsNoGain(t *testing.T) {
	const noise = "nothing that stands out from the noise"
	r, places := placeResult(t, runner.PerSecond, []string{lab.PlaceDisk, lab.PlaceRAMByHand}, []float64{100, 130})
	conclusion := func() string { return numbersConclusion(&r, places, effort{1, 1, "rows"}) }
	if got := conclusion(); strings.Contains(got, noise) {
		t.Error(got)
	}
	labtest.Spread(&r, 1.2)
	if got := conclusion(); !strings.Contains(got, noise) {
		t.Error(got)
	}
}
