package scenario

import (
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/labtest"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/suite"
)

// TestDiskThatIsRAM: where the place on disk is memory the rows say so, and nothing is concluded
// from a disk that there is not.
func TestDiskThatIsRAM(t *testing.T) {
	const tmpfs = "20 1 0:30 / / rw - tmpfs tmpfs rw\n"
	for _, k := range append(append([]Kind{}, Kinds...), SuiteKind(suite.Way{Argv: []string{"true"}})) {
		if !k.Takes(FlagPlace) {
			continue
		}
		for place, silent := range map[string]bool{lab.PlaceDisk: true, lab.PlaceRAMByHand: false} {
			l := labtest.Bare(t, lab.Options{Places: []string{place}})
			l.Host = labtest.Host(t, tmpfs)
			s := k.Make(l)
			r := labtest.Measured(s, func(string) (runner.Sample, bool) { return runner.Sample{Value: 1}, true })
			if got := s.Conclusion(&r); strings.Contains(got, " is in RAM (tmpfs): rows on it are on no disk, and nothing is concluded") != silent {
				t.Errorf("%s --place %s: %q", k.Name, place, got)
			}
		}
	}
	l := filesLab(t, lab.PlaceDisk, lab.PlaceRAMByHand)
	l.Host = labtest.Host(t, tmpfs)
	r, err := (&runner.Runner{Warmup: -1, Rounds: 1}).Run(t.Context(), FilesScenario(l))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		if strings.Contains(row.Settings, "which is RAM and no disk") != strings.HasPrefix(row.Name, "disk") {
			t.Errorf("%s: %s", row.Name, row.Settings)
		}
	}
}

// TestMediumStays: the number of a loop device is another one in each run, and no difference.
func TestMediumStays(t *testing.T) {
	l := &lab.Lab{Host: labtest.Host(t, "20 1 7:3 / / rw - xfs /dev/loop3 rw\n")}
	if got := l.DescribeStorage(t.TempDir(), true); got != "xfs on a loop device" {
		t.Error(got)
	}
}
