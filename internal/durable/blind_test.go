package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/repeatable"
	"github.com/ramaria-db/ramaria/internal/server"
)

// TestDarkEvents: an event that cannot be read may give any right.
func TestDarkEvents(t *testing.T) {
	f := &fences{server: &server.Server{Flavour: server.MariaDB}}
	f.powers.Store(&repeatable.Powers{})
	for _, c := range []struct {
		kind binlog.EventType
		want string
	}{{binlog.TableMapEvent, dark}, {binlog.QueryCompressedEvent, dark}, {binlog.TransactionPayloadEvent, dark}, {binlog.QueryEvent, dark}, {binlog.RotateEvent, ""}} {
		e := &binlog.Event{Type: c.kind, Body: []byte{1}, Format: &binlog.Format{}}
		f.meter.mapped = &binlog.TableMap{Schema: "shop", Table: "t"} // the one before
		f.meter.take(e)
		if got := f.empowers(e); got != c.want {
			t.Errorf("%v: %q", c.kind, got)
		}
	}
}

// TestOpenBreach: a breach that goes on is one, mended by a base that was made meanwhile, and not any more when it is over.
func TestOpenBreach(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0).UTC() }
	b := Blind{Since: at(10), Why: []string{"a"}}
	m := &archive.Manifest{Breaches: []archive.Breach{{From: at(1), To: at(2), What: "before", Base: 1}}}
	m.Note(b.breach(at(11)))
	if !m.Opened() || !m.Unmended() {
		t.Fatalf("%+v", m.Breaches)
	}
	m.Breaches[1].Base = 2
	b.Why = append(b.Why, "b")
	m.Note(b.breach(at(20)))
	if want := (archive.Breach{From: at(10), To: at(20), What: "a session may have switched the log off: b, and 1 more", Base: 2, Open: true}); len(m.Breaches) != 2 || m.Unmended() {
		t.Fatalf("%+v", m.Breaches)
	} else if diff := cmp.Diff(want, m.Breaches[1]); diff != "" {
		t.Error(diff)
	}
	lost := m.Clone()
	lost.Lose(2, hiddenLost)
	if got := lost.Breaches[1]; got.Open || got.Base != 0 || !got.To.Equal(at(20)) || !strings.HasSuffix(got.What, " is lost") {
		t.Errorf("after a power cut: %+v", got)
	}
	m.Shut(at(30), 0)
	if got := m.Breaches[1]; got.Open || !m.Unmended() || !got.To.Equal(at(30)) || m.Breaches[0].Base != 1 {
		t.Errorf("when it is over: %+v", m.Breaches)
	}
}

// TestBlindIsOneBreach: the manifest is told of one that goes on, once for each reason, and of no more when its end is noted,
// whatever was not written before.
func TestBlindIsOneBreach(t *testing.T) {
	k := &Keeper{Archive: &Archive{Disk: archive.OSDisk{Dir: t.TempDir()}, Manifest: &archive.Manifest{}}, DueNow: make(chan struct{}, 1)}
	k.fences = &fences{path: filepath.Join(t.TempDir(), "fences.json"), log: slog.New(slog.DiscardHandler), alarm: make(chan struct{}, 1), found: k.dueNow}
	save := func(open, over, breached int) {
		t.Helper()
		if err := k.SaveBreaches(); err != nil {
			t.Fatal(err)
		}
		var got [2]int
		for _, b := range k.Archive.Manifest.Breaches {
			got[map[bool]int{true: 0, false: 1}[b.Open]]++
		}
		if got != [2]int{open, over} || k.breached != breached {
			t.Fatalf("%d breaches: %+v", k.breached, k.Archive.Manifest.Breaches)
		}
	}
	save(0, 0, 0)
	for n, why := range []string{"a", "b", "b"} {
		k.Blinded(why)
		save(1, 0, min(n+1, 2))
	}
	select {
	case <-k.DueNow:
	default:
		t.Error("nobody is told that the manifest is to be written")
	}
	was := k.Archive.Manifest
	save(1, 0, 2)
	if was != k.Archive.Manifest {
		t.Error("the manifest was written again at once")
	}
	k.Breach(time.Now(), time.Now(), "x = 0")
	save(1, 1, 3)

	// As when the log is begun again: with a reason that the manifest does not have yet.
	k.Blinded("c")
	if err := k.noteBlind(); err != nil {
		t.Fatal(err)
	}
	if got := k.Archive.Manifest.Breaches[0]; !strings.HasSuffix(got.What, ": c, and 2 more") {
		t.Errorf("%+v", got)
	}
	if err := k.Archive.save(func(m *archive.Manifest) { m.Shut(time.Now(), 1) }); err != nil {
		t.Fatal(err)
	}
	k.breached = 0
	save(0, 2, 0)
}

