package progress

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestBarSettles: a bar shows nothing of work that is over at once, and no rate of the first moment.
func TestBarSettles(t *testing.T) {
	var talk strings.Builder
	b := Bar(&talk, true, "loading", 4<<20)
	if _, err := b.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if talk.String() != "" {
		t.Errorf("it shows %q at once", talk.String())
	}
	time.Sleep(settled + pause)
	if _, err := b.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if got := talk.String(); !strings.Contains(got, "loading") || regexp.MustCompile(`[GT]B/s`).MatchString(got) {
		t.Errorf("it shows %q", got)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// TestMeterLines: where there is no terminal, a long piece of work says now and then how far it is.
func TestMeterLines(t *testing.T) {
	var talk strings.Builder
	m := NewMeter(&talk, false, "restoring a\x1bb", 200)
	for second, done := range []int64{0, 20, 40, 60, 80, 100, 110, 120, 130, 140, 150, 160} {
		m.line(done, m.began.Add(time.Duration(second)*time.Second))
	}
	m.Set(170) // that is at once
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if want := "restoring a\\x1bb: 50 %, about 5s left\nrestoring a\\x1bb: 75 %, about 3s left\n"; talk.String() != want {
		t.Errorf("it says %q, want %q", talk.String(), want)
	}
	m = NewMeter(nil, false, "in silence", 200)
	m.line(100, m.began.Add(time.Minute))
}

// TestBarIsPlain: what a bar is of may be a name that somebody has chosen.
func TestBarIsPlain(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var talk strings.Builder
		b := Bar(&talk, terminal, "loading a\x1b]0;x\x07.sql", 4<<20)
		if terminal {
			time.Sleep(settled + pause)
		}
		if _, err := b.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		if got := talk.String(); !strings.Contains(got, `loading a\x1b]0;x\x07.sql`) || strings.ContainsAny(got, "\x1b\x07") {
			t.Errorf("on a terminal %t: it shows %q", terminal, got)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
