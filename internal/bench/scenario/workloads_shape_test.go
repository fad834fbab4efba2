package scenario

import (
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/labtest"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/engines"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/sort"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// TestWorkloadScenarios makes them as the command does, with all kinds of options.
func TestWorkloadScenarios(t *testing.T) {
	for name, o := range map[string]lab.Options{
		"standard": {},
		"quick":    {Quick: true, Scale: 0.05},
		"large":    {Scale: 20},
		"narrow":   {Places: []string{lab.PlaceRAMByHand}, Threads: []int{3}},
		"all":      {Places: append(lab.PlaceNames()[:5], "emulated:500"), Volumes: []volume.Kind{volume.XFS, volume.Tmpfs}, Threads: []int{1, 2}},
	} {
		l := labtest.Bare(t, o)
		for _, s := range []runner.Scenario{OltpScenario(l), sort.Scenario(l), engines.Scenario(l)} {
			names := map[string]bool{}
			for _, c := range s.Cases {
				if names[c.Name] {
					t.Errorf("%s: %s has two rows %q", name, s.Name, c.Name)
				}
				names[c.Name] = true
				if !strings.HasPrefix(c.Command, "ramaria bench "+s.Name+" --place ") {
					t.Errorf("%s: row %q has command %q", name, c.Name, c.Command)
				}
				if err := c.Cleanup(t.Context()); err != nil {
					t.Errorf("%s: clean up %q that was not prepared: %v", name, c.Name, err)
				}
			}
			if err := s.Validate(); err != nil {
				t.Errorf("%s: %s: %v", name, s.Name, err)
			}
			if s.Memory <= 0 || s.Memory > 64<<30 {
				t.Errorf("%s: %s takes %d bytes of memory", name, s.Name, s.Memory)
			}
		}
	}
}

func TestOltpRows(t *testing.T) {
	s := OltpScenario(labtest.Bare(t, lab.Options{}))
	byName := map[string]runner.Case{}
	for _, c := range s.Cases {
		byName[c.Name] = c
	}
	c := byName["ramaria, shm, small pool, 8 threads"]
	if c.Base != "stock, disk, small pool, 8 threads" || c.Series != "ramaria, shm, small pool" || c.X != 8 ||
		c.Command != "ramaria bench oltp --place ramaria --volume shm --threads 8" {
		t.Errorf("row %+v", c)
	}
	// With one number of threads, as the small pool.
	unsummed := 0
	for name := range byName {
		if strings.Contains(name, "no checksums") {
			unsummed++
		}
	}
	// 7 numbers of threads on 3 servers, one on 2 that trust the device and on 4 with the small pool.
	if unsummed != 1 || len(s.Cases) != 7*3+2+4 || s.Rounds < 4 {
		t.Errorf("%d rows, %d of them without checksums", len(s.Cases), unsummed)
	}
	if small := OltpScenario(labtest.Bare(t, lab.Options{Scale: 0.1})); strings.Contains(small.Cases[len(small.Cases)-1].Name, "small pool") {
		t.Error("the small pool holds all of the data and is told as small")
	}
}

// TestOltpThreads: rows have names of their own, and the conclusion speaks of the number of
// threads that is nearest to the published one.
func TestOltpThreads(t *testing.T) {
	for _, tc := range []struct {
		o    lab.Options
		rows int
		told int
	}{
		{lab.Options{}, 7*3 + 2 + 4, 8},
		// A user who names them gets the curves of all servers.
		{lab.Options{Threads: []int{4, 8, 8, 12}}, 3 * (3 + 2 + 4), 8},
		{lab.Options{Threads: []int{2, 64, 2}}, 2 * (3 + 2 + 4), 2},
		{lab.Options{Threads: []int{12, 4}}, 2 * (3 + 2 + 4), 4},
		{lab.Options{Threads: []int{64}, Places: []string{lab.PlaceRamaria, lab.PlaceRamaria}, Volumes: []volume.Kind{volume.Shm}}, 2, 64},
	} {
		o := newOltp(labtest.Bare(t, tc.o))
		if s := o.scenario(); len(s.Cases) != tc.rows || o.told != tc.told {
			t.Errorf("%+v: %d rows, want %d; told are %d threads, want %d", tc.o, len(s.Cases), tc.rows, o.told, tc.told)
		}
	}
}

func TestOltpConclusion(t *testing.T) {
	s := OltpScenario(labtest.Bare(t, lab.Options{}))
	got := labtest.Concluded(s, map[string]float64{
		"stock, disk, ": 100, "stock, disk as if": 101, "stock, disk, small": 10, "stock, disk as if atomic (no doublewrite), small": 10,
		"stock, /dev/shm": 150, "stock, /dev/shm, small": 40, "ramaria": 960, "ramaria, shm, 8": 300, "ramaria, shm, small": 9,
	}, map[string]map[string]float64{"stock, disk, ": {lab.TailLatency: 0.034}, "ramaria, shm, 8": {lab.TailLatency: 0.010}})
	want := "With 8 threads: stock, /dev/shm has 1.50 times the transactions of stock, disk; ramaria, shm 3.00 times; " +
		"with the small pool stock, /dev/shm has 4.00 times the transactions of stock, disk; ramaria, shm 0.90 times; " +
		"99 % of the transactions take at most: stock, disk 34.0 ms, ramaria, shm 10.0 ms; " +
		"the disk without the doublewrite buffer has 1.01 times, with the small pool 1.00 times as many as with it, which gains nothing that stands out from the noise."
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := labtest.Concluded(s, map[string]float64{"stock": 100, "ramaria": 101}, nil); !strings.Contains(got, "RAM gains nothing that stands out") {
		t.Error(got)
	}
	if got := labtest.Concluded(s, nil, nil); got != "" {
		t.Error(got)
	}
}
