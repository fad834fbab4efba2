package durable_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/durable"
)

// at is a time of the day on which manifests of these tests were written.
func at(clock string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", "2026-11-25 "+clock)
	if err != nil {
		panic(err)
	}
	return t
}

// lived is an archive of two histories: epochs 1 and 2, 2 of which went on after a power failure, and, after
// an up --fresh, 3 and 4.
func lived() *archive.Manifest {
	end := func(file uint32) *archive.Position { return &archive.Position{File: file, Offset: 1000} }
	return &archive.Manifest{
		Epochs: []archive.Epoch{
			{Number: 1, Began: at("08:00"), Base: 1, End: end(3), Total: 3000},
			{Number: 2, Began: at("10:00"), End: end(2), Total: 2000},
			{Number: 3, Began: at("12:00"), Base: 4, End: end(5), Total: 5000},
			{Number: 4, Began: at("14:00")},
		},
		Bases: []archive.Base{
			{ID: 1, Epoch: 1, Time: at("08:00"), Size: 100},
			{ID: 2, Epoch: 1, At: archive.Position{File: 2, Offset: 500}, Time: at("09:00"), Size: 200, Total: 1500},
			{ID: 3, Epoch: 2, At: archive.Position{File: 1, Offset: 700}, Time: at("11:00"), Size: 300, Total: 700},
			{ID: 4, Epoch: 3, Time: at("12:00"), Size: 400},
			{ID: 5, Epoch: 3, At: archive.Position{File: 2, Offset: 100}, Time: at("13:00"), Size: 500, Total: 1100},
		},
	}
}

// TestPlans: the base that is nearest before a moment, and the log of the history that was alive then.
func TestPlans(t *testing.T) {
	position := func(text string) (u durable.Until) {
		var err error
		if u.Epoch, u.At, err = durable.ParsePosition(text); err != nil {
			t.Fatal(err)
		}
		return u
	}
	clock := func(text string) durable.Until { return durable.Until{Time: at(text)} }
	pruned := func(m *archive.Manifest) *archive.Manifest {
		m.Bases = m.Bases[2:]
		m.Epochs = m.Epochs[1:]
		return m
	}
	back := func(m *archive.Manifest) *archive.Manifest { // the clock was put back by two hours after base 2
		for i := range m.Bases[2:] {
			m.Bases[i+2].Time = m.Bases[i+2].Time.Add(-2 * time.Hour)
		}
		return m
	}
	for _, c := range []struct {
		name  string
		m     *archive.Manifest
		until durable.Until
		// want are the plans, base:epochs, or the error.
		want string
	}{
		{"the end", lived(), durable.Until{}, "5:[3 4] 4:[3 4]"},
		{"the end of one that lost a base", &archive.Manifest{Epochs: lived().Epochs, Bases: lived().Bases[:3]}, durable.Until{}, "the archive is damaged"},
		{"nothing", &archive.Manifest{}, durable.Until{}, "the archive is damaged"},
		{"a time in the second history", lived(), clock("13:30"), "5:[3 4] 4:[3 4]"},
		{"behind its last transaction", lived(), clock("23:00"), "5:[3 4] 4:[3 4]"},
		{"just when it began", lived(), clock("12:00"), "4:[3 4]"},
		{"a minute before", lived(), clock("11:59"), "3:[2] 2:[1 2] 1:[1 2]"},
		{"after the power failure, before its first base", lived(), clock("10:30"), "2:[1 2] 1:[1 2]"},
		{"the time of a base", lived(), clock("09:00"), "2:[1 2] 1:[1 2]"},
		{"before it", lived(), clock("08:59"), "1:[1 2]"},
		{"before all", lived(), clock("07:59"), "it begins at"},
		{"before what is left", pruned(lived()), clock("10:30"), "it begins at"},
		{"a clock that went back", back(lived()), clock("09:30"), "3:[2] 2:[1 2] 1:[1 2]"},
		{"a position in the first epoch", lived(), position("1:3:1"), "2:[1] 1:[1]"},
		{"that of a base", lived(), position("1:2:500"), "2:[1] 1:[1]"},
		{"just before it", lived(), position("1:2:499"), "1:[1]"},
		{"the beginning", lived(), position("1:0:0"), "1:[1]"},
		{"in the second epoch", lived(), position("2:1:699"), "2:[1 2] 1:[1 2]"},
		{"in the second history", lived(), position("4:1:4"), "5:[3 4] 4:[3 4]"},
		{"at its beginning", lived(), position("3:0:0"), "4:[3]"},
		{"in no epoch", lived(), position("5:1:4"), "it has no epoch 5, but 1, 2, 3, 4"},
		{"that was pruned", pruned(lived()), position("2:1:699"), "position 2:1:700"},
	} {
		t.Run(c.name, func(t *testing.T) {
			plans, err := durable.Plans(c.m, c.until)
			if err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %s", err, c.want)
				}
				return
			}
			var got []string
			for _, p := range plans {
				var list []uint32
				for _, part := range p.Parts {
					list = append(list, part.Epoch.Number)
					if part.Epoch.Number == p.Base.Epoch && part.From != p.Base.At {
						t.Errorf("base %d is at %s, and its log from %s on", p.Base.ID, p.Base.At, part.From)
					}
				}
				got = append(got, fmt.Sprint(p.Base.ID, ":", list))
			}
			if text := strings.ReplaceAll(strings.Join(got, " "), " :", ":"); text != c.want {
				t.Errorf("got %s, want %s", text, c.want)
			}
		})
	}
	var early *durable.EarlyError
	if _, err := durable.Plans(pruned(lived()), clock("10:30")); !errors.As(err, &early) || !early.Earliest.Equal(at("11:00")) {
		t.Errorf("got %v", err)
	}
}

