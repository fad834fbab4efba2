package durable

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
)

const mb = 1 << 20

var now = time.Date(2026, 5, 17, 12, 0, 0, 0, time.UTC)

// manifest has bases that are so old, in order, all of epoch 1 unless an epoch begins with them.
func manifest(begins []uint32, ages ...time.Duration) *archive.Manifest {
	m := &archive.Manifest{}
	for i, age := range ages {
		id := uint32(i + 1)
		if i == 0 || slices.Contains(begins, id) {
			m.Begin(archive.Epoch{Base: id}, archive.Position{File: 1, Offset: 100}, 100)
		}
		m.Add(archive.Base{ID: id, Epoch: m.Last().Number, Time: now.Add(-age), Size: 100 * mb, Stored: 30 * mb, Packs: []uint32{id}})
	}
	return m
}

func ids(bases []archive.Base) string {
	var out []string
	for _, b := range bases {
		out = append(out, fmt.Sprint(b.ID))
	}
	return strings.Join(out, " ")
}

func TestKeep(t *testing.T) {
	const day = 24 * time.Hour
	minutes := func(n ...int) (ages []time.Duration) {
		for _, m := range n {
			ages = append(ages, time.Duration(m)*time.Minute)
		}
		return ages
	}
	for _, c := range []struct {
		name   string
		policy Policy
		m      *archive.Manifest
		want   string
	}{
		{"one", Policy{}, manifest(nil, 0), "1"},
		{"all of the last hour", Policy{}, manifest(nil, minutes(59, 40, 20, 5, 1)...), "1 2 3 4 5"},
		{"one of an hour before that", Policy{}, manifest(nil, minutes(170, 160, 150, 130, 125, 61, 59)...), "1 6 7"},
		{"one of a day before that", Policy{}, manifest(nil, 3*day+2*time.Hour, 3*day+time.Hour, 3*day, 2*day, time.Minute), "1 4 5"},
		{"the history begins with one that is older", Policy{History: 2 * day}, manifest(nil, 9*day, 5*day, 3*day, day, time.Minute), "3 4 5"},
		{"the newest, however old", Policy{History: time.Hour}, manifest(nil, 9*day, 8*day), "2"},
		{"a short history", Policy{History: time.Minute}, manifest(nil, minutes(30, 20, 10, 0)...), "3 4"},
		{"those that an epoch begins with", Policy{}, manifest([]uint32{3}, minutes(170, 160, 150, 145, 130, 0)...), "1 3 6"},
		{"what recovery needs", Policy{Short: true}, manifest(nil, minutes(30, 20, 10, 0)...), "4"},
		{"what recovery needs, behind the beginning of an epoch", Policy{Short: true}, manifest([]uint32{4}, minutes(30, 20, 10, 0)...), "4"},
		{"those with what the log may not repeat", Policy{}, fenced(manifest(nil, minutes(170, 160, 150, 145, 130, 0)...), 4), "1 4 6"},
		{"those after a breach", Policy{}, breached(manifest(nil, minutes(170, 160, 150, 145, 130, 0)...), 4), "1 4 6"},
		{"none", Policy{}, &archive.Manifest{}, ""},
	} {
		if got := ids(c.policy.Keep(c.m, now)); got != c.want {
			t.Errorf("%s: kept %q, want %q", c.name, got, c.want)
		}
	}
}

// fenced is a manifest whose base id has a statement that the log may not repeat.
func fenced(m *archive.Manifest, id uint32) *archive.Manifest {
	for i := range m.Bases {
		if m.Bases[i].ID == id {
			m.Bases[i].Fences = 1
		}
	}
	return m
}

// breached is a manifest with a breach after which base id was made, and one that is not mended yet.
func breached(m *archive.Manifest, id uint32) *archive.Manifest {
	m.Breaches = []archive.Breach{{Base: id}, {}}
	return m
}

// TestKeepLeads: whatever is thinned out, recovery begins with the same base, and none is kept of which the
// log does not lead on.
func TestKeepLeads(t *testing.T) {
	for n := 1; n < 60; n++ {
		var ages []time.Duration
		for i := n; i > 0; i-- {
			ages = append(ages, time.Duration(i*i)*17*time.Minute)
		}
		m := manifest([]uint32{uint32(n/3 + 1), uint32(n/2 + 1)}, ages...)
		want, _, err := m.Newest()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []Policy{{}, {History: time.Hour}, {Short: true}} {
			kept := m.Clone()
			kept.Bases = p.Keep(m, now)
			got, _, err := kept.Newest()
			if err != nil || got.ID != want.ID {
				t.Errorf("%d bases, %+v: recovery begins with base %d, %v; before with %d", n, p, got.ID, err, want.ID)
			}
		}
	}
}

