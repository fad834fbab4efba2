package room

import (
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	// beat is the least time between two samples, and dense how long all of them are kept; of older
	// ones one a minute stays, for an hour.
	beat, sparse  = 10 * time.Second, time.Minute
	dense, oldest = 3 * time.Minute, time.Hour
	// recent is the time within which what grows slowly must have grown, too.
	recent = 10 * time.Minute
	// last is the time within which what grows fast, by leastFast bytes in it, must have grown, too.
	// Of what grows slowly, by steps, it says nothing.
	last              = time.Minute
	leastFast float64 = 64 << 20
	// leastSpan and leastSamples are what there must be to speak of growth at all.
	leastSpan, leastSamples = 45 * time.Second, 6
	// leastGrowth is what counts as none, in bytes, in three minutes or an hour: a redo log that
	// fills its holes, a tablespace that is extended.
	leastGrowth = 4 << 20
	// farthest is beyond what nothing is foretold.
	farthest = 60 * 24 * time.Hour
)

// Sample is how much was used at a time.
type Sample struct {
	At    time.Time `json:"at"`
	Bytes int64     `json:"bytes"`
}

// Growth follows how much is used. The zero Growth is ready.
type Growth struct{ samples []Sample }

// Add notes how much is used now. What comes sooner than a beat after the last sample is passed over.
func (g *Growth) Add(now time.Time, bytes int64) {
	if n := len(g.samples); n > 0 {
		if g.samples[n-1].At.After(now) { // the clock was put back
			g.samples = nil
		} else if now.Sub(g.samples[n-1].At) < beat {
			return
		}
	}
	g.samples = thin(append(g.samples, Sample{now, bytes}), now)
}

// Samples returns what Merge needs to go on.
func (g *Growth) Samples() []Sample { return slices.Clone(g.samples) }

// Merge takes in what an earlier life has found, or others that follow the same. Samples of the future
// are passed over with all that came with them: the clock was put back.
func (g *Growth) Merge(samples []Sample, now time.Time) {
	all := slices.Concat(g.samples, samples)
	if slices.ContainsFunc(all, func(s Sample) bool { return s.At.After(now) }) {
		return
	}
	slices.SortStableFunc(all, func(a, b Sample) int { return a.At.Compare(b.At) })
	kept := all[:0]
	for _, s := range all {
		if n := len(kept); n == 0 || s.At.Sub(kept[n-1].At) >= beat {
			kept = append(kept, s)
		}
	}
	g.samples = thin(kept, now)
}

// thin drops what no window needs.
func thin(samples []Sample, now time.Time) []Sample {
	kept := samples[:0]
	for _, s := range samples {
		switch age := now.Sub(s.At); {
		case age > oldest:
		case age > dense && len(kept) > 0 && s.At.Sub(kept[len(kept)-1].At) < sparse:
		default:
			kept = append(kept, s)
		}
	}
	return kept
}

// PerHour returns by how many bytes an hour what is used grows, 0 if it does not. It is that of the last
// sample: whoever has the same samples says the same.
func (g *Growth) PerHour() int64 {
	if len(g.samples) == 0 {
		return 0
	}
	return PerHour(g.samples, g.samples[len(g.samples)-1].At)
}

// PerHour returns by how many bytes an hour samples grow, the oldest first; 0 if they do not, or if
// there are too few to tell.
//
// It is the greater of two rates: that of the last three minutes, or of the last one if that is
// less, as of an import at work; and that of the last hour, as of a job that runs every few
// minutes. The latter counts only as far as the last ten minutes have it, too: an import is not
// foretold for long after its end. Each is the median of the slopes between all pairs of samples
// (Theil 1950, Sen 1968), which single steps, such as a table that is dropped, do not change.
func PerHour(samples []Sample, now time.Time) int64 {
	fast, _ := slope(samples, now, dense, beat, leastGrowth)
	if fast*last.Seconds() >= leastFast {
		if latest, ok := slope(samples, now, last, beat, 0); ok {
			fast = min(fast, latest)
		}
	}
	slow, _ := slope(samples, now, oldest, sparse, leastGrowth)
	lately, _ := slope(samples, now, recent, sparse, 0)
	slow = min(slow, lately)
	return int64(max(fast, slow, 0) * time.Hour.Seconds())
}

// slope is the median slope, in bytes a second, of the samples within a window that lie apart by a
// step at least; 0 where they grow by less than so many bytes. ok is false where they are too few.
func slope(samples []Sample, now time.Time, window, step time.Duration, least float64) (perSecond float64, ok bool) {
	var in []Sample
	for _, s := range samples {
		if now.Sub(s.At) > window || len(in) > 0 && s.At.Sub(in[len(in)-1].At) < step {
			continue
		}
		in = append(in, s)
	}
	if len(in) < leastSamples {
		return 0, false
	}
	span := in[len(in)-1].At.Sub(in[0].At)
	// Of what stopped long ago only the beginning may lie in the window; of what was just begun,
	// not half of it.
	if span < leastSpan || window > dense && span < window/2 {
		return 0, false
	}
	slopes := make([]float64, 0, len(in)*(len(in)-1)/2)
	for i, a := range in {
		for _, b := range in[i+1:] {
			slopes = append(slopes, float64(b.Bytes-a.Bytes)/b.At.Sub(a.At).Seconds())
		}
	}
	slices.Sort(slopes)
	median := slopes[(len(slopes)-1)/2]
	if median*span.Seconds() < least {
		return 0, true
	}
	return median, true
}

// FullIn is how long it takes until what is left is used up at so many bytes an hour; ok is false
// where it does not grow, or so slowly that it says nothing.
func FullIn(left, perHour int64) (in time.Duration, ok bool) {
	if perHour <= 0 {
		return 0, false
	}
	seconds := math.Ceil(float64(max(0, left)) / float64(perHour) * time.Hour.Seconds())
	if seconds > farthest.Seconds() {
		return 0, false
	}
	return time.Duration(seconds) * time.Second, true
}

// Say puts a time that is foretold in words: 3 h 20 min, or 4 days.
func Say(d time.Duration) string {
	const days = 24 * time.Hour
	d = d.Round(time.Minute)
	hours, minutes := int(d/time.Hour), int(d%time.Hour/time.Minute)
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d >= 2*days:
		return fmt.Sprintf("%d days", int(d/days))
	case hours == 0:
		return fmt.Sprintf("%d min", minutes)
	case hours >= 10 || minutes == 0:
		return fmt.Sprintf("%d h", hours)
	}
	return fmt.Sprintf("%d h %d min", hours, minutes)
}
