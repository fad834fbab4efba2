package runner

import (
	"slices"
	"strings"
	"testing"
)

// TestTableOfCurves: what all points of a curve are compared with is told in a line, and so is why some of
// them have no figures.
func TestTableOfCurves(t *testing.T) {
	r := Result{Scenario: "tier", Unit: BytesPerSecond, XName: "times", Rows: []Row{
		{Name: "disk, 1", Series: "disk", X: 1, Base: "disk, 1"}, {Name: "disk, 2", Series: "disk", X: 2, Base: "disk, 2"},
		{Name: "tmpfs, 1", Series: "tmpfs", X: 1, Base: "disk, 1", Note: "full"}, {Name: "tmpfs, 2", Series: "tmpfs", X: 2, Base: "disk, 2", Note: "full"},
	}}
	if got, want := r.Bases(), []string{`ratio to "disk" at the same times: all others`}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var b strings.Builder
	if err := r.WriteTable(&b, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	if want := "\ntmpfs, 1; tmpfs, 2: full\n"; !strings.Contains(b.String(), want) {
		t.Errorf("there is no %q in\n%s", want, b.String())
	}
	r.Rows[3].Base = "disk, 1"
	if got, want := r.Bases(), []string{`ratio to "disk, 1": tmpfs, 1; tmpfs, 2`}; !slices.Equal(got, want) {
		t.Errorf("at another X: %q, want %q", got, want)
	}
}
