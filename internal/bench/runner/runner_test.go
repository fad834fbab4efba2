package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// clock is a fake that moves only when a case says so.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// journal is what the cases of a test were asked to do.
type journal []string

// traced returns a case that notes its calls, takes d on the clock, and measures d.
func (j *journal) traced(c *clock, name string, d time.Duration) Case {
	note := func(what string) { *j = append(*j, what+" "+name) }
	return Case{
		Name:    name,
		Prepare: func(context.Context) error { note("prepare"); return nil },
		Round: func(context.Context) (Sample, error) {
			note("round")
			c.now = c.now.Add(d)
			return Sample{Value: d.Seconds()}, nil
		},
		Check:   func(context.Context) error { note("check"); return nil },
		Cleanup: func(ctx context.Context) error { note("cleanup"); return ctx.Err() },
	}
}

func (j *journal) count(what string) int {
	n := 0
	for _, s := range *j {
		if s == what {
			n++
		}
	}
	return n
}

func TestRunInterleavesChecksAndCleansUp(t *testing.T) {
	var j journal
	c := &clock{}
	r := Runner{Warmup: 1, Rounds: 2, Now: c.Now}
	res, err := r.Run(t.Context(), Scenario{Name: "s", Unit: Seconds, Cases: []Case{j.traced(c, "A", time.Second), j.traced(c, "B", 2*time.Second)}})
	if err != nil {
		t.Fatal(err)
	}
	want := journal{
		"prepare A", "prepare B",
		"round A", "check A", "round B", "check B", // warm-up
		"round B", "check B", "round A", "check A",
		"round A", "check A", "round B", "check B",
		"cleanup B", "cleanup A",
	}
	if diff := cmp.Diff(want, j); diff != "" {
		t.Error(diff)
	}
	if got := res.Rows[1]; got.Rounds != 2 || got.Median != 2 || got.Ratio != 0.5 {
		t.Errorf("row B: %+v", got)
	}
	if res.Interrupted || !res.Measured() {
		t.Errorf("result: %+v", res)
	}
}

// TestFailedRowHasNoFigures: nor those of the rounds before, and nothing is concluded.
func TestFailedRowHasNoFigures(t *testing.T) {
	var j journal
	c := &clock{}
	a := j.traced(c, "A", time.Second)
	a.Check = func(context.Context) error {
		if j.count("round A") == 3 {
			return errors.New("the answer is 41:\nit says more")
		}
		return nil
	}
	s := Scenario{Name: "s", Unit: Seconds, Cases: []Case{j.traced(c, "B", time.Second), a}, Conclusion: func(*Result) string { return "all is well" }}
	res, err := (&Runner{Now: c.Now}).Run(t.Context(), s)
	if err == nil {
		t.Error("no error")
	}
	if row := res.Rows[1]; row.Count != 0 || row.Rounds != 0 || row.Samples != nil || row.Note != "failed: the answer is 41" {
		t.Errorf("the row that failed: %+v", row)
	}
	if res.Rows[0].Count == 0 || res.Conclusion != "" || res.Failed != `check answer of case "A": the answer is 41` {
		t.Errorf("result: %+v", res)
	}
	read, err := ReadJSON(strings.NewReader(written(t, res)))
	if err != nil || len(read) != 1 || read[0].Failed != res.Failed {
		t.Errorf("read again: %+v, %v", read, err)
	}
	list := Compare([]Result{res}, []Result{res})
	if list[1].Row != "A" || list[1].Verdict != Unmeasured {
		t.Errorf("compared: %+v", list[1])
	}
}

func TestInterruptKeepsWhatWasMeasured(t *testing.T) {
	var j journal
	c := &clock{}
	ctx, cancel := context.WithCancelCause(t.Context())
	a, b := j.traced(c, "A", time.Second), j.traced(c, "B", time.Second)
	round := a.Round
	a.Round = func(ctx context.Context) (Sample, error) {
		if j.count("round A") == 3 {
			cancel(errors.New("user pressed Ctrl-C"))
			return Sample{}, errors.New("signal: interrupt") // as a killed program says
		}
		return round(ctx)
	}
	res, err := (&Runner{Warmup: -1, Rounds: 100, Now: c.Now}).Run(ctx, Scenario{Unit: Seconds, Cases: []Case{a, b}})
	if err == nil || !strings.Contains(err.Error(), "Ctrl-C") {
		t.Errorf("error %v, want the cause of the interruption", err)
	}
	if !res.Interrupted || res.Rows[0].Rounds != 3 || res.Rows[1].Rounds < 3 || res.Rows[0].Median != 1 {
		t.Errorf("result: %+v", res)
	}
	// The context of Cleanup was alive, or traced would have returned its error.
	if j.count("cleanup A") != 1 || j.count("cleanup B") != 1 || strings.Contains(err.Error(), "clean up") {
		t.Errorf("cleanup: %v, %v", j, err)
	}
}

