package durable

import (
	"fmt"
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
	lost.Shut(time.Time{}, 0, hiddenLost)
	if got := lost.Breaches[1]; got.Open || got.Base != 0 || !got.To.Equal(at(20)) || !strings.HasSuffix(got.What, " is lost") {
		t.Errorf("after a power cut: %+v", got)
	}
	m.Shut(at(30), 0, "")
	if got := m.Breaches[1]; got.Open || !m.Unmended() || !got.To.Equal(at(30)) || m.Breaches[0].Base != 1 {
		t.Errorf("when it is over: %+v", m.Breaches)
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
