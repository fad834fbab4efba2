package bucket

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// stream appends as eight writers do whose commits go to disk together, for a time: groups of
// transactions, most of them small. It returns how many bytes of log that was, and when each place
// had come to last.
func stream(l *local, m *Mirror, d time.Duration, text bool) (n int64, at []stamp) {
	noise := make([]byte, 1<<20)
	rng := rand.NewChaCha8([32]byte{1})
	for end := time.Now().Add(d); time.Now().Before(end); {
		size := 0
		for range 1 + l.rng.IntN(8) {
			switch k := l.rng.IntN(1000); {
			case k < 900:
				size += 200 + l.rng.IntN(800)
			case k < 995:
				size += 1000 + l.rng.IntN(50_000)
			default:
				size += 1 << l.rng.IntN(20)
			}
		}
		b := noise[:min(size, len(noise))]
		if text {
			b = l.events(len(b))
		} else {
			_, _ = rng.Read(b)
		}
		p := l.log.End()
		if p.File == 0 {
			p.File = 1
		}
		if err := l.log.Append(p, b); err != nil {
			l.t.Fatal(err)
		}
		n += int64(len(b))
		at = append(at, stamp{l.log.Lasts(), time.Now()})
		m.Notify()
		time.Sleep(time.Duration(l.rng.IntN(4)) * time.Millisecond)
	}
	return n, at
}

// stamp is when a place of the log had come to last.
type stamp struct {
	place archive.Place
	when  time.Time
}

// lags are how long each of them took to the bucket, sorted, and objects how many came to be there in the longest wait,
// its own the last.
func (m *memory) lags(list []stamp) (lags []time.Duration, objects int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	type up struct {
		end  archive.Place
		when time.Time
	}
	var ups []up
	for name, when := range m.put {
		if s, ok := parseSpan(name); ok {
			ups = append(ups, up{s.end(), when})
		}
	}
	slices.SortFunc(ups, func(a, b up) int {
		if a.end.Before(b.end) {
			return -1
		}
		return 1
	})
	var done []time.Time
	for _, u := range ups {
		done = append(done, u.when)
	}
	slices.SortFunc(done, time.Time.Compare)
	// after is how many objects were there by a time.
	after := func(when time.Time) int {
		n, _ := slices.BinarySearchFunc(done, when, time.Time.Compare)
		return n
	}
	for _, s := range list {
		for len(ups) > 0 && ups[0].end.Before(s.place) {
			ups = ups[1:]
		}
		if len(ups) == 0 {
			return nil, 0
		}
		lags = append(lags, ups[0].when.Sub(s.when))
		objects = max(objects, after(ups[0].when)+1-after(s.when))
	}
	slices.Sort(lags)
	return lags, objects
}

// measured is how a mirror kept up with a stream.
type measured struct {
	appends       int
	bytes         int64
	ratio         float64 // bytes sent for one of log
	objects       int
	waited        int // for so many of them at most
	p50, p99, max time.Duration
}

// measure mirrors a stream to a service whose calls take a time.
func measure(t testing.TB, wait, d time.Duration, text bool) (r measured) {
	l := newLocal(t)
	s := newMemory()
	s.set(func(int, string, string) error { time.Sleep(wait); return nil }, nil)
	m := l.mirror(s)
	m.Linger = 0
	stop := start(t, m)
	caught(t, m) // it has found out where it is
	n, list := stream(l, m, d, text)
	caught(t, m)
	stop()
	lags, waited := s.lags(list)
	if len(lags) != len(list) {
		t.Fatal("not all is in the bucket")
	}
	if st := m.Status(); st.Lag != 0 || st.LogBytes != n {
		t.Errorf("%+v", st)
	}
	at := func(percent int) time.Duration { return lags[(len(lags)-1)*percent/100] }
	return measured{len(list), n, float64(s.sent) / float64(n), len(s.put), waited, at(50), at(99), at(100)}
}

// TestLagAndBytes: what is appended waits for the object that is on its way, and for one that puts older ones together, and
// goes with the next, however slow the machine is; and the bucket gets no more than 1.1 bytes for one of log, whether that
// compresses or not. BenchmarkLag has the seconds.
func TestLagAndBytes(t *testing.T) {
	for name, text := range map[string]bool{"text": true, "encrypted": false} {
		t.Run(name, func(t *testing.T) {
			r := measure(t, 60*time.Millisecond, 3*time.Second, text) // as far as a service is
			t.Logf("%+v", r)
			if r.ratio > 1.1 {
				t.Errorf("%.3f bytes went up for one of log", r.ratio)
			}
			if r.waited > 3 {
				t.Errorf("something waited for %d objects", r.waited)
			}
		})
	}
}

// BenchmarkLag is what TestLagAndBytes looks at, by the time that a call takes.
func BenchmarkLag(b *testing.B) {
	for _, wait := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond} {
		b.Run(fmt.Sprint(wait), func(b *testing.B) {
			for b.Loop() {
				r := measure(b, wait, 5*time.Second, true)
				b.ReportMetric(float64(r.p50.Milliseconds()), "p50_ms")
				b.ReportMetric(float64(r.p99.Milliseconds()), "p99_ms")
				b.ReportMetric(r.ratio, "bytes_up/byte")
			}
		})
	}
}

// TestStatusLag: the status tells how long what is not in the bucket has waited.
func TestStatusLag(t *testing.T) {
	l := newLocal(t)
	s := newMemory()
	m := l.mirror(s)
	stop := start(t, m)
	l.append(100)
	m.Notify()
	caught(t, m)
	if st := m.Status(); st.Lag != 0 {
		t.Errorf("%+v", st)
	}
	s.set(func(int, string, string) error { return fmt.Errorf("away") }, nil)
	l.append(100)
	m.Notify()
	time.Sleep(400 * time.Millisecond)
	if st := m.Status(); st.Lag < 300*time.Millisecond || st.Lag > 20*time.Second || st.Err == nil {
		t.Errorf("%+v", st)
	}
	stop()
	s.set(nil, nil)
	time.Sleep(300 * time.Millisecond)

	// Another process knows it too: since the last part that went up.
	hold := make(chan struct{})
	s.set(func(_ int, call, _ string) error {
		if call == "put" {
			<-hold
		}
		return nil
	}, nil)
	m = l.mirror(s)
	start(t, m)
	time.Sleep(200 * time.Millisecond)
	if st := m.Status(); st.Lag < 700*time.Millisecond || st.Lag > 20*time.Second {
		t.Errorf("%+v", st)
	}
	close(hold)
	caught(t, m)
	if st := m.Status(); st.Lag != 0 || st.Err != nil {
		t.Errorf("%+v", st)
	}
}
