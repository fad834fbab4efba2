package shipper

import (
	"testing"
	"time"
)

// slicedDisk lets a number of appends through in each slice of time, the others wait for the next.
type slicedDisk struct {
	slice, cost time.Duration
	most        int // 0 for all
	began       time.Duration
	used        int
	// Another program holds it up for so long, from time to time.
	hiccup, period, last time.Duration
}

// append is when one ends that begins now.
func (d *slicedDisk) append(now time.Duration) time.Duration {
	if now-d.began >= d.slice {
		d.began, d.used = now-now%d.slice, 0
	}
	if d.used++; d.most > 0 && d.used > d.most {
		d.began, d.used = d.began+d.slice, 1
		now = d.began
	}
	if d.period > 0 && now-d.last >= d.period {
		now += d.hiccup
		d.last = now
	}
	return now + d.cost
}

// load is a server's: connections that commit, one after the other, by one processor.
type load struct {
	connections int
	work        time.Duration // of a transaction
}

// run ships a load for so long, in a time of its own, and returns how many transactions a second were acknowledged.
// p is nil for no pace.
func (l load) run(d *slicedDisk, p *pacer, long time.Duration) float64 {
	const bytes = 1000
	var now, processor time.Duration
	var logged []time.Duration // when each transaction that is in the log got there
	for range l.connections {
		processor += l.work
		logged = append(logged, processor)
	}
	done := 0
	for now < long {
		if p != nil {
			now += p.wait(now)
		}
		n := 0
		for n < len(logged) && logged[n] <= now {
			n++
		}
		if n == 0 {
			now = logged[0]
			continue
		}
		ended := d.append(now)
		if p != nil {
			p.did(now, ended, n*bytes)
		}
		now = ended
		done += n
		logged = logged[n:]
		for range n { // each connection goes on
			processor = max(processor, now) + l.work
			logged = append(logged, processor)
		}
	}
	return float64(done) / now.Seconds()
}

// TestPaceGains: on a disk that gives its writes in bursts, more commits get through with a pace where many share an
// append, and hardly fewer where none do.
func TestPaceGains(t *testing.T) {
	const long = 30 * time.Second
	for name, tc := range map[string]struct {
		load  load
		slice time.Duration
		most  int
		least float64 // of the rate without a pace
	}{
		"32 connections, 250 appends a second":              {load{32, 200 * time.Microsecond}, 100 * time.Millisecond, 25, 1.5},
		"8 connections, 250 appends a second":               {load{8, 200 * time.Microsecond}, 100 * time.Millisecond, 25, 1.3},
		"32 connections, 1500 appends a second":             {load{32, 200 * time.Microsecond}, 100 * time.Millisecond, 150, 1.5},
		"32 connections, 1500 appends a second, short":      {load{32, 200 * time.Microsecond}, 20 * time.Millisecond, 30, 1.3},
		"one connection, 250 appends a second":              {load{1, 200 * time.Microsecond}, 100 * time.Millisecond, 25, 0.95},
		"one connection, 1500 appends a second":             {load{1, 200 * time.Microsecond}, 100 * time.Millisecond, 150, 0.95},
		"32 connections, a disk that holds nothing up":      {load{32, 200 * time.Microsecond}, 100 * time.Millisecond, 0, 1},
		"one connection, a disk that holds nothing up":      {load{1, 200 * time.Microsecond}, 100 * time.Millisecond, 0, 1},
		"32 connections, more appends than the load makes":  {load{32, 2 * time.Millisecond}, 100 * time.Millisecond, 1000, 1},
		"many connections that leave the disk time to rest": {load{4, 20 * time.Millisecond}, 100 * time.Millisecond, 3, 0.9},
	} {
		t.Run(name, func(t *testing.T) {
			disk := func() *slicedDisk { return &slicedDisk{slice: tc.slice, cost: 100 * time.Microsecond, most: tc.most} }
			without, with := tc.load.run(disk(), nil, long), tc.load.run(disk(), &pacer{}, long)
			t.Logf("%.0f a second without a pace, %.0f with one: %.2f", without, with, with/without)
			if with < tc.least*without {
				t.Errorf("%.0f a second with a pace, and %.0f without", with, without)
			}
		})
	}
}

// TestPaceIsNotForHiccups: where other programs hold the disk up now and then, no commit waits longer than it must.
func TestPaceIsNotForHiccups(t *testing.T) {
	for _, connections := range []int{1, 8, 32} {
		for _, period := range []time.Duration{time.Second, 200 * time.Millisecond, 60 * time.Millisecond} {
			disk := func() *slicedDisk {
				return &slicedDisk{slice: time.Second, cost: 200 * time.Microsecond, hiccup: 50 * time.Millisecond, period: period}
			}
			l := load{connections, 200 * time.Microsecond}
			without, with := l.run(disk(), nil, 30*time.Second), l.run(disk(), &pacer{}, 30*time.Second)
			t.Logf("%d connections, every %s: %.0f a second without a pace, %.0f with one", connections, period, without, with)
			if with < 0.95*without {
				t.Errorf("%d connections, every %s: %.0f a second with a pace, and %.0f without", connections, period, with, without)
			}
		}
	}
}
