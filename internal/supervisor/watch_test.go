package supervisor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// kindOnly is a volume of which nothing but the kind is asked.
type kindOnly struct{ volume.Volume }

func (kindOnly) Kind() volume.Kind { return volume.Shm }
func (kindOnly) Shares() bool      { return false }
func (kindOnly) Dir() string       { return "/nonexistent" }

func TestRoomWarnings(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		name       string
		used, free int64
		want       []string // in the one warning; nil for none
	}{
		{"empty", 0, 1000 * mb, nil},
		{"nearly 90 %", 899 * mb, 101 * mb, nil},
		{"90 %", 900 * mb, 100 * mb, []string{"volume shm is 90 % full", "900 MB used", "100 MB free", "bound by limit"}},
		{"hardly room", 984 * mb, 16 * mb, []string{"98 % full"}},
		{"full", 990 * mb, 10 * mb, []string{"volume shm is full", "10 MB free", "\nhint: "}},
		{"small and empty", 1 * mb, 15 * mb, []string{"is full"}},
		{"nothing at all", 0, 0, []string{"is full"}},
	} {
		got := RoomWarnings(kindOnly{}, volume.Usage{Used: c.used, Free: c.free, Bound: volume.ByLimit})
		if len(got) != min(1, len(c.want)) {
			t.Errorf("%s: got %q", c.name, got)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(got[0], w) {
				t.Errorf("%s: no %q in %q", c.name, w, got[0])
			}
		}
	}
}

// filling is a volume of 1000 MB, in use as far as the test says.
type filling struct {
	kindOnly
	used int64
	dir  string // "" for none
}

func (f *filling) Dir() string { return cmp.Or(f.dir, f.kindOnly.Dir()) }

func (f *filling) Usage() (volume.Usage, error) {
	const mb = 1 << 20
	return volume.Usage{Used: f.used * mb, Free: (1000 - f.used) * mb}, nil
}

