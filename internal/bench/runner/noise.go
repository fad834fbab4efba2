package runner

import (
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/aclements/go-moremath/stats"
)

// How Compare tells a change from noise.
const (
	// Alpha is how often rows that did not change are told as changed by chance, at most.
	Alpha = 0.05
	// TinyChange is the change of the medians below which nothing is told as changed,
	// however sure it is: 2 %. Code that is merely placed elsewhere moves as much.
	TinyChange = 0.02
	// MaxGroups is how many values a side has in the test; of more rounds, neighbours
	// are put together. The distribution of the test is exact up to that many.
	MaxGroups = 50
)

// independent makes one value of every round: the median of its samples. Those of one
// round share its server, its cache and its moment; taken for as many measurements,
// they would make every difference look sure. The file says only how many rounds
// there were: samples are split evenly, in the order in which they were measured.
func independent(samples []float64, rounds int) []float64 {
	if rounds <= 0 {
		rounds = len(samples)
	}
	n := min(rounds, len(samples), MaxGroups)
	values := make([]float64, n)
	for i := range values {
		group := slices.Sorted(slices.Values(samples[i*len(samples)/n : (i+1)*len(samples)/n]))
		values[i] = Quantile(group, 0.5)
	}
	return values
}

// finite leaves out what is no number.
func finite(samples []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(samples), func(v float64) bool { return number(v) == nil })
}

// pValue is how likely values that differ so much, or more, are if both come from the
// same distribution: the two-sided Mann-Whitney U test, which expects no shape of it.
// Values that are all equal have 1.
func pValue(a, b []float64) float64 {
	r, err := stats.MannWhitneyUTest(a, b, stats.LocationDiffers)
	if err != nil {
		return 1 // all values are the same: neither side is empty
	}
	return min(r.P, 1)
}

// ranks remembers outerRank, which takes milliseconds for fifty values, by [2]int.
var ranks sync.Map

// outerRank says how many of the ordered pairwise ratios of n by m values lie outside
// the interval on either side, plus one. 0 means that there are too few values for any
// interval, and for the test to tell anything.
func outerRank(n, m int) int {
	key := [2]int{n, m}
	if rank, known := ranks.Load(key); known {
		return rank.(int)
	}
	dist := stats.UDist{N1: n, N2: m}
	rank := sort.Search(n*m, func(k int) bool { return dist.CDF(float64(k)) > Alpha/2 })
	ranks.Store(key, rank)
	return rank
}

// ratioInterval returns the bounds between which the ratio lies with a confidence of
// at least 1-Alpha: the ratios by which one side could be multiplied without the test
// telling a difference. This is the interval of Hodges and Lehmann, "Estimates of
// location based on rank tests" (1963), on a scale of ratios, and what R's
// wilcox.test(conf.int = TRUE) gives for logarithms. NaN if some value is not above 0.
func ratioInterval(unit Unit, a, b []float64, rank int) (low, high float64) {
	ratios := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			r := unit.change(x, y)
			if math.IsNaN(r) {
				return r, r
			}
			ratios = append(ratios, r)
		}
	}
	slices.Sort(ratios)
	return ratios[rank-1], ratios[len(ratios)-rank]
}

// change is Ratio; of what has no better side, the plain b / a.
func (u Unit) change(a, b float64) float64 {
	if !u.hasBetter() && a > 0 && b > 0 {
		return b / a
	}
	return u.Ratio(a, b)
}

// hasBetter tells units in which more, or less, is better.
func (u Unit) hasBetter() bool {
	return u == Seconds || u == PerSecond || u == Bytes || u == BytesPerSecond
}
