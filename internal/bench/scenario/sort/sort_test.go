package sort

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/labtest"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

func TestSortOnRealServers(t *testing.T) {
	for _, want := range []string{"mariadb:10.11", "mysql:9.7"} {
		t.Run(want, func(t *testing.T) {
			l := labtest.Real(t, want)
			l.Options.Scale = 0.025
			if l.Server.Flavour == server.MySQL {
				l.Options.Places = []string{lab.PlaceDisk, lab.PlaceRAMByHand}
			}
			rows := labtest.RunSmall(t, Scenario(l))
			labtest.SaysMedium(t, rows)
			for name, row := range rows {
				synced := strings.Contains(name, "mounted sync")
				if row.Note != "" {
					// Root can have all but what the machine has not.
					if made := synced || strings.Contains(name, "wheatfs"); os.Geteuid() == 0 && made || !strings.Contains(name, "EMULATED") && !strings.Contains(name, "swap") && !strings.Contains(name, "mergerfs") && !made {
						t.Errorf("%s: %s", name, row.Note)
					}
					t.Log("SKIPPED, UNTESTED: ", row.Note)
					continue
				}
				if synced && !(row.Beside[runner.Written] > 0) {
					t.Errorf("%s: nothing was written to the device", name)
				}
				// So little may stay in the page cache.
				if n, known := row.Beside[spilled]; known != strings.Contains(name, "wheatfs") && !strings.Contains(name, "swap") || n > 0 && strings.Contains(name, "all in RAM") {
					t.Errorf("%s: %v bytes spilled, known: %v", name, n, known)
				}
				if proof := map[bool]string{true: sortMerges, false: diskTables}[strings.HasPrefix(name, "ORDER")]; row.Beside[proof] < sortThreads {
					t.Errorf("%s: %v %s", name, row.Beside[proof], proof)
				}
			}
			labtest.LeavesNothing(t, l, "sort-*")
		})
	}
}

