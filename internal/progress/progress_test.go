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
