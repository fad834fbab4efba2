package runner

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Permeability of chorioamnion, Hollander and Wolfe, "Nonparametric Statistical
// Methods" (1973), page 69: the example of R's wilcox.test.
var (
	chorioamnionTerm  = []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46}
	chorioamnionWeeks = []float64{1.15, 0.88, 0.90, 0.74, 1.21}
)

// The values are those of the manuals: R's wilcox.test tells 0.1272 one-sided, SciPy's
// mannwhitneyu 0.1111 for its example of ages at a diagnosis.
func TestPValueOfPublishedExamples(t *testing.T) {
	for _, tc := range []struct {
		name string
		a, b []float64
		want float64
	}{
		{"Hollander and Wolfe", chorioamnionTerm, chorioamnionWeeks, 2 * 0.1272},
		{"SciPy", []float64{19, 22, 16, 29, 24}, []float64{20, 11, 17, 12}, 0.1111},
		{"all different, 4 each", []float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, 2.0 / 70},
		{"all equal", []float64{1, 1, 1, 1}, []float64{1, 1, 1, 1}, 1},
		{"the same", []float64{1, 2, 3, 4}, []float64{4, 3, 2, 1}, 1},
	} {
		if got := pValue(tc.a, tc.b); math.Abs(got-tc.want) > 2e-4 {
			t.Errorf("%s: p %.4f, want %.4f", tc.name, got, tc.want)
		}
	}
}

// R: wilcox.test(x, y, conf.int = TRUE) gives -0.15 to 0.76 for that example, of which
// the ratios are taken here by putting powers of e in the place of the values.
func TestRatioIntervalOfPublishedExample(t *testing.T) {
	exp := func(values []float64) []float64 {
		out := make([]float64, len(values))
		for i, v := range values {
			out[i] = math.Exp(v)
		}
		return out
	}
	a, b := exp(chorioamnionTerm), exp(chorioamnionWeeks)
	low, high := ratioInterval(Seconds, a, b, outerRank(len(a), len(b)))
	if math.Abs(math.Log(low)+0.15) > 1e-9 || math.Abs(math.Log(high)-0.76) > 1e-9 {
		t.Errorf("interval %.4f to %.4f, want -0.15 to 0.76", math.Log(low), math.Log(high))
	}
	if low, high := ratioInterval(Seconds, a, []float64{0, 1, 2, 3, 4}, 1); !math.IsNaN(low) || !math.IsNaN(high) {
		t.Errorf("interval %v to %v of values that are not all above 0", low, high)
	}
}

// Tables of the test have these as the largest U that is significant at 5 %, two-sided;
// one more is the rank.
func TestOuterRank(t *testing.T) {
	for _, tc := range []struct{ n, m, want int }{
		{1, 1, 0}, {3, 3, 0}, {1, 38, 0}, {1, 39, 1}, {4, 4, 1}, {5, 5, 3}, {5, 10, 9}, {8, 8, 14}, {10, 10, 24}, {20, 20, 128},
	} {
		if got := outerRank(tc.n, tc.m); got != tc.want {
			t.Errorf("%d and %d values: %d, want %d", tc.n, tc.m, got, tc.want)
		}
	}
}

// The test and the interval must not contradict each other.
func TestIntervalAgreesWithTest(t *testing.T) {
	const cases = 500
	r := rand.New(rand.NewPCG(5, 6))
	significant := 0
	for range cases {
		a, b := noisy(r, 4+r.IntN(8), 1, 0.05), noisy(r, 4+r.IntN(8), 1.05, 0.05)
		p := pValue(a, b)
		low, high := ratioInterval(Seconds, a, b, outerRank(len(a), len(b)))
		if outside := low > 1 || high < 1; outside != (p < Alpha) {
			t.Fatalf("p %.4f, but the interval is %.3f to %.3f", p, low, high)
		}
		if p < Alpha {
			significant++
		}
	}
	if significant == 0 || significant == cases {
		t.Errorf("%d of %d are significant: the comparison is no test", significant, cases)
	}
}

func TestIndependent(t *testing.T) {
	long := make([]float64, 120)
	for i := range long {
		long[i] = float64(i)
	}
	for _, tc := range []struct {
		name    string
		samples []float64
		rounds  int
		want    []float64
	}{
		{"one a round", []float64{3, 1, 2}, 3, []float64{3, 1, 2}},
		{"many a round", []float64{1, 9, 2, 30, 10, 20}, 2, []float64{2, 20}},
		{"uneven", []float64{1, 2, 3, 4, 5}, 2, []float64{1.5, 4}},
		{"rounds are not told", []float64{1, 2}, 0, []float64{1, 2}},
		{"fewer samples than rounds", []float64{1, 2}, 5, []float64{1, 2}},
		{"none", nil, 5, []float64{}},
	} {
		if diff := cmp.Diff(tc.want, independent(tc.samples, tc.rounds)); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
	if got := independent(long, len(long)); len(got) != MaxGroups || got[0] != 0.5 || got[MaxGroups-1] != 118 {
		t.Errorf("%d groups: %v", len(got), got)
	}
}

// noisy returns n values around a median, with a spread that is relative to it.
func noisy(r *rand.Rand, n int, median, spread float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = median * math.Exp(spread*r.NormFloat64())
	}
	return values
}