func TestDueAndRecovery(t *testing.T) {
	base := archive.Base{Size: 300 * mb}
	for _, c := range []struct {
		name   string
		policy Policy
		m      archive.Manifest
		base   archive.Base
		since  time.Duration
		due    bool
		takes  time.Duration

		meanwhile time.Duration
	}{
		{"nothing since", Policy{}, archive.Manifest{}, base, 0, false, overhead + time.Second, 0},
		{"much time", Policy{}, archive.Manifest{}, base, 10 * time.Second, false, overhead + 11*time.Second, 0},
		{"most of the time is gone", Policy{}, archive.Manifest{}, base, 20 * time.Second, true, overhead + 21*time.Second, 0},
		{"a shorter time", Policy{RecoverWithin: 10 * time.Second}, archive.Manifest{}, base, 6 * time.Second, true, overhead + 7*time.Second, 0},
		{"what was measured", Policy{}, archive.Manifest{ReplayScale: 0.1, RestoreRate: 30 * mb}, base, 20 * time.Second, false, overhead + 12*time.Second, 0},
		{"a slower machine", Policy{}, archive.Manifest{ReplayScale: 3}, base, 7 * time.Second, true, overhead + 22*time.Second, 0},
		{"too little work to gain anything", Policy{RecoverWithin: 2 * time.Second}, archive.Manifest{}, base, 1900 * time.Millisecond, false, overhead + 2900*time.Millisecond, 0},
		{"data that alone takes too long", Policy{RecoverWithin: 2 * time.Second}, archive.Manifest{}, archive.Base{Size: 3000 * mb}, 2100 * time.Millisecond, true, overhead + 12100*time.Millisecond, 0},
		{"a base that takes long", Policy{RecoverWithin: 10 * time.Second}, archive.Manifest{}, base, 4500 * time.Millisecond, true, overhead + 5500*time.Millisecond, 2300 * time.Millisecond},
		{"a base that takes less long", Policy{RecoverWithin: 10 * time.Second}, archive.Manifest{}, base, 4500 * time.Millisecond, false, overhead + 5500*time.Millisecond, 2200 * time.Millisecond},
		{"a base that takes too long", Policy{RecoverWithin: 10 * time.Second}, archive.Manifest{}, base, 4500 * time.Millisecond, false, overhead + 5500*time.Millisecond, 3100 * time.Millisecond},
	} {
		if got := c.policy.Due(&c.m, c.base, c.since, c.meanwhile); got != c.due {
			t.Errorf("%s: due is %v", c.name, got)
		}
		if got := c.policy.Recovery(&c.m, c.base, c.since); (got - c.takes).Abs() > time.Millisecond {
			t.Errorf("%s: a recovery takes %s, want %s", c.name, got, c.takes)
		}
	}
}

// TestDueInTime: a base that is begun when it is due, and made at a third of the rate at which the log is
// replayed, is there in time.
func TestDueInTime(t *testing.T) {
	p := Policy{RecoverWithin: 20 * time.Second}
	b := archive.Base{Size: 300 * mb}
	since := leastWork
	for !p.Due(&archive.Manifest{}, b, since, 0) {
		since += 100 * time.Millisecond
	}
	if took := p.Recovery(&archive.Manifest{}, b, since); took > p.RecoverWithin || took < p.RecoverWithin/2 {
		t.Errorf("it is due when a recovery takes %s", took)
	}
}

func TestLow(t *testing.T) {
	const gb = 1 << 30
	for _, c := range []struct {
		name       string
		room, size int64
		was, want  bool
	}{
		{"plenty", 50 * gb, 100 * gb, false, false},
		{"below a twentieth", 4 * gb, 100 * gb, false, true},
		{"a twentieth", 5 * gb, 100 * gb, false, false},
		{"above it, after it was low", 6 * gb, 100 * gb, true, true},
		{"far enough above it", 7 * gb, 100 * gb, true, false},
		{"a large one, far below a twentieth", 11 * gb, 1000 * gb, false, false},
		{"below 10 GB of a large one", 9 * gb, 1000 * gb, false, true},
		{"below 1 GB", gb - 1, 10 * gb, false, true},
		{"a small one, a quarter of it free", 130 * mb, 512 * mb, false, false},
		{"a small one", 127 * mb, 512 * mb, false, true},
		{"full", 0, 10 * gb, true, true},
	} {
		if got := Low(c.room, c.size, c.was); got != c.want {
			t.Errorf("%s: low is %v", c.name, got)
		}
	}
}

func TestRoomForBase(t *testing.T) {
	const gb = 1 << 30
	whole := archive.Base{ID: 1, Size: 1000 * mb, Stored: 300 * mb, Packs: []uint32{1}}
	rest := archive.Base{ID: 2, Size: 2000 * mb, Stored: 5 * mb, Packs: []uint32{1, 2}}
	for _, c := range []struct {
		name  string
		bases []archive.Base
		room  int64
		want  bool
	}{
		{"the first", nil, gb, true},
		{"as large as the last whole one, and some log", []archive.Base{whole}, 600 * mb, true},
		{"hardly any log", []archive.Base{whole}, 500 * mb, false},
		{"twice as much data now", []archive.Base{whole, rest}, 800 * mb, false},
		{"twice as much data now, and room", []archive.Base{whole, rest}, 900 * mb, true},
		{"no whole one is left", []archive.Base{rest}, 2200 * mb, false},
	} {
		if got := RoomForBase(&archive.Manifest{Bases: c.bases}, c.room, 100*gb); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
