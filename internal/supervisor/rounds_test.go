package supervisor

import (
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/instance"
)

// TestRounds takes looks together that are due at about the same time, and none of the brake late.
func TestRounds(t *testing.T) {
	at := time.Date(2026, 11, 27, 1, 0, 0, 0, time.UTC)
	after := func(ms int) time.Time { return at.Add(time.Duration(ms) * time.Millisecond) }
	for _, c := range []struct {
		name         string
		rounds       rounds
		pause        int // ms until the next look, and which that is
		brake, watch bool
	}{
		{"the brake first", rounds{true, after(100), after(1000)}, 100, true, false},
		{"the watch first", rounds{true, after(500), after(300)}, 300, true, true},
		{"both", rounds{true, after(1000), after(1020)}, 1000, true, true},
		{"not both", rounds{true, after(1000), after(1200)}, 1000, true, false},
		{"no brake", rounds{false, at, after(700)}, 700, false, true},
		{"late", rounds{true, after(-300), after(-100)}, -300, true, true},
	} {
		pause := c.rounds.pause(at)
		brake, watch := c.rounds.due(at.Add(max(0, pause)))
		if pause != time.Duration(c.pause)*time.Millisecond || brake != c.brake || watch != c.watch {
			t.Errorf("%s: pause %v, brake %t, watch %t", c.name, pause, brake, watch)
		}
	}
	r := rounds{true, after(0), after(5000)}
	if r.rest(at); r.pause(at) != restInterval || !r.watch.Equal(after(5000)) {
		t.Errorf("at rest: %+v", r)
	}
}

// TestRests has looks follow each other slowly only where nothing is written and nothing can be full soon.
func TestRests(t *testing.T) {
	const far = restFar * restInterval
	for name, c := range map[string]struct {
		far  time.Duration
		used []int64
		want bool
	}{
		"idle":          {far: far, used: []int64{5, 5}, want: true},
		"the first":     {far: far, used: []int64{5}},
		"written":       {far: far, used: []int64{5, 6}},
		"nearly full":   {far: far - 1, used: []int64{5, 5}},
		"written, idle": {far: far, used: []int64{5, 6, 6}, want: true},
	} {
		w, got := &watch{Supervisor: &Supervisor{volume: kindOnly{}, inst: &instance.Instance{}}}, false
		for _, used := range c.used {
			w.used = used
			got = w.rests(&brake{far: c.far})
		}
		if got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