// TestRoomIsSaidInSteps: numbers that change with every write are neither logged
// nor written to state.json each time.
func TestRoomIsSaidInSteps(t *testing.T) {
	var log bytes.Buffer
	v := &filling{}
	i := &instance.Instance{Record: instance.Record{Dir: t.TempDir()}}
	lock, err := sys.TryLock(i.LockPath(), sys.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	w := &watch{Supervisor: &Supervisor{inst: i, volume: v, meter: volume.NewMeter(v), lock: lock, log: slog.New(slog.NewTextHandler(&log, nil))}}
	for _, step := range []struct {
		used    int64
		written bool
		lines   int // in the log so far
	}{{500, false, 0}, {900, true, 1}, {901, false, 1}, {949, false, 1}, {952, true, 2}, {951, false, 2}, {990, true, 3}, {991, false, 3}, {100, true, 3}, {101, false, 3}} {
		path := filepath.Join(i.Dir, "state.json")
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		v.used = step.used
		w.note("room", w.lookAtRoom(time.Now()))
		w.tell()
		_, err := os.Stat(path)
		if lines := strings.Count(log.String(), "\n"); (err == nil) != step.written || lines != step.lines {
			t.Errorf("%d MB used: written %v, want %v; %d lines in the log, want %d", step.used, err == nil, step.written, lines, step.lines)
		}
	}
	w.refused = true
	w.tell()
	if len(w.state.Warnings) != 1 || w.state.Warnings[0] != accountWarning {
		t.Errorf("without an account: %q", w.state.Warnings)
	}
	// A new instance of the same name is left alone.
	if err := os.RemoveAll(i.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(i.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w.refused, w.room = false, ""
	w.tell()
	if _, err := os.Stat(filepath.Join(i.Dir, "state.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the state was written for another instance: %v", err)
	}
}

// TestNoteOnce: an error that stays is logged once, and again when it comes back.
func TestNoteOnce(t *testing.T) {
	var log bytes.Buffer
	w := &watch{Supervisor: &Supervisor{log: slog.New(slog.NewTextHandler(&log, nil))}}
	for _, err := range []error{errors.New("a"), errors.New("a"), errors.New("b"), nil, errors.New("b")} {
		w.note("x", err)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 3 {
		t.Errorf("%d lines, want 3:\n%s", lines, log.String())
	}
}

// TestNoteBrokenOff: what a look could not ask since the instance ends is not logged.
func TestNoteBrokenOff(t *testing.T) {
	var log bytes.Buffer
	w := &watch{Supervisor: &Supervisor{log: slog.New(slog.NewTextHandler(&log, nil))}}
	w.note("x", fmt.Errorf("query: %w", context.Canceled))
	if log.Len() != 0 {
		t.Errorf("it was logged: %s", log.String())
	}
	w.note("x", fmt.Errorf("query: %w", context.DeadlineExceeded))
	if log.Len() == 0 {
		t.Error("a server that does not answer in time was not logged")
	}
}

// TestPurgeIgnoresOthers: names that the server did not choose reach no statement;
// without a connection one would panic.
func TestPurgeIgnoresOthers(t *testing.T) {
	i := &instance.Instance{Record: instance.Record{Dir: t.TempDir()}}
	if err := os.MkdirAll(i.DataDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ramaria-bin.000001", "ramaria-bin.000002", "ramaria-bin.000003'; DROP DATABASE x; -- ", "ramaria-bin.000004.old", "ramaria-bin.0x", "ramaria-bin.index", "ramaria-bin.000002\n"} {
		if err := os.WriteFile(filepath.Join(i.DataDir(), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := &watch{Supervisor: &Supervisor{inst: i}, purged: "ramaria-bin.000009"}
	if err := w.purge(t.Context()); err != nil || w.purged != "" {
		t.Errorf("%v, purged %q", err, w.purged)
	}
}

// TestPauseAfter: looking costs little where it is cheap, and goes on where it takes long.
func TestPauseAfter(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{
		0:                      time.Second,
		2 * time.Millisecond:   time.Second,
		4 * time.Millisecond:   2 * time.Second,
		100 * time.Millisecond: 5 * time.Second,
		2 * time.Second:        20 * time.Second,
	} {
		if got := pauseAfter(took); got != want {
			t.Errorf("after %s: %s, want %s", took, got, want)
		}
	}
}

// TestOneForecast: all supervisors of a volume foretell the same of it, also one that begins when the
// others have watched it for long.
func TestOneForecast(t *testing.T) {
	v := &filling{dir: t.TempDir()}
	began := time.Now().Add(-time.Hour)
	watcher := func() *watch {
		i := &instance.Instance{Record: instance.Record{Dir: t.TempDir()}}
		lock, err := sys.TryLock(i.LockPath(), sys.Exclusive)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := lock.Unlock(); err != nil {
				t.Error(err)
			}
		})
		return &watch{Supervisor: &Supervisor{inst: i, volume: v, meter: volume.NewMeter(v), lock: lock, log: slog.New(slog.DiscardHandler)}}
	}
	forecast := func(w *watch, at time.Duration) int64 {
		t.Helper()
		if err := w.lookAtRoom(began.Add(at)); err != nil {
			t.Fatal(err)
		}
		return w.Supervisor.room.Load().GrowthBytesPerHour
	}
	old := watcher()
	for at := time.Duration(0); at < 50*time.Minute; at += roomInterval {
		v.used = int64(min(at, 45*time.Minute).Minutes() * 10)
		forecast(old, at)
	}
	late := watcher()
	for at := 50 * time.Minute; at < 51*time.Minute; at += roomInterval {
		a, b := forecast(old, at), forecast(late, at+time.Second)
		if a != b || a == 0 {
			t.Errorf("after %s one foretells %d bytes an hour, the other %d", at, a, b)
		}
	}
}
