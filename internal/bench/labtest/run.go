package labtest

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// RunSmall runs a scenario once, and returns its rows by name.
func RunSmall(t *testing.T, s runner.Scenario) map[string]runner.Row {
	t.Helper()
	result, err := (&runner.Runner{Warmup: -1, Rounds: 1}).Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if result.Conclusion == "" {
		t.Error("no conclusion")
	}
	t.Log(result.Conclusion)
	rows := map[string]runner.Row{}
	for _, row := range result.Rows {
		rows[row.Name] = row
		if row.Note == "" && !(row.Median > 0) {
			t.Errorf("row %+v", row)
		}
	}
	return rows
}

// LeavesNothing fails the test if a scenario left servers' directories or mounts.
func LeavesNothing(t *testing.T, l *lab.Lab, pattern string) {
	t.Helper()
	shm, err := l.ShmPath()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{l.Dir, shm} {
		if left, err := filepath.Glob(filepath.Join(dir, pattern)); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), l.Dir) {
		t.Errorf("left mounted below %s (%v)", l.Dir, err)
	}
}

// Tamper runs a statement behind the back of a scenario.
func Tamper(t *testing.T, s interface {
	Connect(database string) (*sql.DB, error)
}, database, statement string) {
	t.Helper()
	db, err := s.Connect(database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// AtEnd cleans a case up that no Runner does.
func AtEnd(t *testing.T, c runner.Case) {
	t.Helper()
	t.Cleanup(func() {
		if err := c.Cleanup(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// SaysMedium fails the test if a row does not say what its files lie on, and what an fsync takes
// there.
func SaysMedium(t *testing.T, rows map[string]runner.Row) {
	t.Helper()
	for name, row := range rows {
		if row.Note != "" {
			continue
		}
		_, lies, _ := strings.Cut(row.Settings, "; ")
		disk := strings.Contains(name, "disk") || strings.Contains(name, "wheatfs") || strings.Contains(name, "mergerfs")
		if disk && !strings.Contains(lies, " on ") || !disk && !strings.HasPrefix(lies, "tmpfs") || !(row.Beside[lab.FsyncMedian] > 0) || !(row.Beside[lab.FsyncTail] > 0) || !(row.Beside[lab.FsyncMean] > 0) {
			t.Errorf("%s: settings %q, beside %v", name, row.Settings, row.Beside)
		}
	}
}