// TestRoom: what a restore takes is no more than the base and the log up to the next base.
func TestRoom(t *testing.T) {
	a := &durable.Archive{Disk: archive.OSDisk{Dir: t.TempDir()}, Manifest: lived()}
	for _, c := range []struct {
		until durable.Until
		want  int64
	}{
		{durable.Until{Time: at("08:30")}, 100 + 1500},
		{durable.Until{Time: at("10:30")}, 200 + 1500 + 700},
		{durable.Until{Time: at("12:30")}, 400 + 1100},
		{durable.Until{Epoch: 2, At: archive.Position{File: 1, Offset: 600}}, 200 + 1500 + 700},
		{durable.Until{}, 500 + 3900},
	} {
		plans, err := durable.Plans(a.Manifest, c.until)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := a.Room(plans[0]); got != c.want || err != nil {
			t.Errorf("%+v: got %d, %v, want %d", c.until, got, err, c.want)
		}
	}
}

// TestParseTime: times as people write them, at ten to two in the afternoon in a zone of its own.
func TestParseTime(t *testing.T) {
	zone := time.FixedZone("", 2*60*60)
	now := time.Date(2026, 11, 25, 13, 50, 0, 500, zone)
	second := func(t time.Time) time.Time { return t.Add(time.Second - 1) }
	today := func(h, m, s int) time.Time { return time.Date(2026, 11, 25, h, m, s, 0, zone) }
	for text, want := range map[string]time.Time{
		"2026-11-25T14:03:00+01:00":    second(time.Date(2026, 11, 25, 13, 3, 0, 0, time.UTC)),
		"2026-11-25t13:03:00.25z":      time.Date(2026, 11, 25, 13, 3, 0, 250e6, time.UTC),
		"2026-11-25 12:03:07":          second(today(12, 3, 7)),
		"2026-11-25T12:03:07.123456":   today(12, 3, 7).Add(123456 * time.Microsecond),
		"2026-11-25 12:03":             second(today(12, 3, 0)),
		"12:03":                        second(today(12, 3, 0)),
		"13:50":                        second(today(13, 50, 0)),
		"13:51":                        second(today(13, 51, 0).AddDate(0, 0, -1)),
		"23:59:59":                     second(today(23, 59, 59).AddDate(0, 0, -1)),
		"12:03:07.5":                   today(12, 3, 7).Add(500 * time.Millisecond),
		"now":                          now,
		"-10m":                         now.Add(-10 * time.Minute),
		"-1h30m":                       now.Add(-90 * time.Minute),
		"-2d":                          now.Add(-48 * time.Hour),
		"10m ago":                      now.Add(-10 * time.Minute),
		"10 min ago":                   now.Add(-10 * time.Minute),
		"90 seconds ago":               now.Add(-90 * time.Second),
		"1.5 hours ago":                now.Add(-90 * time.Minute),
		"3 days ago":                   now.Add(-72 * time.Hour),
		" 1h30m ago ":                  now.Add(-90 * time.Minute),
		"":                             {},
		"yesterday":                    {},
		"2026-11-25":                   {},
		"25.11.2026 14:03":             {},
		"14:63":                        {},
		"--10m":                        {},
		"-10":                          {},
		"10 fortnights ago":            {},
		"10m":                          {},
		"2026-11-25T14:03:00+01:00 xx": {},
	} {
		got, err := durable.ParseTime(text, now)
		if (err != nil) != want.IsZero() || !want.IsZero() && !got.Equal(want) {
			t.Errorf("%q: got %s, %v, want %s", text, got, err, want)
		}
	}
}

// TestPosition: a position reads as it is written.
func TestPosition(t *testing.T) {
	if epoch, p, err := durable.ParsePosition("2:13:4096"); epoch != 2 || p != (archive.Position{File: 13, Offset: 4096}) || err != nil || durable.FormatPosition(epoch, p) != "2:13:4096" {
		t.Errorf("got %d, %s, %v", epoch, p, err)
	}
	for _, text := range []string{"", "1", "1:2", "1:2:3:4", "0:1:4", "1:x:4", "1:2:-4", "1:2:9223372036854775808", "1:4294967296:4"} {
		if _, _, err := durable.ParsePosition(text); err == nil {
			t.Errorf("%q is a position", text)
		}
	}
}
