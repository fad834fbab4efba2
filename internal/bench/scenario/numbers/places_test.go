package numbers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/benchtest"
	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// envFsyncChild makes the test binary the child that measures a directory's fsync.
const envFsyncChild = "RAMARIA_TEST_FSYNC_CHILD"

func init() {
	dir := os.Getenv(envFsyncChild)
	if dir == "" {
		return
	}
	if err := lab.FsyncChild(context.Background(), dir, false, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// realLab is a lab on a real disk with a real server. Of ramaria it has no more than what
// rows need that are not ramaria's.
func realLab(t *testing.T) *lab.Lab {
	t.Helper()
	srv := servertest.Find(t, os.Getenv(servertest.EnvServer))
	dir := benchtest.OnDisk(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ramaria := filepath.Join(dir, "ramaria")
	script := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = bench ]; then exec env %s=\"$3\" '%s'; fi\n", envFsyncChild, exe)
	if err := os.WriteFile(ramaria, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	var account server.Account
	if os.Geteuid() == 0 {
		account = server.Account{UID: host.ReservedID, GID: host.ReservedID}
	}
	l, err := lab.New(t.Context(), ramaria, dir, host.Host{}, servertest.Dir(t), srv, account)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return l
}

// groups are the control groups of this process that are left.
func groups(t *testing.T) []string {
	t.Helper()
	list, err := runner.Throttles(host.Host{}, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestSlowPlaceIsSlow: a disk that is held back is told as the slower place. A scenario that
// could not show that would show nothing.
func TestSlowPlaceIsSlow(t *testing.T) {
	const rate = 100
	l := realLab(t)
	l.Options = lab.Options{Places: []string{lab.PlaceDisk, fmt.Sprint(lab.PlaceEmulated, rate)}, Scale: 0.003}
	result, err := (&runner.Runner{Warmup: -1, Rounds: 2}).Run(t.Context(), Update(l))
	if err != nil {
		t.Fatal(err)
	}
	disk, slow := result.Rows[0], result.Rows[1]
	if strings.Contains(slow.Note, runner.ErrUnavailable.Error()) {
		t.Skip("SKIPPED, UNTESTED: ", slow.Note)
	}
	t.Logf("disk %s, fsync mean %s; %s %s, fsync p50 %s, mean %s; ratio %.3f", runner.PerSecond.Format(disk.Median), runner.Seconds.Format(disk.Beside[lab.FsyncMean]),
		slow.Name, runner.PerSecond.Format(slow.Median), runner.Seconds.Format(slow.Beside[lab.FsyncMedian]), runner.Seconds.Format(slow.Beside[lab.FsyncMean]), slow.Ratio)
	if !(slow.Ratio < 0.5) {
		t.Errorf("the ratio is %.3f: the disk was held back, or it does not show", slow.Ratio)
	}
	// Its fsyncs come at that rate: the first of each bucket at once, so a little more often.
	if got := slow.Beside[lab.FsyncMean]; got < 0.5/rate {
		t.Errorf("an fsync takes %s on average: it was not held back", runner.Seconds.Format(got))
	}
	if !strings.Contains(slow.Name, "EMULATED 100 io/s") || !strings.Contains(slow.Command, "--place emulated:100") {
		t.Errorf("row %q, command %q", slow.Name, slow.Command)
	}
	if left := groups(t); len(left) > 0 {
		t.Errorf("control groups are left: %v", left)
	}
}

// TestThrottleGoesWithItsRow: also when the server could not be started.
func TestThrottleGoesWithItsRow(t *testing.T) {
	l := realLab(t)
	emulated, err := lab.PlaceNamed("emulated:500")
	if err != nil {
		t.Fatal(err)
	}
	emulated.Set = map[string]string{"no_such_setting": "1"}
	r := l.NewServer(emulated, "broken")
	seen := 0
	c := runner.Case{
		Name: r.Row, Round: runner.Timed(func(context.Context) error { return errors.New("it ran") }), Cleanup: r.Close,
		Prepare: func(ctx context.Context) error {
			err := r.Start(ctx)
			seen = len(groups(t))
			return err
		},
	}
	_, err = (&runner.Runner{}).Run(t.Context(), runner.Scenario{Name: "x", Unit: runner.Seconds, Cases: []runner.Case{c}})
	if errors.Is(r.Err, runner.ErrUnavailable) {
		t.Skip("SKIPPED, UNTESTED: ", r.Err)
	}
	if err == nil || seen != 1 {
		t.Fatalf("error %v, %d control groups meanwhile: want an error and one", err, seen)
	}
	if left := groups(t); len(left) > 0 {
		t.Errorf("control groups are left: %v", left)
	}
	if _, err := os.Stat(filepath.Join(l.Dir, "broken")); err == nil {
		t.Error("the data directory is left")
	}
}

// tamperings are what a server with a fault might do to the table.
var tamperings = map[string]string{
	"a row changed":    "UPDATE " + numbersTable + " SET n = n + 1 WHERE id = 7",
	"a row lost":       "DELETE FROM " + numbersTable + " WHERE id = 7",
	"a row too many":   "INSERT INTO " + numbersTable + " (n, name) VALUES (0, 'x')",
	"two rows swapped": "UPDATE " + numbersTable + " SET n = IF(id = 7, n + 5, n - 5) WHERE id IN (7, 8)",
	"a name changed":   "UPDATE " + numbersTable + " SET name = CONCAT(name, ' ') WHERE id = 7",
}

// TestWrongRowFailsTheRun: one wrong row in the table ends the run with an error that names
// the row of the result.
func TestWrongRowFailsTheRun(t *testing.T) {
	l := realLab(t)
	l.Options.Scale = 0.005
	disk, err := lab.PlaceNamed(lab.PlaceDisk)
	if err != nil {
		t.Fatal(err)
	}
	work := func() numbersWork { return numbersOf(2000) }
	inserted := &numbersServer{PlacedServer: l.NewServer(disk, "insert")}
	updated := &updates{numbersServer: &numbersServer{PlacedServer: l.NewServer(disk, "update")}, made: work, count: 30}
	for _, tc := range []struct {
		runner.Case
		server *numbersServer
	}{{insertCase(l, inserted, work), inserted}, {updated.row(), updated.numbersServer}} {
		t.Run(tc.server.Name, func(t *testing.T) {
			// One server for all of it: it is ended by the test, not by the Runner.
			t.Cleanup(func() {
				if err := tc.Cleanup(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			})
			run := func(c runner.Case) error {
				c.Cleanup = nil
				_, err := (&runner.Runner{Warmup: -1, Rounds: 2}).Run(t.Context(), runner.Scenario{Name: "x", Unit: runner.PerSecond, Cases: []runner.Case{c}})
				return err
			}
			if err := run(tc.Case); err != nil {
				t.Fatalf("no row is wrong: %v", err)
			}
			tc.server.conn.Close()
			tc.server.db.Close()
			for name, statement := range tamperings {
				tampered := tc.Case
				tampered.Check = func(ctx context.Context) error {
					if err := tc.server.exec(ctx, statement); err != nil {
						t.Fatal(err)
					}
					return tc.Check(ctx)
				}
				if err := run(tampered); err == nil || !strings.Contains(err.Error(), `check answer of case "stock, disk"`) {
					t.Errorf("%s: error %v, want one that names the row", name, err)
				}
				tc.server.conn.Close()
				tc.server.db.Close()
			}
		})
	}
}

// TestInsertOnRealServer runs the scenario as it is, but small.
func TestInsertOnRealServer(t *testing.T) {
	l := realLab(t)
	l.Options = lab.Options{Places: []string{lab.PlaceDisk, lab.PlaceRelaxed}, Scale: 0.005}
	s := Insert(l)
	result, err := (&runner.Runner{Rounds: 1}).Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range result.Rows {
		if row.Rounds != 1 || !(row.Median > 0) || !(row.Beside[runner.Written] > 0) || !(row.Beside[lab.FsyncMedian] > 0) || !strings.Contains(row.Settings, " on /dev/") {
			t.Errorf("row %+v", row)
		}
	}
	if left, err := filepath.Glob(filepath.Join(l.Dir, "insert-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestInterruptedServers: Ctrl-C in the middle of a round leaves no server, no directory and
// no control group.
func TestInterruptedServers(t *testing.T) {
	l := realLab(t)
	l.Options = lab.Options{Places: []string{lab.PlaceDisk, "emulated:500"}, Scale: 0.01}
	s := Update(l)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	interrupted := errors.New("user pressed Ctrl-C")
	for i := range s.Cases {
		round := s.Cases[i].Round
		s.Cases[i].Round = func(ctx context.Context) (runner.Sample, error) {
			time.AfterFunc(50*time.Millisecond, func() { cancel(interrupted) }) // a round takes longer
			return round(ctx)
		}
	}
	_, err := (&runner.Runner{Rounds: 100}).Run(ctx, s)
	if !errors.Is(err, interrupted) || strings.Contains(err.Error(), "clean up") {
		t.Errorf("error %v, want that of the interruption alone", err)
	}
	if left, err := filepath.Glob(filepath.Join(l.Dir, "update-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if left := groups(t); len(left) > 0 {
		t.Errorf("control groups are left: %v", left)
	}
	processes, err := exec.Command("pgrep", "-f", filepath.Join(l.Dir, "update-")).Output()
	if len(processes) > 0 {
		t.Errorf("processes are left: %s, %v", processes, err)
	}
}
