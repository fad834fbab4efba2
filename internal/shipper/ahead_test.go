package shipper

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// noted is up to where was acknowledged, and how often a file began.
type noted struct {
	at     string
	starts int
}

func (n *noted) Start(file string) error {
	n.at, n.starts = file, n.starts+1
	return nil
}

func (n *noted) Ack(file string, offset int64) error {
	n.at = fmt.Sprintf("%s:%d", file, offset)
	return nil
}

// TestAhead: commits may be ahead of the archive by the budget, over all files that there are, and by no byte more.
func TestAhead(t *testing.T) {
	dir := t.TempDir()
	size := func(n uint32, bytes int64) {
		t.Helper()
		path := filepath.Join(dir, fmt.Sprintf("log.%06d", n))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, bytes); err != nil {
			t.Fatal(err)
		}
	}
	acks := &noted{}
	s := &Shipper{Dir: dir, Base: "log", Interval: 3 * time.Second}
	a := &ahead{Shipper: s, acks: acks}
	const within = time.Second - mostLook // a third of the interval, less a look
	for _, c := range []struct {
		what    string
		files   map[uint32]int64
		shipped archive.Position
		rate    int // bytes that the disk takes in the time
		want    string
		behind  int64
		waits   bool
	}{
		{"in the file", map[uint32]int64{1: 2 << 20}, archive.Position{File: 1, Offset: 1 << 20}, 3 << 20, "log.000001:4194304", 1 << 20, false},
		{"what one said is not taken back", nil, archive.Position{File: 1, Offset: 1 << 20}, 1 << 20, "log.000001:4194304", 1 << 20, false},
		{"a commit waits that goes further", map[uint32]int64{1: 5 << 20}, archive.Position{File: 1, Offset: 1 << 20}, 3 << 20, "log.000001:4194304", 4 << 20, true},
		{"not into the next file", map[uint32]int64{2: 1 << 20}, archive.Position{File: 1, Offset: 1 << 20}, 3 << 20, "log.000001:4194304", 5 << 20, true},
		{"into the next file", nil, archive.Position{File: 1, Offset: 4 << 20}, 3 << 20, "log.000002:2097152", 2 << 20, false},
		{"over a file", map[uint32]int64{3: 1000}, archive.Position{File: 1, Offset: 5 << 20}, 3 << 20, "log.000003:2097152", 1<<20 + 1000, false},
		{"behind it", nil, archive.Position{File: 3, Offset: 1000}, 3 << 20, "log.000003:3146728", 0, false},
		{"a disk that takes nothing", map[uint32]int64{4: 10}, archive.Position{File: 3, Offset: 1000}, 0, "log.000004", 10, true},
	} {
		for n, bytes := range c.files {
			size(n, bytes)
		}
		s.shipped.Store(&c.shipped)
		s.speed = speed{}
		if c.rate > 0 {
			s.speed.note(c.rate, within)
		} else {
			s.speed.note(1, time.Hour)
		}
		behind, err := a.look()
		if err != nil || acks.at != c.want || behind != c.behind || a.held != c.waits {
			t.Errorf("%s: %s, %d bytes behind, waits %v, %v; want %s, %d, %v", c.what, acks.at, behind, a.held, err, c.want, c.behind, c.waits)
		}
	}
	if acks.starts != 4 {
		t.Errorf("four files began %d times", acks.starts)
	}
}

// TestSpeed: what a disk takes in a time is measured by large appends, and that each takes a while by small ones.
func TestSpeed(t *testing.T) {
	var s speed
	if got := s.takes(time.Second); got != guessedRate || s.rate() != 0 {
		t.Errorf("before the first append: %d bytes, rate %f", got, s.rate())
	}
	s.note(100, 100*time.Millisecond)
	if got := s.takes(600 * time.Millisecond); got != guessedRate/2 {
		t.Errorf("after a small one of a tenth of a second: %d bytes", got)
	}
	for range lastAppends {
		s.note(1<<20, time.Second)
	}
	if got := s.takes(1100 * time.Millisecond); got != 1<<20 {
		t.Errorf("after large ones of a second: %d bytes", got)
	}
	for range lastAppends {
		s.note(1<<20, time.Second/8) // the older ones are forgotten
	}
	if got := s.takes(1100 * time.Millisecond); got != 8<<20 {
		t.Errorf("after large ones: %d bytes", got)
	}
	if got := s.takes(100 * time.Millisecond); got != 0 {
		t.Errorf("in the time of a small one: %d bytes", got)
	}
	for range lastAppends / slowShare {
		s.note(1<<20, time.Second)
	}
	if got := s.takes(1100 * time.Millisecond); got != 1<<20 {
		t.Errorf("when some took a second again: %d bytes", got)
	}
}

// TestSlowed: that commits wait is said when they have for long, and for as long as they do.
func TestSlowed(t *testing.T) {
	s := &Shipper{Interval: time.Second}
	a := &ahead{Shipper: s}
	began := time.Now()
	at := func(after time.Duration, held, said bool, total time.Duration) {
		t.Helper()
		a.note(began.Add(after), held)
		if p := s.Pace(); p.Since.IsZero() == said || said && !p.Since.Equal(began) || p.Slowed != total {
			t.Errorf("after %s: since %s, slowed for %s, want %v and %s", after, p.Since, p.Slowed, said, total)
		}
	}
	at(0, true, false, 0)
	at(slowedLong/2, true, false, slowedLong/2)
	at(slowedLong, true, true, slowedLong)
	at(slowedLong+calm, false, true, slowedLong)
	at(slowedLong+calm+1, false, false, slowedLong)
}
