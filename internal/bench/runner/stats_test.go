package runner

import (
	"math"
	"testing"
)

func seq(n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = float64(n - i) // descending: Summarise must sort
	}
	return list
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 || math.IsNaN(a) && math.IsNaN(b) }

// Expected values were computed with NumPy (numpy.quantile, its default method) and,
// for the tail, by counting.
func TestSummarise(t *testing.T) {
	nan := math.NaN()
	for _, tc := range []struct {
		name    string
		unit    Unit
		samples []float64
		want    Stats
	}{
		{"none", Seconds, nil, Stats{0, nan, nan, nan, nan, nan}},
		{"one", Seconds, []float64{7}, Stats{1, 7, 7, 7, 7, 0}},
		{"two", Seconds, []float64{3, 1}, Stats{2, 2, 3, 1, 3, 1}},
		{"odd", Seconds, []float64{15, 20, 35, 40, 50}, Stats{5, 35, 50, 15, 50, 20}},
		{"even", Seconds, seq(10), Stats{10, 5.5, 10, 1, 10, 4.5}},
		{"hundred", Seconds, seq(100), Stats{100, 50.5, 99, 1, 100, 49.5}},
		{"two hundred", Seconds, seq(200), Stats{200, 100.5, 198, 1, 200, 99.5}},
		{"hundred and one", Seconds, seq(101), Stats{101, 51, 100, 1, 101, 50}},
		{"a rate's tail is its low end", PerSecond, seq(200), Stats{200, 100.5, 3, 1, 200, 99.5}},
		{"a rate, few rounds", PerSecond, []float64{5, 9, 7}, Stats{3, 7, 5, 5, 9, 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Summarise(tc.unit, tc.samples)
			same := got.Count == tc.want.Count && near(got.Median, tc.want.Median) && near(got.P99, tc.want.P99) &&
				near(got.Min, tc.want.Min) && near(got.Max, tc.want.Max) && near(got.IQR, tc.want.IQR)
			if !same {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// The textbook example of the nearest-rank method.
func TestNearestRank(t *testing.T) {
	sorted := []float64{15, 20, 35, 40, 50}
	for percent, want := range map[int]float64{0: 15, 5: 15, 20: 15, 30: 20, 40: 20, 50: 35, 99: 50, 100: 50} {
		if got := NearestRank(sorted, percent); got != want {
			t.Errorf("%d %%: %v, want %v", percent, got, want)
		}
	}
}

func TestSummariseLeavesSamplesInOrder(t *testing.T) {
	samples := []float64{3, 1, 2}
	Summarise(PerSecond, samples)
	if samples[0] != 3 || samples[1] != 1 || samples[2] != 2 {
		t.Errorf("samples were moved: %v", samples)
	}
}

func TestFormat(t *testing.T) {
	for _, tc := range []struct {
		unit Unit
		v    float64
		want string
	}{
		{Seconds, 0, "0 ns"}, {Seconds, 4.2e-10, "0.42 ns"}, {Seconds, 823e-6, "823 µs"}, {Seconds, 999.7e-6, "1.00 ms"},
		{Seconds, 0.0135, "13.5 ms"}, {Seconds, 0.412, "412 ms"}, {Seconds, 1.024, "1.02 s"}, {Seconds, 202, "202 s"},
		{Seconds, 9.996, "10.0 s"}, {PerSecond, 2.34, "2.34 /s"}, {PerSecond, 0.98, "0.98 /s"}, {PerSecond, 0.031, "0.031 /s"},
		{PerSecond, 59012, "59.0 k/s"}, {Bytes, 52.1e6, "52.1 MB"}, {Bytes, 500, "500 B"}, {Bytes, math.NaN(), "-"},
		{Unit("row"), 5302, "5302 row"},
	} {
		if got := tc.unit.Format(tc.v); got != tc.want {
			t.Errorf("%v in %s: %q, want %q", tc.v, tc.unit, got, tc.want)
		}
	}
}

func TestRatio(t *testing.T) {
	for _, tc := range []struct {
		unit       Unit
		base, v, w float64
	}{
		{Seconds, 1, 0.1, 10}, {Seconds, 1, 2, 0.5}, {PerSecond, 2, 20, 10}, {Bytes, 80, 40, 2},
		{Seconds, 0, 1, math.NaN()}, {Seconds, 1, 0, math.NaN()}, {Seconds, math.NaN(), 1, math.NaN()},
	} {
		if got := tc.unit.Ratio(tc.base, tc.v); !near(got, tc.w) {
			t.Errorf("%v to %v in %s: %v, want %v", tc.v, tc.base, tc.unit, got, tc.w)
		}
	}
}
