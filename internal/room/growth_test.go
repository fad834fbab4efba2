package room

import (
	"testing"
	"time"
)

var epoch = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// follow gives a Growth a sample a second for so long, of what use says in MB.
func follow(g *Growth, from, to time.Duration, use func(time.Duration) float64) {
	for at := from; at <= to; at += time.Second {
		g.Add(epoch.Add(at), int64(use(at)*mb))
	}
}

func TestPerHour(t *testing.T) {
	steady := func(perHour float64) func(time.Duration) float64 {
		return func(at time.Duration) float64 { return 100 + perHour*at.Hours() }
	}
	// load is an import of 6000 MB that takes so long, and begins at so much.
	load := func(begin, takes time.Duration) func(time.Duration) float64 {
		return func(at time.Duration) float64 {
			return 100 + 6000*min(1, max(0, (at-begin).Seconds()/takes.Seconds()))
		}
	}
	for _, c := range []struct {
		name       string
		length     time.Duration
		use        func(time.Duration) float64
		least, top int64 // MB an hour
	}{
		{"nothing yet", 0, steady(1000), 0, 0},
		{"too little to tell", 40 * time.Second, steady(10000), 0, 0},
		{"at rest", 2 * time.Hour, steady(0), 0, 0},
		{"a minute, fast", time.Minute, steady(6000), 5950, 6050},
		{"steady for five minutes", 5 * time.Minute, steady(420), 419, 421},
		{"steady for two hours", 2 * time.Hour, steady(420), 419, 421},
		{"slowly", 2 * time.Hour, steady(12), 11, 13},
		{"too slowly to speak of", 2 * time.Hour, steady(2), 0, 0},
		{"it shrinks", 2 * time.Hour, steady(-20), 0, 0},
		{"an import at work", 30*time.Minute + 4*time.Minute, load(30*time.Minute, 10*time.Minute), 35900, 36100},
		{"it ended eight minutes ago", 48 * time.Minute, load(30*time.Minute, 10*time.Minute), 0, 0},
		{"a long one ended", 60*time.Minute + 12*time.Minute, load(10*time.Minute, 50*time.Minute), 0, 0},
		{"it ended long ago", 110 * time.Minute, load(30*time.Minute, 10*time.Minute), 0, 0},
		{"a burst, then slower", 31*time.Minute + 100*time.Second, func(at time.Duration) float64 {
			return 100 + 25*min(60, max(0, at.Seconds()-30*60)) + 1.3*max(0, at.Seconds()-31*60)
		}, 4600, 4800},
		{"an import ended a minute and a half ago", 42*time.Minute + 30*time.Second, load(38*time.Minute, 3*time.Minute), 0, 0},
		// 16 MB every five minutes, as a tablespace is extended.
		{"by steps", 2 * time.Hour, func(at time.Duration) float64 { return 16 * float64(int(at.Minutes())/5) }, 150, 230},
		// A table of 3000 MB is dropped in the middle of the growth.
		{"a drop in between", 2 * time.Hour, func(at time.Duration) float64 {
			u := 4000 + 420*at.Hours()
			if at > 118*time.Minute {
				u -= 3000
			}
			return u
		}, 400, 440},
		// Logs of 16 MB that are written in 15 s, of which the newest two stay.
		{"logs that are purged", time.Hour, func(at time.Duration) float64 { return 100 + 32*float64(at.Milliseconds()%30000)/30000 }, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var g Growth
			follow(&g, 0, c.length, c.use)
			got := g.PerHour() / mb
			if got < c.least || got > c.top {
				t.Errorf("%d MB an hour, want %d to %d", got, c.least, c.top)
			}
			if n := len(g.samples); n > 90 {
				t.Errorf("%d samples are kept", n)
			}
		})
	}
}

// TestPerHourIsNoMean is the control: the mean of the same hour foretells an import that has ended.
func TestPerHourIsNoMean(t *testing.T) {
	var g Growth
	follow(&g, 0, 50*time.Minute, func(at time.Duration) float64 { return 6000 * min(1, at.Minutes()/10) })
	first, last := g.samples[0], g.samples[len(g.samples)-1]
	mean := float64(last.Bytes-first.Bytes) / mb / last.At.Sub(first.At).Hours()
	if got := g.PerHour(); got != 0 || mean < 7000 {
		t.Errorf("%d bytes an hour, by the mean %.0f MB", got, mean)
	}
}

// TestMerge: a supervisor that is restarted goes on, but not with samples of the future.
func TestMerge(t *testing.T) {
	use := func(at time.Duration) float64 { return 420 * at.Hours() }
	var before, after, back Growth
	follow(&before, 0, time.Hour, use)
	after.Merge(before.Samples(), epoch.Add(61*time.Minute))
	follow(&after, 61*time.Minute, 62*time.Minute, use)
	if got := after.PerHour() / mb; got < 415 || got > 425 {
		t.Errorf("%d MB an hour after a restart", got)
	}
	if back.Merge(before.Samples(), epoch.Add(-time.Minute)); len(back.samples) != 0 {
		t.Errorf("%d samples of the future", len(back.samples))
	}
	// The clock is put back.
	follow(&before, 30*time.Minute, 31*time.Minute+30*time.Second, use)
	if got := before.PerHour() / mb; got < 415 || got > 425 {
		t.Errorf("%d MB an hour after the clock was put back", got)
	}
}

func TestFullIn(t *testing.T) {
	for _, c := range []struct {
		name          string
		left, perHour int64
		want          time.Duration
		ok            bool
	}{
		{"it does not grow", 100, 0, 0, false},
		{"it is full", 0, 1, 0, true},
		{"beyond full", -5, 1, 0, true},
		{"half an hour", 50, 100, 30 * time.Minute, true},
		{"3 h 20 min", 1000, 300, 3*time.Hour + 20*time.Minute, true},
		{"in a year", 24 * 365, 1, 0, false},
	} {
		if got, ok := FullIn(c.left, c.perHour); got != c.want || ok != c.ok {
			t.Errorf("%s: %s, %v", c.name, got, ok)
		}
	}
}

func TestSay(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                            "less than a minute",
		29 * time.Second:             "less than a minute",
		59 * time.Second:             "1 min",
		24 * time.Minute:             "24 min",
		time.Hour:                    "1 h",
		3*time.Hour + 20*time.Minute: "3 h 20 min",
		30*time.Hour + time.Minute:   "30 h",
		100 * time.Hour:              "4 days",
	} {
		if got := Say(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

// TestMergeOthers: of one volume each who follows it foretells the same, however long they do.
func TestMergeOthers(t *testing.T) {
	use := func(at time.Duration) float64 { return 6000 * min(0.8, at.Hours()) }
	var long, short, own Growth
	follow(&long, 0, 50*time.Minute, use)
	follow(&own, 49*time.Minute+5*time.Second, 50*time.Minute+5*time.Second, use)
	short = own
	now := epoch.Add(50*time.Minute + 7*time.Second)
	short.Merge(long.Samples(), now)
	long.Merge(short.Samples(), now)
	if a, b := long.PerHour(), short.PerHour(); a != b || a == 0 {
		t.Errorf("they foretell %d and %d bytes an hour", a, b)
	}
	if alone := own.PerHour(); alone == long.PerHour() {
		t.Errorf("alone it foretells the same: %d", alone)
	}
}
