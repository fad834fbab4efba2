package scenario

import (
	"math"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/labtest"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/engines"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/sort"
)

// TestUnknownDeviceTellsNothing: on a disk whose device is not known, as below an overlay, the bench
// cannot measure the writes, and concludes nothing from them.
func TestUnknownDeviceTellsNothing(t *testing.T) {
	l := filesLab(t, lab.PlaceDisk, lab.PlaceRAMByHand)
	l.Host = labtest.Host(t, "20 1 0:30 / / rw - overlay overlay rw\n")
	r, err := (&runner.Runner{Warmup: -1, Rounds: 1}).Run(t.Context(), FilesScenario(l))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		bytes, told := row.Beside[runner.Written]
		_, within := row.Beside[filesTimedMeasure]
		if shm := strings.HasPrefix(row.Name, "/dev/shm"); row.Rounds != 1 || told != shm || within != shm || bytes != 0 {
			t.Errorf("row %+v", row)
		}
	}
	if strings.Contains(r.Conclusion, "page cache") || r.Conclusion == "" {
		t.Errorf("conclusion %q", r.Conclusion)
	}

	s := sort.Scenario(labtest.Bare(t, lab.Options{}))
	for name, ram := range map[string]float64{"gain": 4, "no gain": 1} {
		got := labtest.Concluded(s, map[string]float64{"ORDER BY": ram, "ORDER BY, tmpdir on disk": 1}, nil)
		// What is said of a wheatfs compares rows with those of the page cache, and rests on no device.
		got, _, _ = strings.Cut(got, " There a wheatfs ")
		if got == "" || strings.Contains(got, "device") || strings.Contains(got, "cache") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestNoiseIsNoGain: what is better by the medians, and not in every round, is concluded nowhere.
func TestNoiseIsNoGain(t *testing.T) {
	const noise = "nothing that stands out from the noise"
	l := labtest.Bare(t, lab.Options{})
	for name, tc := range map[string]struct {
		s              runner.Scenario
		medians        map[string]float64
		beside         map[string]map[string]float64
		clearly, noisy string
	}{
		"sort": {
			sort.Scenario(l), map[string]float64{"ORDER BY": 130, "ORDER BY, tmpdir on disk": 100}, map[string]map[string]float64{"ORDER BY, tmpdir on disk": {runner.Written: 1e12}},
			": the device holds it back.", noise + ", though the device is written to.",
		},
		"files":   {FilesScenario(l), map[string]float64{"disk": 13, "/dev/shm": 10, "disk, fsync": 13, "/dev/shm, fsync": 10}, nil, "is 1.3 times as fast as the disk; ", "gains " + noise},
		"engines": {engines.Scenario(l), map[string]float64{"having: ": 10, "having: MEMORY": 13}, nil, "slower: 1.3 times in having", "the same within noise: having"},
	} {
		r := labtest.Measured(tc.s, labtest.Median(tc.medians, tc.beside))
		if got := tc.s.Conclusion(&r); !strings.Contains(got, tc.clearly) {
			t.Errorf("%s: %s", name, got)
		}
		labtest.Spread(&r, 1.2)
		if got := tc.s.Conclusion(&r); !strings.Contains(got, tc.noisy) || strings.Contains(got, tc.clearly) {
			t.Errorf("%s, noisy: %s", name, got)
		}
	}
}

// TestNeverANegativeCost: medians of what costs nothing may come out the other way round.
func TestNeverANegativeCost(t *testing.T) {
	r := &runner.Result{}
	for name, v := range map[string]float64{RowBranchLarge: 0.1, RowSnapshotLarge: 0.05, RowStart: 0.06, RowUpLarge: 1, RowUpSmall: 1} {
		r.Rows = append(r.Rows, runner.Row{Name: name, Stats: runner.Stats{Median: v}})
	}
	if got := branchConclusion(r); !strings.HasPrefix(got, "a branch of 2 GB takes no longer than its snapshot and a bare start;") {
		t.Error(got)
	}
	const w = "oltp_write_only"
	r.Rows = nil
	for name, v := range map[string]float64{RowNoLog(w): 100, RowLog(w): 103, RowWatched(w): 101} {
		r.Rows = append(r.Rows, runner.Row{Name: name, Stats: runner.Stats{Median: v}})
	}
	if got := logConclusion(r); !strings.Contains(got, w+" nothing (nothing the log alone)") {
		t.Error(got)
	}
	if got := beyond(math.Inf(-1)); got != "no longer than" {
		t.Error(got)
	}
}
