package scenario

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/host"
)

// TestEmulatedUnavailable: where a disk cannot be held back the row stays in the table and says
// why.
func TestEmulatedUnavailable(t *testing.T) {
	dir := t.TempDir()
	emulated, err := lab.PlaceNamed("emulated:100")
	if err != nil {
		t.Fatal(err)
	}
	r := (&lab.Lab{Dir: dir, Host: host.Host{Root: t.TempDir()}}).NewServer(emulated, "x")
	rows := runner.Scenario{Name: "x", Unit: runner.Seconds, Cases: []runner.Case{
		{Name: r.Row, Prepare: r.Start, Round: runner.Timed(func(context.Context) error { return errors.New("it ran") }), Cleanup: r.Close},
		{Name: "other", Round: runner.Timed(func(context.Context) error { return nil })},
	}}
	result, err := (&runner.Runner{Rounds: 1}).Run(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	row := result.Rows[0]
	if !errors.Is(r.Err, runner.ErrUnavailable) || row.Rounds != 0 || !strings.Contains(row.Note, "no block device") || result.Rows[1].Rounds != 1 {
		t.Errorf("row %+v, error %v, want one for the reason", row, r.Err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
