package runner

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestMaxTime(t *testing.T) {
	for _, tc := range []struct {
		name    string
		runner  Runner
		counted int // rounds that count
		all     int
	}{
		{"no bound", Runner{Rounds: 50}, 50, 51},
		{"no warm-up", Runner{Warmup: -1, Rounds: 5}, 5, 5},
		{"bound", Runner{Rounds: 50, MaxTime: 10 * time.Second}, 9, 10},
		{"bound below one round", Runner{Rounds: 50, MaxTime: time.Millisecond}, 1, 1},
		{"bound shortens the warm-up first", Runner{Warmup: 20, Rounds: 50, MaxTime: 3 * time.Second}, 1, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var j journal
			c := &clock{}
			tc.runner.Now = c.Now
			res, err := tc.runner.Run(t.Context(), Scenario{Unit: Seconds, Cases: []Case{j.traced(c, "A", time.Second)}})
			if err != nil {
				t.Fatal(err)
			}
			if got := res.Rows[0].Rounds; got != tc.counted {
				t.Errorf("%d rounds counted, want %d", got, tc.counted)
			}
			if got := j.count("round A"); got != tc.all {
				t.Errorf("%d rounds run, want %d", got, tc.all)
			}
		})
	}
}

// TestMaxTimeEndsARound: a round that takes longer than those before is not carried on beyond
// the time. A row that came to nothing says so.
func TestMaxTimeEndsARound(t *testing.T) {
	for _, tc := range []struct {
		rounds int // of A before it becomes slow
		want   [2]int
	}{{4, [2]int{5, 4}}, {0, [2]int{1, 0}}} {
		var j journal
		c := &clock{}
		a := j.traced(c, "A", time.Second)
		round := a.Round
		a.Round = func(ctx context.Context) (Sample, error) {
			if j.count("round A") == tc.rounds {
				c.now = c.now.Add(time.Hour)
			}
			return round(ctx)
		}
		s := Scenario{Unit: Seconds, Cases: []Case{a, j.traced(c, "B", time.Second)}}
		res, err := (&Runner{Warmup: -1, Rounds: 50, MaxTime: time.Minute, Now: c.Now}).Run(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		got := [2]int{res.Rows[0].Rounds, res.Rows[1].Rounds}
		if got != tc.want {
			t.Errorf("slow after %d rounds: %d rounds counted, want %d", tc.rounds, got, tc.want)
		}
		if note := res.Rows[1].Note; (note == "not measured within 1m0s") != (got[1] == 0) {
			t.Errorf("slow after %d rounds: the note is %q", tc.rounds, note)
		}
	}
}

// TestMaxTimeCountsPreparing: what is not prepared in time is not, and says so; that nothing at
// all could be measured is an error. What is prepared is cleaned up.
func TestMaxTimeCountsPreparing(t *testing.T) {
	for _, tc := range []struct {
		name             string
		preparing, round time.Duration
		notes            [2]string
		rounds           [2]int
		err              error
		whole            bool
	}{
		{"whole, whatever it takes", 15 * time.Second, 10 * time.Second, [2]string{}, [2]int{1, 1}, nil, true},
		{"in time", 4 * time.Second, time.Second, [2]string{}, [2]int{1, 1}, nil, false},
		{"one row alone", 6 * time.Second, 10 * time.Second, [2]string{"", "not measured within 14s"}, [2]int{1, 0}, nil, false},
		{"the second is late", 15 * time.Second, time.Second, [2]string{"not measured within 14s", "not prepared within 14s"}, [2]int{}, ErrTime, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var j journal
			c := &clock{}
			var cases []Case
			for _, name := range []string{"A", "B"} {
				traced := j.traced(c, name, tc.round)
				prepare := traced.Prepare
				traced.Prepare = func(ctx context.Context) error {
					c.now = c.now.Add(tc.preparing)
					return prepare(ctx)
				}
				cases = append(cases, traced)
			}
			res, err := (&Runner{MaxTime: 14 * time.Second, Whole: tc.whole, Rounds: 1, Now: c.Now}).Run(t.Context(), Scenario{Unit: Seconds, Cases: cases})
			if !errors.Is(err, tc.err) || (res.Failed != "") != (tc.err != nil) {
				t.Errorf("error: %v, failed: %q", err, res.Failed)
			}
			for i, row := range res.Rows {
				if row.Note != tc.notes[i] || row.Rounds != tc.rounds[i] || row.Count != tc.rounds[i] {
					t.Errorf("%s: %d rounds, %q; want %d, %q", row.Name, row.Rounds, row.Note, tc.rounds[i], tc.notes[i])
				}
			}
			if prepared, cleaned := j.count("prepare A")+j.count("prepare B"), j.count("cleanup A")+j.count("cleanup B"); prepared != cleaned || prepared == 0 {
				t.Errorf("%d prepared, %d cleaned up", prepared, cleaned)
			}
		})
	}
}