// TestBlindUnwritten: where it cannot be written down, nothing is left that has the next supervisor pass over it: that judges
// the log again.
func TestBlindUnwritten(t *testing.T) {
	f := &fences{path: filepath.Join(t.TempDir(), "fences.json"), log: slog.New(slog.DiscardHandler), alarm: make(chan struct{}, 1), found: func() {}}
	if err := os.Mkdir(f.path, 0o700); err != nil { // which no file takes the place of
		t.Fatal(err)
	}
	f.blinded("a")
	if _, err := os.Stat(f.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was there before still is: %v", err)
	}
}

// TestHiddenUntilBase: what the log may lack of a breach is lost with the data until a base has it, whether the breach goes on
// or has ended with a restart; it is said once, and a base mends it.
func TestHiddenUntilBase(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0).UTC() }
	const what = "a session may have switched the log off: a"
	for _, c := range []struct {
		name   string
		breach archive.Breach
		until  Recovered
		lost   bool
	}{
		{name: "goes on", breach: archive.Breach{Open: true}, lost: true},
		{name: "goes on, with a base made meanwhile", breach: archive.Breach{Open: true, Base: 1}, lost: true},
		{name: "ended by a restart", lost: true},
		{name: "ended by a restart, behind what is wanted", until: Recovered{More: true, Time: at(5)}},
		{name: "the base has it", breach: archive.Breach{Base: 2}, until: Recovered{Base: archive.Base{ID: 2}}},
		{name: "another base has it", breach: archive.Breach{Base: 2}, until: Recovered{Base: archive.Base{ID: 1}}, lost: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.breach
			b.From, b.To, b.What = at(10), at(20), what
			a := &Archive{Disk: archive.OSDisk{Dir: t.TempDir()}, Manifest: &archive.Manifest{Breaches: []archive.Breach{b}}}
			for range 2 { // another power cut may come before the base
				var said []string
				a.tellHidden(c.until, func(text string) { said = append(said, text) })
				if told := len(said) == 1 && strings.Contains(said[0], "commits may be missing: "+what+"; those "); told != c.lost || len(said) > 1 {
					t.Fatalf("it says %q", said)
				}
				if c.until.More {
					return
				}
				if err := a.loseHidden(c.until); err != nil {
					t.Fatal(err)
				}
				want := b
				if c.lost {
					want.What, want.Open, want.Base = what+hiddenLost, false, 0
				}
				if diff := cmp.Diff(want, a.Manifest.Breaches[0]); diff != "" {
					t.Fatal(diff)
				}
			}
		})
	}
}

// TestMayBlind: no list of those who may switch the log off is longer than people read.
func TestMayBlind(t *testing.T) {
	var list []string
	for n := range mostBlinding + 5 {
		list = append(list, fmt.Sprintf("account a%d", n))
	}
	if got := mayBlind(list[:2]); !slices.Equal(got, []string{"account a0 may switch the log off", "account a1 may switch the log off"}) {
		t.Errorf("got %q", got)
	}
	if got := mayBlind(list); len(got) != mostBlinding+1 || got[mostBlinding] != "5 more accounts, routines and events may switch the log off" {
		t.Errorf("got %q", got)
	}
}
