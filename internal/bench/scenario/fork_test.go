package scenario

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/labtest"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// TestForkVolumes: what is branched, copied and run is on the volume that was named, and the
// rows say how much data it is.
func TestForkVolumes(t *testing.T) {
	for _, kind := range []volume.Kind{volume.Tmpfs, volume.Disk} {
		l := labtest.Bare(t, lab.Options{})
		l.Options.Volumes = []volume.Kind{kind}
		s := ForkScenario(l)
		want := []string{RowStock, RowBare(kind), RowUp(kind), RowRun, "ramaria branch, 5302 rows", "ramaria branch, 25.0 MB", "ramaria branch, 250 MB", "ramaria branch, 2.05 GB"}
		var have []string
		for _, c := range s.Cases {
			have = append(have, c.Name)
			if c.Name != RowStock && !strings.HasSuffix(c.Settings, string(kind)) {
				t.Errorf("%s: %s is on %q", kind, c.Name, c.Settings)
			}
		}
		if !slices.Equal(have, want) {
			t.Errorf("%s: rows %q, want %q", kind, have, want)
		}
		if s.Shm != 0 {
			t.Errorf("%s: it takes %d bytes of /dev/shm", kind, s.Shm)
		}
		said := labtest.Concluded(s, map[string]float64{RowStock: 1, RowBare(kind): 0.05, RowUp(kind): 0.1}, nil)
		if !strings.Contains(said, "10.0 times faster") {
			t.Errorf("%s: the conclusion is %q", kind, said)
		}
	}
}

// TestRoomToCopy: a branch that is a copy of more than fits is not available, and says why.
func TestRoomToCopy(t *testing.T) {
	l := labtest.Bare(t, lab.Options{})
	l.Home = filepath.Join(l.Dir, "home")
	if err := roomToCopy(t.Context(), l, volume.Shm, 1); err != nil {
		t.Error(err)
	}
	if err := roomToCopy(t.Context(), l, volume.Shm, 1<<60); !errors.Is(err, runner.ErrUnavailable) || !strings.Contains(err.Error(), "volume shm, which copies, has room for") {
		t.Errorf("error %v", err)
	}
	p := fittingParent(l, sysbenchParent(l, "x", lab.SysbenchData{Rows: 1 << 40}, volume.Shm), lab.SysbenchData{Rows: 1 << 40})
	if err := p.prepare(t.Context()); !errors.Is(err, runner.ErrUnavailable) || !strings.Contains(err.Error(), "has room for") {
		t.Errorf("error %v", err)
	}
	if dirs, err := l.HomeDirs(); err != nil || os.RemoveAll(dirs.Shm) != nil {
		t.Errorf("%v", err)
	}
}

// TestLoadVolume: a small dump does not ask for a volume of a size that machines may not have.
func TestLoadVolume(t *testing.T) {
	for _, tc := range []struct {
		scenario func(*lab.Lab) runner.Scenario
		want     string
	}{{LoadScenario, "--volume shm --home"}, {LargeLoadScenario, "--volume shm:8G --home"}} {
		l := labtest.Bare(t, lab.Options{})
		l.Home, l.Exe = filepath.Join(l.Dir, "home"), filepath.Join(l.Dir, "ramaria")
		if err := os.WriteFile(l.Exe, []byte("#!/bin/sh\necho \"$*\" >&2\nexit 1\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		s := tc.scenario(l)
		for _, c := range s.Cases {
			if c.Name != RowMyloader { // which brings the instance up before anything else
				continue
			}
			if err := c.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: it was called with %v, want %q", s.Name, err, tc.want)
			}
		}
	}
}