func TestWrongAnswerEndsTheRun(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(*Case)
		want  string
	}{
		{"prepare", func(c *Case) { c.Prepare = func(context.Context) error { return os.ErrPermission } }, `prepare case "A"`},
		{"round", func(c *Case) { c.Round = func(context.Context) (Sample, error) { return Sample{}, os.ErrPermission } }, `run case "A"`},
		{"check", func(c *Case) { c.Check = func(context.Context) error { return os.ErrPermission } }, `check answer of case "A"`},
		{"cleanup", func(c *Case) { c.Cleanup = func(context.Context) error { return os.ErrPermission } }, "clean up"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var j journal
			c := &clock{}
			a := j.traced(c, "A", time.Second)
			tc.spoil(&a)
			_, err := (&Runner{Now: c.Now}).Run(t.Context(), Scenario{Unit: Seconds, Cases: []Case{j.traced(c, "first", time.Second), a}})
			if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if j.count("cleanup first") != 1 {
				t.Errorf("the other case was not cleaned up: %v", j)
			}
		})
	}
}

func TestUnavailableRowStays(t *testing.T) {
	var j journal
	c := &clock{}
	zram := j.traced(c, "zram", time.Second)
	zram.Prepare = func(context.Context) error { return fmt.Errorf("load zram: %w", ErrUnavailable) }
	res, err := (&Runner{Now: c.Now}).Run(t.Context(), Scenario{Unit: Seconds, Cases: []Case{zram, j.traced(c, "shm", time.Second)}})
	if err != nil {
		t.Fatal(err)
	}
	if res.Rows[0].Rounds != 0 || !strings.Contains(res.Rows[0].Note, "load zram") || res.Rows[1].Rounds != DefaultRounds {
		t.Errorf("rows: %+v", res.Rows)
	}
}

func TestManySamplesAndBases(t *testing.T) {
	several := func(values ...float64) func(context.Context) (Sample, error) {
		return func(context.Context) (Sample, error) { return Sample{Values: values}, nil }
	}
	res, err := (&Runner{Rounds: 2}).Run(t.Context(), Scenario{Unit: Seconds, Cases: []Case{
		{Name: "A", Round: several(8)}, {Name: "B", Round: several(1, 2, 3)}, {Name: "C", Round: several(4, 4), Base: "B"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	b, c := res.Rows[1], res.Rows[2]
	if b.Rounds != 2 || b.Count != 6 || b.Median != 2 || b.P99 != 3 || b.Ratio != 4 {
		t.Errorf("row B: %+v", b)
	}
	if c.Rounds != 2 || c.Count != 4 || c.Ratio != 0.5 {
		t.Errorf("row C: %+v", c)
	}
	if _, err := (&Runner{}).Run(t.Context(), Scenario{Cases: []Case{{Name: "A", Round: several(1), Base: "nothing"}}}); err == nil {
		t.Error("a base that does not exist: accepted")
	}
}

func TestBadScenario(t *testing.T) {
	var j journal
	good := j.traced(&clock{}, "A", 0)
	for name, tc := range map[string]struct {
		runner Runner
		cases  []Case
	}{
		"no cases":        {Runner{}, nil},
		"no round":        {Runner{}, []Case{{Name: "A"}}},
		"no name":         {Runner{}, []Case{{Round: good.Round}}},
		"too many rounds": {Runner{Rounds: MaxRounds + 1}, []Case{good}},
		"negative rounds": {Runner{Rounds: -1}, []Case{good}},
		"one name twice":  {Runner{}, []Case{good, good}},
	} {
		if _, err := tc.runner.Run(t.Context(), Scenario{Cases: tc.cases}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestProgressCounts(t *testing.T) {
	var j journal
	c := &clock{}
	var seen []string
	r := Runner{Rounds: 1, Now: c.Now, Progress: func(done, total int, name string) {
		seen = append(seen, fmt.Sprintf("%d/%d %s", done, total, name))
	}}
	if _, err := r.Run(t.Context(), Scenario{Unit: Seconds, Cases: []Case{j.traced(c, "A", 1), j.traced(c, "B", 1)}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0/4 preparing A", "0/4 preparing B", "0/4 A", "1/4 B", "2/4 B", "3/4 A", "4/4 "}, seen); diff != "" {
		t.Error(diff)
	}
}

func TestTimed(t *testing.T) {
	s, err := Timed(func(context.Context) error { time.Sleep(time.Millisecond); return nil })(t.Context())
	if err != nil || s.Value < 0.001 || s.Value > 60 {
		t.Errorf("%v, %v", s, err)
	}
}

// TestWarmRounds: of a scenario that warms up by itself, all rounds count.
func TestWarmRounds(t *testing.T) {
	ran := 0
	c := Case{Name: "a", Round: func(context.Context) (Sample, error) { ran++; return Sample{Value: 1}, nil }}
	r, err := (&Runner{}).Run(t.Context(), Scenario{Name: "x", Unit: PerSecond, Rounds: 3, Warm: true, Cases: []Case{c}})
	if err != nil || ran != 3 || r.Rows[0].Rounds != 3 {
		t.Errorf("%d rounds, %d of them counted, %v", ran, r.Rows[0].Rounds, err)
	}
}

func TestRefused(t *testing.T) {
	s := Scenario{Name: "s", Unit: Seconds, Cases: []Case{{Name: "A", Round: func(context.Context) (Sample, error) { return Sample{}, nil }}}}
	r := Refused(s, errors.New("no room\nhint: some"))
	if r.Failed != "no room" || r.Measured() || r.Rows[0].Note == "" {
		t.Errorf("%+v", r)
	}
}
