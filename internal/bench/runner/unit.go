package runner

import (
	"fmt"
	"math"
	"strconv"
)

// Unit is what the values of a scenario are counted in.
type Unit string

// The units. Of seconds and bytes, less is better; of a rate, more.
const (
	Seconds   Unit = "s"
	PerSecond Unit = "1/s"
	Bytes     Unit = "B"
	// BytesPerSecond is a rate.
	BytesPerSecond Unit = "B/s"
	// Count is a plain number; it is told, and never better or worse.
	Count Unit = "n"
)

// MoreIsBetter tells rates from costs.
func (u Unit) MoreIsBetter() bool { return u == PerSecond || u == BytesPerSecond }

// Ratio says how many times better v is than base: above 1 is better, whatever
// the unit. It is NaN when one of them is not above zero.
func (u Unit) Ratio(base, v float64) float64 {
	if base <= 0 || v <= 0 {
		return math.NaN()
	}
	if u.MoreIsBetter() {
		return v / base
	}
	return base / v
}

type prefix struct {
	from float64 // the smallest value that is shown with it
	name string
}

var prefixes = map[Unit][]prefix{
	Seconds:        {{1, " s"}, {1e-3, " ms"}, {1e-6, " µs"}, {1e-9, " ns"}},
	PerSecond:      {{1e6, " M/s"}, {1e3, " k/s"}, {1, " /s"}},
	Bytes:          {{1e9, " GB"}, {1e6, " MB"}, {1e3, " kB"}, {1, " B"}},
	BytesPerSecond: {{1e9, " GB/s"}, {1e6, " MB/s"}, {1e3, " kB/s"}, {1, " B/s"}},
	Count:          {{1e6, " M"}, {1e3, " k"}, {1, ""}},
}

// Format shows a value with three significant digits and the largest unit in
// which it is at least 1: "13.5 ms", "59.0 k/s", "52.1 MB" (of 10^6 bytes).
func (u Unit) Format(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	list := prefixes[u]
	if len(list) == 0 {
		return digits(v) + " " + string(u)
	}
	for _, p := range list {
		// 999.7 µs rounds to 1000: it is shown as 1.00 ms.
		if math.Abs(v)/p.from >= 0.9995 {
			return digits(v/p.from) + p.name
		}
	}
	smallest := list[len(list)-1]
	if u.MoreIsBetter() || v == 0 {
		return digits(v) + smallest.name
	}
	return digits(v/smallest.from) + smallest.name
}

// digits writes three significant digits, and all of those before the point.
func digits(v float64) string {
	a := math.Abs(v)
	switch {
	case v == 0:
		return "0"
	case a < 0.0995:
		return fmt.Sprintf("%.2g", v)
	case a < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}
