package scenario

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/labtest"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

func TestOltpOnRealServers(t *testing.T) {
	for _, want := range []string{"mariadb:10.11", "mysql:9.7"} {
		t.Run(want, func(t *testing.T) {
			l := labtest.Real(t, want)
			l.Options.Scale, l.Options.Threads = 0.02, []int{2}
			if l.Server.Flavour == server.MySQL { // which takes seconds to make its data directory
				l.Options.Places = []string{lab.PlaceDisk}
			}
			o := newOltp(l)
			o.seconds = 1
			rows := labtest.RunSmall(t, o.scenario())
			labtest.SaysMedium(t, rows)
			for name, row := range rows {
				if row.Note != "" {
					if !strings.Contains(name, "no checksums") || !strings.Contains(row.Note, "innodb_checksum_algorithm") {
						t.Errorf("%s: %s", name, row.Note)
					}
					continue
				}
				if p99 := row.Beside[lab.TailLatency]; !(p99 > 0 && p99 < 10) {
					t.Errorf("%s: p99 of %v s", name, p99)
				}
				if disk := strings.Contains(name, "disk"); disk != (row.Beside[runner.Written] > 0) {
					t.Errorf("%s: %v bytes written to a device", name, row.Beside[runner.Written])
				}
			}
			if rows["stock, disk, 2 threads"].Rounds != 1 {
				t.Errorf("rows %v", rows)
			}
			labtest.LeavesNothing(t, l, "oltp-*")
		})
	}
}

// TestOltpMissesNoRow: a server that has lost a row fails the check.
func TestOltpMissesNoRow(t *testing.T) {
	l := labtest.Real(t, os.Getenv(servertest.EnvServer))
	l.Options = lab.Options{Scale: 0.01, Places: []string{lab.PlaceDisk}, Threads: []int{1}, Quick: true}
	o := newOltp(l)
	c := o.scenario().Cases[0]
	labtest.AtEnd(t, c)
	if err := c.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Errorf("unchanged: %v", err)
	}
	for _, statement := range []string{"DELETE FROM sbtest5 WHERE id = 3", "DELETE FROM sbtest1 ORDER BY id DESC LIMIT 1"} {
		labtest.Tamper(t, o.servers[0], oltpDatabase, statement)
		if err := c.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "sbtest") {
			t.Errorf("%s: error %v, want one that names the table", statement, err)
		}
	}
}

// TestLoadOnRealServers loads in every way, by myloader where it is installed.
func TestLoadOnRealServers(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own.sql")
	if err := os.WriteFile(own, []byte("CREATE TABLE t (a INT PRIMARY KEY);\nINSERT INTO t VALUES (1), (2);\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, server := range []string{"mariadb:10.11", "mysql:9.7"} {
		t.Run(server, func(t *testing.T) {
			l := labtest.Real(t, server)
			for dump, want := range map[string][]string{
				"":  {RowLoadOneRow, RowLoadExtended, RowLoadPacked, RowLoadOpen, RowLoad, RowMyloader, RowLoadImage},
				own: {RowLoadOwn, RowLoadPacked, RowLoad, RowLoadImage},
			} {
				l.Options.Dump = dump
				rows := labtest.RunSmall(t, LoadScenario(l))
				for _, name := range want {
					row := rows[name]
					if _, err := exec.LookPath(RowMyloader); name == RowMyloader && err != nil {
						if !strings.Contains(row.Note, runner.ErrUnavailable.Error()) {
							t.Errorf("%s is not there, and the row says %q", name, row.Note)
						}
						continue
					}
					if !(row.Median > 0) {
						t.Errorf("%s: %+v", name, row)
					}
				}
				if len(rows) != len(want) {
					t.Errorf("%d rows, want %q", len(rows), want)
				}
			}
			if text, err := l.Run(t.Context(), "ls"); err != nil || strings.Contains(text, upName) {
				t.Errorf("the instance is still there: %s, %v", text, err)
			}
		})
	}
}

// TestImageIsChecked: rows that are missing in what came from the image end the run.
func TestImageIsChecked(t *testing.T) {
	l := labtest.Real(t, servertest.Servers[0])
	c := upRow(l.Fixture(), RowLoadImage, "")
	round := c.Round
	c.Round = func(ctx context.Context) (runner.Sample, error) {
		s, err := round(ctx)
		return s, errors.Join(err, l.Exec(ctx, upName, "DELETE FROM city LIMIT 1"))
	}
	if _, err := (&runner.Runner{Warmup: -1, Rounds: 1}).Run(t.Context(), runner.Scenario{Name: "x", Unit: runner.Seconds, Cases: []runner.Case{c}}); err == nil || !strings.Contains(err.Error(), "check answer") {
		t.Errorf("error %v", err)
	}
}
