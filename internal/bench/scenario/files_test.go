package scenario

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/benchtest"
	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/labtest"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// filesLab is a lab for files; there is no server in it.
func filesLab(t *testing.T, places ...string) *lab.Lab {
	t.Helper()
	dir := benchtest.OnDisk(t)
	l := &lab.Lab{Server: &server.Server{Flavour: server.MariaDB}, Dir: dir, Home: filepath.Join(dir, "home"), Options: lab.Options{Places: places, Scale: 0.02}}
	p, err := l.HomeDirs()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(p.Shm) })
	return l
}

// TestFilesScenario makes few files on a real disk and in shared memory.
func TestFilesScenario(t *testing.T) {
	l := filesLab(t, lab.PlaceDisk, lab.PlaceRAMByHand, "emulated:100")
	s := FilesScenario(l)
	result, err := (&runner.Runner{Rounds: 3}).Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]runner.Row{}
	for _, row := range result.Rows {
		rows[row.Name] = row
		if strings.Contains(row.Name, "EMULATED") {
			if row.Rounds != 0 || !strings.Contains(row.Note, runner.ErrUnavailable.Error()) {
				t.Errorf("row %+v: held back?", row)
			}
			continue
		}
		if row.Rounds != 3 || !(row.Median > 0) || !(row.Beside[lab.FsyncMedian] > 0) || !strings.Contains(row.Settings, "; ") {
			t.Errorf("row %+v", row)
		}
		if want := map[bool]string{false: "disk", true: "disk, fsync each"}[strings.HasSuffix(row.Name, "fsync each")]; row.Base != want {
			t.Errorf("row %q is compared with %q", row.Name, row.Base)
		}
	}
	const size = 20 * fileBytes
	for _, name := range []string{"disk", "disk, fsync each"} {
		if got := rows[name].Beside[runner.Written]; got < size {
			t.Errorf("%s: %g bytes are said to be written, of %d", name, got, size)
		}
	}
	// Synced data is on the disk when the clock stops.
	if got := rows["disk, fsync each"].Beside[filesTimedMeasure]; got < size {
		t.Errorf("%g bytes are said to be synced, of %d", got, size)
	}
	if c := result.Conclusion; !strings.Contains(c, "/dev/shm is") || !strings.Contains(c, "page cache") {
		t.Errorf("conclusion %q", c)
	}
	p, err := l.HomeDirs()
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{filepath.Join(l.Dir, "files-*"), filepath.Join(p.Shm, "files-*")} {
		if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

// TestFilesConclusion: a disk is no RAM, held back or not, and the first place has figures.
func TestFilesConclusion(t *testing.T) {
	l := &lab.Lab{Server: &server.Server{Flavour: server.MariaDB}, Host: labtest.Host(t, ""), Dir: t.TempDir(), Options: lab.Options{
		Places: []string{"emulated:100", lab.PlaceDisk, lab.PlaceRamaria, lab.PlaceDisk, "emulated:100"}, Volumes: []volume.Kind{volume.Zram, volume.Tmpfs, volume.Zram},
	}}
	s := FilesScenario(l)
	var names []string
	for _, c := range s.Cases {
		names = append(names, c.Name)
	}
	const want = "disk|disk, fsync each|zram|zram, fsync each|tmpfs|tmpfs, fsync each|disk EMULATED 100 io/s|disk EMULATED 100 io/s, fsync each"
	if got := strings.Join(names, "|"); got != want {
		t.Fatalf("rows %s\nwant %s", got, want)
	}
	got := labtest.Concluded(s, map[string]float64{"disk": 1, "disk, fsync": 20, "disk EMULATED": 0.1, "zram": 0.5, "zram, fsync": 2, "tmpfs": 0.8, "tmpfs, fsync": 1},
		map[string]map[string]float64{"disk": {runner.Written: 100, filesTimedMeasure: 25}})
	const says = "with fsync tmpfs is 20.0 times as fast as the disk; without fsync zram is 2.00 times as fast; " +
		"the page cache took the files without fsync: the disk had 25 % of them when the clock stopped."
	if got != says {
		t.Errorf("%s\nwant\n%s", got, says)
	}
	if got := labtest.Concluded(s, map[string]float64{"tmpfs": 1}, nil); got != "" {
		t.Error(got)
	}
}

// TestSettingsAreNoPlace: places that differ from the disk in settings of servers alone are told as
// rows without figures where there is no such server, and are not left out or measured as the disk.
func TestSettingsAreNoPlace(t *testing.T) {
	l := filesLab(t, lab.PlaceRelaxed, lab.PlaceRAMByHand, lab.PlaceRamariaDisk)
	s := FilesScenario(l)
	if len(s.Cases) != 6 {
		t.Fatalf("%d rows", len(s.Cases))
	}
	result, err := (&runner.Runner{Warmup: -1, Rounds: 1}).Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range result.Rows {
		if shm := strings.HasPrefix(row.Name, "/dev/shm"); shm != (i < 2) || shm != (row.Rounds == 1) || shm == strings.Contains(row.Note, "--place disk is the same place") {
			t.Errorf("row %d, %s: %d rounds, %s", i, row.Name, row.Rounds, row.Note)
		}
	}
}

// TestWrongFileFailsTheRun: a file that is missing, too many, or not what was written.
func TestWrongFileFailsTheRun(t *testing.T) {
	for name, spoil := range map[string]func(d *filesDir) error{
		"missing":  func(d *filesDir) error { return os.Remove(d.path(3)) },
		"too many": func(d *filesDir) error { return os.WriteFile(d.path(d.count), nil, 0o600) },
		"a byte": func(d *filesDir) error {
			f, err := os.OpenFile(d.path(3), os.O_RDWR, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteAt([]byte{d.contents(3)[77] + 1}, 77)
			return err
		},
		"cut": func(d *filesDir) error { return os.Truncate(d.path(3), fileBytes-1) },
		// Files of the round before do not count for this one.
		"stale": func(d *filesDir) error {
			return os.WriteFile(d.path(3), randomBytes(d.rounds-2, d.count*fileStep+fileBytes)[3*fileStep:][:fileBytes], 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := filesLab(t, lab.PlaceDisk)
			d := &filesDir{lab: l, place: filesPlaces(l)[0], count: 5}
			c := d.row(false)
			check := c.Check
			c.Check = func(ctx context.Context) error {
				if d.rounds == 3 {
					if err := spoil(d); err != nil {
						t.Fatal(err)
					}
				}
				return check(ctx)
			}
			_, err := (&runner.Runner{Rounds: 5}).Run(t.Context(), runner.Scenario{Name: "files", Unit: runner.Seconds, Cases: []runner.Case{c}})
			if err == nil || !strings.Contains(err.Error(), `check answer of case "disk"`) || d.rounds != 3 {
				t.Errorf("after %d rounds: error %v, want one that names the row", d.rounds, err)
			}
			if left, err := filepath.Glob(filepath.Join(l.Dir, "files-*")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestInterruptedFiles: Ctrl-C in the middle of a round leaves nothing.
func TestInterruptedFiles(t *testing.T) {
	l := filesLab(t, lab.PlaceDisk)
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("user pressed Ctrl-C")
	r := runner.Runner{Rounds: 100, Progress: func(done, _ int, _ string) {
		if done == 5 {
			cancel(interrupted)
		}
	}}
	result, err := r.Run(ctx, FilesScenario(l))
	if !errors.Is(err, interrupted) || !result.Interrupted {
		t.Errorf("error %v, interrupted %v", err, result.Interrupted)
	}
	if left, err := filepath.Glob(filepath.Join(l.Dir, "files-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
