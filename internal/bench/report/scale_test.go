package report

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

func TestTicks(t *testing.T) {
	for name, c := range map[string]struct {
		scale  scale
		unit   runner.Unit
		labels []string
		in     string
	}{
		"seconds":          {linearScale(1.02, 6), runner.Seconds, []string{"0", "0.2", "0.4", "0.6", "0.8", "1", "1.2"}, "s"},
		"milliseconds":     {linearScale(0.0137, 4), runner.Seconds, []string{"0", "5", "10", "15"}, "ms"},
		"exactly a tick":   {linearScale(0.3, 3), runner.Seconds, []string{"0", "100", "200", "300"}, "ms"},
		"rates":            {linearScale(11800, 3), runner.PerSecond, []string{"0", "5", "10", "15"}, "k/s"},
		"bytes":            {linearScale(52.1e6, 3), runner.Bytes, []string{"0", "20", "40", "60"}, "MB"},
		"counts":           {linearScale(7, 5), runner.Count, []string{"0", "2", "4", "6", "8"}, ""},
		"nothing":          {linearScale(0, 2), runner.Seconds, []string{"0", "0.5", "1"}, "s"},
		"one step":         {linearScale(3, 1), runner.Seconds, []string{"0", "5"}, "s"},
		"log by decades":   {logScale(0.0032, 1.02, 4), runner.Seconds, []string{"10 ms", "100 ms", "1 s"}, ""},
		"log by 1-2-5":     {logScale(0.5, 30, 8), runner.Seconds, []string{"200 ms", "500 ms", "1 s", "2 s", "5 s", "10 s", "20 s", "50 s"}, ""},
		"log over much":    {logScale(1e-6, 1000, 4), runner.Seconds, []string{"1 µs", "100 µs", "10 ms", "1 s", "100 s"}, ""},
		"log, one tick":    {logScale(3, 300, 1), runner.Seconds, []string{"10 s", "100 s"}, ""},
		"log, exact edges": {logScale(1.5, 100, 3), runner.PerSecond, []string{"1 /s", "10 /s", "100 /s"}, ""},
	} {
		labels, unit := c.scale.labels(c.unit)
		if diff := cmp.Diff(c.labels, labels); diff != "" || unit != c.in {
			t.Errorf("%s: in %q, want %q: %s", name, unit, c.in, diff)
		}
		for _, tick := range c.scale.ticks {
			if at := c.scale.at(tick); at < 0 || at > 1 || tick < c.scale.lo*(1-1e-9) {
				t.Errorf("%s: tick %v at %v", name, tick, at)
			}
		}
	}
}

func TestScaleKeepsProportion(t *testing.T) {
	s := linearScale(8, 4)
	if s.at(0) != 0 || s.at(4) != 0.5 || s.at(8) != 1 || s.at(-1) != 0 || s.at(9) != 1 {
		t.Errorf("linear: %v %v %v %v %v", s.at(0), s.at(4), s.at(8), s.at(-1), s.at(9))
	}
	s = scale{lo: 1, hi: 100, log: true}
	if math.Abs(s.at(10)-0.5) > 1e-9 || s.at(0) != 0 || s.at(-3) != 0 {
		t.Errorf("logarithmic: %v %v %v", s.at(10), s.at(0), s.at(-3))
	}
}

func TestWantsLog(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		medians []float64
		want    bool
	}{
		"near":           {[]float64{1, 50}, false},
		"far":            {[]float64{1, nan, 51}, true},
		"zero":           {[]float64{0, 51}, false},
		"one":            {[]float64{3}, false},
		"nothing":        {nil, false},
		"only NaN":       {[]float64{nan, math.Inf(1)}, false},
		"infinite aside": {[]float64{1, 2, math.Inf(1)}, false},
	} {
		if got := wantsLog(c.medians); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestTicksFit takes axes of any length and wants their labels apart.
func TestTicksFit(t *testing.T) {
	for _, length := range []float64{60, 110, 200, 400} {
		for _, top := range []float64{1e-6, 0.0137, 1.02, 9.99, 123, 99999} {
			for _, log := range []bool{false, true} {
				s := fitScale(top/3000, top, log, runner.Seconds, length, tickWidth)
				texts, _ := s.labels(runner.Seconds)
				if len(texts) > 2 && !apart(s, texts, length, tickWidth) {
					t.Errorf("labels meet on %v units up to %v: %q", length, top, texts)
				}
				if s.hi < top*(1-1e-9) {
					t.Errorf("axis ends at %v, below %v", s.hi, top)
				}
			}
		}
	}
}

func TestDoubles(t *testing.T) {
	for name, c := range map[string]struct {
		xs   []float64
		want bool
	}{
		"threads":  {[]float64{1, 2, 4, 8}, true},
		"sizes":    {[]float64{25, 250, 2000}, true},
		"two":      {[]float64{1, 2}, false},
		"evenly":   {[]float64{1, 2, 3, 4}, false},
		"from nil": {[]float64{0, 1, 2, 4}, false},
	} {
		if got := doubles(c.xs); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if diff := cmp.Diff([]float64{1, 2, 4, 8}, xScale([]float64{1, 3, 8}, true).ticks); diff != "" {
		t.Error(diff)
	}
	if s := xScale([]float64{5}, false); s.at(5) != 0.5 {
		t.Errorf("a single X is at %v, want the middle", s.at(5))
	}
}