// TestSortIsChecked: other rows, rows in no order and a sort in memory fail the check.
func TestSortIsChecked(t *testing.T) {
	l := labtest.Real(t, os.Getenv(servertest.EnvServer))
	l.Options = lab.Options{Scale: 0.025, Places: []string{lab.PlaceRAMByHand}}
	o := newSorting(l)
	s, p := o.scenario(), o.places[0]
	labtest.AtEnd(t, s.Cases[0])
	if err := s.Cases[0].Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	sorted, grouped := sortQueries[0], sortQueries[1]
	check := func(q sortQuery) error {
		if _, err := p.round(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		return p.check(q)
	}
	for _, q := range sortQueries {
		if err := check(q); err != nil {
			t.Errorf("unchanged: %v", err)
		}
	}
	disorder := grouped
	disorder.text, disorder.ordered = "SELECT t, COUNT(*) FROM story WHERE id <= %d GROUP BY t ORDER BY MAX(id)", true
	inMemory := sorted
	inMemory.text = "SELECT t, 1 FROM story WHERE id <= %d ORDER BY id"
	inMemory.ordered = false
	miscounted := grouped
	miscounted.text = "SELECT t, COUNT(*) + (MIN(id) = 1) FROM story WHERE id <= %d GROUP BY t ORDER BY NULL"
	for want, q := range map[string]sortQuery{"they count": miscounted, "not in order": disorder, "it was done in memory": inMemory} {
		if err := check(q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for _, tc := range []struct{ statement, want string }{
		{"UPDATE story SET t = CONCAT('0', SUBSTR(t, 2)) WHERE id = 1", "not those"},
		{"DELETE FROM story WHERE id = 1", "rows, not"},
	} {
		if _, err := p.db.ExecContext(t.Context(), strings.Replace(tc.statement, "story", sortDatabase+".story", 1)); err != nil {
			t.Fatal(err)
		}
		if err := check(sorted); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.statement, err, tc.want)
		}
	}
}

func TestSortConclusion(t *testing.T) {
	s := Scenario(labtest.Bare(t, lab.Options{Scale: 0.05}))
	got := labtest.Concluded(s, map[string]float64{"ORDER BY": 20_000, "ORDER BY, tmpdir on disk, mounted": 2000, "ORDER BY, ramaria": 20_400, "ORDER BY, tmpdir on wheatfs, a quarter": 10_000, "GROUP BY": 40_000, "GROUP BY, tmpdir on disk": 10_000},
		map[string]map[string]float64{"ORDER BY": {lab.ServerCPU: 1.9, coresBusy: 1, runner.Written: 0}, "ORDER BY, tmpdir on wheatfs, a quarter": {spilled: 24e6}, "GROUP BY, tmpdir on disk": {runner.Written: 1e9}})
	want := "ORDER BY: tmpdir on disk has the processors 95 % busy; tmpdir on disk, mounted sync 0.10 times the rows, 0 % busy; tmpdir in /dev/shm 1.00 times the rows, 95 % busy; " +
		"ramaria, shm 1.02 times the rows, 0 % busy: RAM gains nothing that stands out from the noise, the page cache holds the files and the processors bound it. " +
		"There a wheatfs has 1.00 times the rows with all in RAM and 0.50 times with a quarter, 24.0 MB spilled: on this machine the page cache is as fast; " +
		"where the disk is mounted sync it has 10.0 times its rows; before a disk of 100 MB/s (EMULATED) it has 0.50 times the rows of the page cache there; " +
		"a tmpfs with swap has 1.00 times the rows of the disk; mergerfs 1.00 times. " +
		"GROUP BY: tmpdir on disk has the processors 0 % busy; tmpdir on disk, mounted sync 1.00 times the rows, 0 % busy; tmpdir in /dev/shm 4.00 times the rows, 0 % busy; " +
		"ramaria, shm 4.00 times the rows, 0 % busy: the device holds it back. " +
		"There a wheatfs has 4.00 times the rows with all in RAM and 4.00 times with a quarter, of which the page cache let nothing spill: it helps on this machine; " +
		"where the disk is mounted sync it has 4.0 times its rows; before a disk of 100 MB/s (EMULATED) it has 4.00 times the rows of the page cache there; " +
		"a tmpfs with swap has 4.00 times the rows of the disk; mergerfs 4.00 times."
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := labtest.Concluded(s, nil, nil); got != "" {
		t.Error(got)
	}
}

func TestSlowSyncIsNotWaitedFor(t *testing.T) {
	o := &sorting{rows: sortRows}
	for p50, waits := range map[float64]bool{0: true, 0.001: true, 0.008: false} {
		p := &sortPlace{sorting: o, tier: tier{synced: true}, fsyncs: []float64{p50}}
		if err := p.patience(sortQueries[1]); (err == nil) != waits {
			t.Errorf("fsync %v: %v", p50, err)
		}
	}
}

// TestRelaxedDiskIsNoPlace: commits are nothing to temporary files, so the relaxed disk is told as
// rows without figures, and no row is compared with it.
func TestRelaxedDiskIsNoPlace(t *testing.T) {
	l := labtest.Bare(t, lab.Options{Places: []string{lab.PlaceRelaxed, lab.PlaceDisk, lab.PlaceRAMByHand, lab.PlaceRAMRelaxed}})
	relaxed := 0
	if err := Scenario(l).Validate(); err != nil {
		t.Fatal(err)
	}
	cases := Scenario(l).Cases
	for _, c := range cases {
		if !strings.HasSuffix(c.Name, "tmpdir on relaxed disk") {
			continue
		}
		relaxed++
		if err := c.Prepare(t.Context()); !errors.Is(err, runner.ErrUnavailable) || !strings.Contains(err.Error(), "--place disk is the same place") {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	if relaxed != len(sortQueries) || !strings.HasSuffix(cases[0].Base, "tmpdir on disk") {
		t.Errorf("%d rows of the relaxed disk; the others are compared with %q", relaxed, cases[0].Base)
	}
}
