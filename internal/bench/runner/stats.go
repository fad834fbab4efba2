package runner

import (
	"math"
	"slices"
)

// Stats sums up the samples of one row.
type Stats struct {
	Count  int // of the samples
	Median float64
	// P99 is the value that 99 % of the samples were at least as good as: the 99th
	// percentile of a cost, the 1st of a rate. Below 100 samples it is the worst one.
	P99      float64
	Min, Max float64
	// IQR, the spread, is the distance between the quartiles: half of them lie
	// that close together. Unlike a standard deviation it does not mind one outlier.
	IQR float64
}

// Summarise computes the statistics of samples; all are NaN if there are none.
func Summarise(unit Unit, samples []float64) Stats {
	nan := math.NaN()
	if len(samples) == 0 {
		return Stats{Median: nan, P99: nan, Min: nan, Max: nan, IQR: nan}
	}
	sorted := slices.Sorted(slices.Values(samples))
	s := Stats{
		Count:  len(sorted),
		Median: Quantile(sorted, 0.5),
		P99:    NearestRank(sorted, 99),
		Min:    sorted[0],
		Max:    sorted[len(sorted)-1],
		IQR:    Quantile(sorted, 0.75) - Quantile(sorted, 0.25),
	}
	if unit.MoreIsBetter() {
		slices.Reverse(sorted)
		s.P99 = NearestRank(sorted, 99)
	}
	return s
}

// Quantile returns the q-quantile, 0 <= q <= 1, of values in ascending order,
// interpolated between neighbours: type 7 of Hyndman and Fan, "Sample quantiles in
// statistical packages" (1996), which is what R, NumPy and spreadsheets compute.
func Quantile(sorted []float64, q float64) float64 {
	pos := q * float64(len(sorted)-1)
	low := math.Floor(pos)
	high := math.Ceil(pos)
	a, b := sorted[int(low)], sorted[int(high)]
	return a + (b-a)*(pos-low)
}

// NearestRank returns the first value, in the order given, that at least percent
// % of the values come no later than. It never interpolates: a tail that is
// better than every tail measured would be an invention.
func NearestRank(sorted []float64, percent int) float64 {
	rank := (len(sorted)*percent + 99) / 100 // rounded up
	return sorted[max(rank, 1)-1]
}