// TestCutOff: what goes on for half as long again is ended, and what was measured stays.
func TestCutOff(t *testing.T) {
	forever := func(ctx context.Context) error {
		<-ctx.Done()
		return fmt.Errorf("interrupted: %w", ctx.Err())
	}
	for _, tc := range []struct {
		name   string
		change func(j *journal, b *Case)
		notes  [3]string
		rounds [3]int
	}{
		{"the first round", func(_ *journal, b *Case) {
			b.Round = func(ctx context.Context) (Sample, error) { return Sample{}, forever(ctx) }
		}, [3]string{"", "cut off after 60ms", "not measured within 40ms"}, [3]int{1, 0, 0}},
		{"the third", func(j *journal, b *Case) {
			round := b.Round
			b.Round = func(ctx context.Context) (Sample, error) {
				if j.count("round B") == 2 {
					return Sample{}, forever(ctx)
				}
				return round(ctx)
			}
		}, [3]string{}, [3]int{3, 2, 3}}, // the last was before it in that round
		{"a check", func(_ *journal, b *Case) { b.Check = forever }, [3]string{"", "cut off after 60ms", "not measured within 40ms"}, [3]int{1, 0, 0}},
		{"preparing", func(_ *journal, b *Case) { b.Prepare = forever }, [3]string{"not measured within 40ms", "cut off after 60ms", "not prepared within 40ms"}, [3]int{}},
	} {
		synctest.Test(t, func(t *testing.T) { // whatever else the machine does
			t.Log(tc.name)
			var j journal
			cases := []Case{j.traced(&clock{}, "A", 0), j.traced(&clock{}, "B", 0), j.traced(&clock{}, "C", 0)}
			tc.change(&j, &cases[1])
			start := time.Now()
			res, err := (&Runner{MaxTime: 40 * time.Millisecond, Warmup: -1, Rounds: 3}).Run(t.Context(), Scenario{Unit: Seconds, Cases: cases})
			if measured := tc.rounds != [3]int{}; measured != (err == nil) || measured == errors.Is(err, ErrTime) || measured != (res.Failed == "") {
				t.Errorf("error: %v, failed: %q", err, res.Failed)
			}
			for i, row := range res.Rows {
				if row.Note != tc.notes[i] || row.Rounds != tc.rounds[i] {
					t.Errorf("%s: %d rounds, %q; want %d, %q", row.Name, row.Rounds, row.Note, tc.rounds[i], tc.notes[i])
				}
			}
			if took := time.Since(start); res.Interrupted || took != 60*time.Millisecond {
				t.Errorf("interrupted: %v, after %s", res.Interrupted, took)
			}
			want := 3
			if tc.name == "preparing" {
				want = 2
			}
			if got := j.count("cleanup A") + j.count("cleanup B") + j.count("cleanup C"); got != want {
				t.Errorf("%d cleaned up, want %d", got, want)
			}
		})
	}
}

// TestWrongAfterTheTime: an answer that is wrong is a failure however late it comes.
func TestWrongAfterTheTime(t *testing.T) {
	var j journal
	c := j.traced(&clock{}, "A", 0)
	c.Check = func(ctx context.Context) error {
		<-ctx.Done()
		return errors.New("the answer is 41")
	}
	res, err := (&Runner{MaxTime: 10 * time.Millisecond, Warmup: -1, Rounds: 3}).Run(t.Context(), Scenario{Unit: Seconds, Cases: []Case{c}})
	if err == nil || errors.Is(err, ErrTime) || res.Failed == "" || res.Rows[0].Note != "failed: the answer is 41" {
		t.Errorf("error: %v, failed: %q, row: %+v", err, res.Failed, res.Rows[0])
	}
}

// TestWarmUpCountsForLackOfTime: a row has the figures of the round that warmed it up, if there
// was no time for another.
func TestWarmUpCountsForLackOfTime(t *testing.T) {
	var j journal
	c := &clock{}
	s := Scenario{Unit: Seconds, Cases: []Case{j.traced(c, "A", 3*time.Second), j.traced(c, "B", 3*time.Second)}, Conclusion: func(*Result) string { return "so it is" }}
	res, err := (&Runner{Rounds: 5, MaxTime: 8 * time.Second, Now: c.Now}).Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range res.Rows {
		if row.Rounds != 1 || row.Median != 3 {
			t.Errorf("%s: %d rounds, median %v", row.Name, row.Rounds, row.Median)
		}
	}
	if res.Conclusion != "Of a single round: so it is" || j.count("round A") != 1 {
		t.Errorf("%q after %d rounds", res.Conclusion, j.count("round A"))
	}
}
