package runner

import (
	"context"
	"strings"
	"testing"
)

// TestBeats: a row is better than another by more than two runs differ, in every round, whatever
// the unit; else neither is.
func TestBeats(t *testing.T) {
	for name, tc := range map[string]struct {
		unit         Unit
		base, row    []float64
		gains, loses bool
		rounds       int // 0 for as many as there are samples
	}{
		"faster":               {Seconds, []float64{10, 11, 12}, []float64{7, 8, 9}, true, false, 0},
		"slower":               {Seconds, []float64{7, 8, 9}, []float64{10, 11, 12}, false, true, 0},
		"faster, one round":    {Seconds, []float64{10, 11, 12}, []float64{7, 8, 10}, false, false, 0},
		"more a second":        {PerSecond, []float64{7, 8, 9}, []float64{10, 11, 12}, true, false, 0},
		"less a second":        {PerSecond, []float64{10, 11, 12}, []float64{7, 8, 9}, false, true, 0},
		"rates overlap":        {PerSecond, []float64{7, 8, 10}, []float64{10, 11, 12}, false, false, 0},
		"less than runs vary":  {Seconds, []float64{100}, []float64{97}, false, false, 0},
		"of a single round":    {Bytes, []float64{100}, []float64{50}, true, false, 0},
		"a number is no merit": {Count, []float64{100}, []float64{50}, false, false, 0},
		"nothing measured":     {Seconds, nil, []float64{1}, false, false, 0},
		"a sample is held up":  {Seconds, []float64{20, 21, 22, 20, 21, 22}, []float64{7, 8, 90, 7, 8, 9}, true, false, 2},
		"a round is held up":   {Seconds, []float64{20, 21, 22, 20, 21, 22}, []float64{7, 8, 9, 70, 80, 90}, false, false, 2},
	} {
		r := Result{Unit: tc.unit, Rows: []Row{{Name: "base", Samples: tc.base, Rounds: tc.rounds}, {Name: "row", Samples: tc.row, Rounds: tc.rounds}}}
		r.summarise()
		if gains, loses := r.Gains(&r.Rows[1]), r.Loses(&r.Rows[1]); gains != tc.gains || loses != tc.loses {
			t.Errorf("%s: it gains %v and loses %v", name, gains, loses)
		}
	}
}

// TestFound: what is known of a row once it is prepared is stated with its settings.
func TestFound(t *testing.T) {
	where := ""
	work := Timed(func(context.Context) error { return nil })
	s := Scenario{Name: "s", Unit: Seconds, Cases: []Case{
		{Name: "a", Settings: "stock", Round: work, Found: func() string { return where }, Prepare: func(context.Context) error { where = "ext4"; return nil }},
		{Name: "b", Round: work, Found: func() string { return where }},
		{Name: "c", Settings: "stock", Round: work, Found: func() string { return "" }},
		{Name: "d", Settings: "stock", Round: work, Found: func() string { return where }, Prepare: func(context.Context) error { return ErrUnavailable }},
	}}
	r, err := (&Runner{Rounds: 1}).Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"stock; ext4", "ext4", "stock", "stock"} {
		if got := r.Rows[i].Settings; got != want {
			t.Errorf("row %s: settings %q, want %q", r.Rows[i].Name, got, want)
		}
	}
}

// TestConclusionOfFewRounds: what one round says is told to be of one, in every scenario.
func TestConclusionOfFewRounds(t *testing.T) {
	s := Scenario{Name: "s", Unit: Seconds, Conclusion: func(*Result) string { return "it is faster" }}
	s.Cases = []Case{{Name: "a", Round: Timed(func(context.Context) error { return nil })}}
	for rounds, want := range map[int]string{1: "Of a single round: it is", 2: "Of 2 rounds alone: it is", 3: "it is"} {
		r, err := (&Runner{Warmup: -1, Rounds: rounds}).Run(t.Context(), s)
		if err != nil || !strings.HasPrefix(r.Conclusion, want) {
			t.Errorf("%d rounds: %q, %v", rounds, r.Conclusion, err)
		}
	}
	s.Conclusion = func(*Result) string { return "" }
	if r, err := (&Runner{Warmup: -1, Rounds: 1}).Run(t.Context(), s); err != nil || r.Conclusion != "" {
		t.Errorf("nothing was concluded: %q, %v", r.Conclusion, err)
	}
}

// TestNoGain: rounds that are too few to tell a gain do not tell that there is none.
func TestNoGain(t *testing.T) {
	const none, unknown = "gains nothing that stands out from the noise", "gains what only more rounds can tell from noise"
	for _, tc := range []struct {
		rounds []int
		ratio  float64
		want   string
	}{
		{[]int{5, 5}, 2.33, none},
		{[]int{5, 1}, 2.33, unknown},
		{[]int{2, 2}, 2.33, unknown},
		{[]int{5, 0}, 2.33, none}, // a row that was not measured has no say
		{[]int{1, 1}, 1.02, none},
		{[]int{1, 1}, 0.4, none},
	} {
		r := Result{}
		for _, n := range tc.rounds {
			r.Rows = append(r.Rows, Row{Rounds: n})
		}
		if got := r.NoGain(tc.ratio); got != tc.want {
			t.Errorf("%v rounds, %v times: %q, want %q", tc.rounds, tc.ratio, got, tc.want)
		}
	}
}
