package report

import (
	"math"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// logFrom is how many times the smallest median the largest must be for a logarithmic
// axis: on a linear one the smallest bar would be a few pixels long.
const logFrom = 50

// maxTicks bounds the ticks of an axis.
const maxTicks = 8

// scale maps values to positions along an axis.
type scale struct {
	lo, hi float64
	log    bool
	ticks  []float64 // ascending, within lo to hi
}

// at returns the position of a value, 0 at lo and 1 at hi; what lies outside is at the end.
func (s scale) at(v float64) float64 {
	lo, hi := s.lo, s.hi
	if s.log {
		if v <= 0 {
			return 0
		}
		lo, hi, v = math.Log(lo), math.Log(hi), math.Log(v)
	}
	return min(max((v-lo)/(hi-lo), 0), 1)
}

// wantsLog says whether medians are so far apart that a linear axis hides the small ones.
func wantsLog(medians []float64) bool {
	lo, hi := bounds(medians)
	return lo > 0 && hi > logFrom*lo
}

// bounds returns the smallest and the largest finite value, or 0 and 0 if no value is finite.
func bounds(values []float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if finite(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if hi < lo {
		return 0, 0
	}
	return lo, hi
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// linearScale begins at zero, so that lengths are in proportion, and ends with a tick at
// or above hi. It has at most want steps.
func linearScale(hi float64, want int) scale {
	if hi <= 0 {
		hi = 1
	}
	step := niceAbove(hi / float64(want))
	// A sum of steps such as 0.1 is a little above the number that it stands for.
	n := int(math.Ceil(hi/step - 1e-9))
	s := scale{hi: float64(n) * step}
	for i := range n + 1 {
		s.ticks = append(s.ticks, float64(i)*step)
	}
	return s
}

// logScale begins clearly below lo, so that the shortest bar can be seen, and ends at or
// above hi. Its ticks are at 1, 2 and 5 of each decade, at decades, or at every few of
// them: the first of these that has at most want+1.
func logScale(lo, hi float64, want int) scale {
	s := scale{lo: niceBelow(lo / 1.5), hi: niceAbove(hi), log: true}
	first, last := decade(s.lo), decade(s.hi)
	var all []float64
	for e := first; e <= last; e++ {
		for _, digit := range []float64{1, 2, 5} {
			if v := digit * math.Pow10(e); v >= s.lo*(1-1e-9) && v <= s.hi*(1+1e-9) {
				all = append(all, v)
			}
		}
	}
	if len(all) <= want+1 {
		s.ticks = all
		return s
	}
	if math.Pow10(first) < s.lo*(1-1e-9) {
		first++
	}
	for stride := 1; ; stride++ {
		s.ticks = nil
		for e := first; e <= last; e += stride {
			s.ticks = append(s.ticks, math.Pow10(e))
		}
		if len(s.ticks) <= want+1 || stride > last-first {
			return s
		}
	}
}

// decade returns the exponent of the power of ten at or below v.
func decade(v float64) int { return int(math.Floor(math.Log10(v) + 1e-9)) }

// niceAbove returns the smallest of 1, 2 and 5 times a power of ten that is at least v.
func niceAbove(v float64) float64 {
	p := math.Pow10(decade(v))
	for _, digit := range []float64{1, 2, 5} {
		if digit*p >= v*(1-1e-9) {
			return digit * p
		}
	}
	return 10 * p
}

// niceBelow returns the largest of 1, 2 and 5 times a power of ten that is at most v.
func niceBelow(v float64) float64 {
	p := math.Pow10(decade(v))
	for _, digit := range []float64{5, 2} {
		if digit*p <= v*(1+1e-9) {
			return digit * p
		}
	}
	return p
}

// labels returns the texts of the ticks. On a linear axis they are bare numbers, all
// counted in the unit that is returned too; on a logarithmic one each has its own, since
// those of an axis reach from microseconds to minutes.
func (s scale) labels(u runner.Unit) (texts []string, unit string) {
	if s.log {
		for _, t := range s.ticks {
			texts = append(texts, shorten(u.Format(t)))
		}
		return texts, ""
	}
	factor, unit := prefixOf(u, s.hi)
	for _, t := range s.ticks {
		texts = append(texts, shorten(runner.Count.Format(t/factor)))
	}
	return texts, unit
}

// prefixOf returns what Unit.Format counts v in: a power of ten and its name.
func prefixOf(u runner.Unit, v float64) (factor float64, name string) {
	_, name, _ = strings.Cut(u.Format(v), " ")
	for e := -9; e <= 9; e += 3 {
		if f := math.Pow10(e); strings.TrimSpace("1.00 "+name) == u.Format(f) {
			return f, name
		}
	}
	return 1, name
}

// shorten takes the zeros behind the point off a formatted value: "10.0 ms" is "10 ms".
func shorten(text string) string {
	number, unit, found := strings.Cut(text, " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	if !found || number == "0" {
		return number
	}
	return number + " " + unit
}

// fitScale returns the scale with the most ticks whose labels, centred on their ticks, keep
// apart on an axis of the given length. width measures a label.
func fitScale(lo, hi float64, log bool, u runner.Unit, length float64, width func(string) float64) scale {
	var s scale
	for want := maxTicks; want > 0; want-- {
		if log {
			s = logScale(lo, hi, want)
		} else {
			s = linearScale(hi, want)
		}
		texts, _ := s.labels(u)
		if apart(s, texts, length, width) {
			break
		}
	}
	return s
}

func apart(s scale, texts []string, length float64, width func(string) float64) bool {
	for i := 1; i < len(texts); i++ {
		distance := (s.at(s.ticks[i]) - s.at(s.ticks[i-1])) * length
		if distance < (width(texts[i])+width(texts[i-1]))/2+tickGap {
			return false
		}
	}
	return true
}
