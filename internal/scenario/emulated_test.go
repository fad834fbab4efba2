package scenario

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/host"
)

// TestEmulatedUnavailable: where a disk cannot be held back the row stays in the table and says
// why.
func TestEmulatedUnavailable(t *testing.T) {
	dir := t.TempDir()
	emulated, err := placeNamed("emulated:100")
	if err != nil {
		t.Fatal(err)
	}
	r := (&Lab{Dir: dir, Host: host.Host{Root: t.TempDir()}}).running(emulated, "x")
	rows := bench.Scenario{Name: "x", Unit: bench.Seconds, Cases: []bench.Case{
		{Name: r.row, Prepare: r.begin, Round: bench.Timed(func(context.Context) error { return errors.New("it ran") }), Cleanup: r.close},
		{Name: "other", Round: bench.Timed(func(context.Context) error { return nil })},
	}}
	result, err := (&bench.Runner{Rounds: 1}).Run(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	row := result.Rows[0]
	if !errors.Is(r.err, bench.ErrUnavailable) || row.Rounds != 0 || !strings.Contains(row.Note, "no block device") || result.Rows[1].Rounds != 1 {
		t.Errorf("row %+v, error %v, want one for the reason", row, r.err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
