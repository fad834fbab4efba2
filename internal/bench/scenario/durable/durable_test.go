package durable

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/labtest"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

func TestDurableOnRealServers(t *testing.T) {
	for _, want := range []string{"mariadb:10.11", "mysql:9.7"} {
		t.Run(want, func(t *testing.T) {
			l := labtest.Real(t, want)
			l.Options.Scale, l.Options.Threads, l.Options.Workloads = 0.02, []int{2}, Workloads[1:]
			b := newBench(l)
			b.seconds = 1
			rows := labtest.RunSmall(t, b.scenario())
			if len(rows) != 6 {
				t.Errorf("%d rows", len(rows))
			}
			for name, row := range rows {
				if row.Note != "" {
					t.Errorf("%s: %s", name, row.Note)
					continue
				}
				p50, p99 := row.Beside[lab.MedianLatency], row.Beside[lab.TailLatency]
				if !(p50 > 0 && p50 <= p99 && p99 < 10) {
					t.Errorf("%s: p50 of %v s, p99 of %v s", name, p50, p99)
				}
				if durable := strings.Contains(name, "--durable"); durable != (row.Beside[besideArchived] > 0) {
					t.Errorf("%s: %v bytes archived", name, row.Beside[besideArchived])
				}
				if !(row.Beside[besideSyncMedian] > 0) || !(row.Beside[besideSyncTail] > 0) {
					t.Errorf("%s: beside %v", name, row.Beside)
				}
			}
			labtest.LeavesNothing(t, l, "durable-*")
		})
	}
}

func TestRecoveryOnRealServers(t *testing.T) {
	for _, want := range []string{"mariadb:10.11", "mysql:9.7"} {
		t.Run(want, func(t *testing.T) {
			l := labtest.Real(t, want)
			l.Options.Scale = 0.02
			rows := labtest.RunSmall(t, Recovery(l))
			for name, row := range rows {
				if row.Note != "" || !(row.Beside[besideLog] > 0) || !(row.Beside[besideSpeed] > 0) {
					t.Errorf("%s: %s, beside %v", name, row.Note, row.Beside)
				}
			}
			labtest.LeavesNothing(t, l, recoveryName+"-*")
		})
	}
}

// TestRecoveryIsChecked: a row that is lost, and one that is too many, end the run; in both ways.
func TestRecoveryIsChecked(t *testing.T) {
	l := labtest.Real(t, os.Getenv(servertest.EnvServer))
	l.Options.Scale = 0.01
	r := newRecovery(l)
	t.Cleanup(func() {
		if err := r.end(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := r.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.round(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.check(t.Context()); err != nil {
		t.Errorf("unchanged: %v", err)
	}
	if err := l.Exec(t.Context(), recoveryName, "DELETE FROM sbtest3 WHERE id = 7"); err != nil {
		t.Fatal(err)
	}
	if err := r.check(t.Context()); err == nil || !strings.Contains(err.Error(), "not what they were") {
		t.Errorf("a row less: %v", err)
	}
	r.logs = r.logs[:1]
	if err := os.Truncate(r.logs[0], 2000); err != nil {
		t.Fatal(err)
	}
	if _, err := r.byHand(t.Context()); err == nil {
		t.Error("a log that is cut off is told as replayed")
	}
}

// TestWorkIsChecked: a server that did not do the work, an archive that lacks some of it, and a commit
// that did not wait for it end the run.
func TestWorkIsChecked(t *testing.T) {
	l := labtest.Real(t, os.Getenv(servertest.EnvServer))
	l.Options.Scale, l.Options.Threads, l.Options.Workloads = 0.01, []int{2}, []string{updates}
	b := newBench(l)
	b.seconds = 1
	cases := b.scenario().Cases
	for i, s := range b.servers {
		if s.Durable != "" {
			t.Run(s.Row, func(t *testing.T) { workIsChecked(t, s, cases[i]) })
		}
	}
}

func workIsChecked(t *testing.T, s *dbServer, c runner.Case) {
	labtest.AtEnd(t, c)
	if err := c.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Errorf("%s: %v", s.Row, err)
	}
	db, err := dbconn.Open(s.Endpoint.Socket, s.Admin, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	after, err := s.progress(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	const n = 10
	before := after
	before.updated -= n
	before.acknowledged -= n
	before.archived -= 1000
	before.log.Offset -= 1000
	for what, change := range map[string]func(before, after *progress){
		"":                    func(*progress, *progress) {},
		"updated 9 rows":      func(b, _ *progress) { b.updated++ },
		"acknowledged 0":      func(b, _ *progress) { b.acknowledged += n },
		"1 did not wait":      func(_, a *progress) { a.letGo++ },
		"archive has it up":   func(_, a *progress) { a.log.Offset++ },
		"grown by 1001 bytes": func(b, _ *progress) { b.log.Offset-- },
	} {
		if s.Row == RowDelayed && (strings.Contains(what, "acknowledged") || strings.Contains(what, "wait") || what == "archive has it up") {
			continue // no commit waits, and that the archive follows takes its time
		}
		was, is := before, after
		change(&was, &is)
		err := s.verify(t.Context(), was, &is, n)
		if (err == nil) != (what == "") || err != nil && !strings.Contains(err.Error(), what) {
			t.Errorf("%s: error %v, want %q", s.Row, err, what)
		}
	}
	labtest.Tamper(t, s, database, "DELETE FROM sbtest5 WHERE id = 3")
	if err := c.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "sbtest5") {
		t.Errorf("%s: a row less: %v", s.Row, err)
	}
}

// TestReferenceSyncs: a stock server that does not sync is no reference.
func TestReferenceSyncs(t *testing.T) {
	l := labtest.Real(t, os.Getenv(servertest.EnvServer))
	l.Options.Scale, l.Options.Quick = 0.1, true
	b := newBench(l)
	c := b.scenario().Cases[0]
	labtest.AtEnd(t, c)
	if err := c.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := b.servers[0]
	db, err := dbconn.Open(s.Endpoint.Socket, s.Admin, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, name := range []string{"sync_binlog", "innodb_flush_log_at_trx_commit"} {
		if err := s.promises(t.Context(), db); err != nil {
			t.Error(err)
		}
		if err := lab.ExecAll(t.Context(), db, "SET GLOBAL "+name+" = 0"); err != nil {
			t.Fatal(err)
		}
		if err := s.promises(t.Context(), db); err == nil || !strings.Contains(err.Error(), name+"=0") {
			t.Errorf("%s = 0: %v", name, err)
		}
		if err := lab.ExecAll(t.Context(), db, "SET GLOBAL "+name+" = 1"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLogGrows counts the bytes of a log over several files, of which some may be gone.
func TestLogGrows(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{server.BinlogName + ".000002": 500, server.BinlogName + ".000004": 70} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(file uint32, offset int64) logEnd { return logEnd{archive.Position{File: file, Offset: offset}} }
	for _, tc := range []struct {
		from, to logEnd
		want     int64
	}{{at(2, 100), at(2, 300), 200}, {at(2, 100), at(3, 30), 430}, {at(2, 100), at(4, 70), 470}, {logEnd{}, at(2, 40), 40}, {at(1, 7), at(4, 1), 501}} {
		if got, err := tc.to.since(dir, tc.from); err != nil || got != tc.want {
			t.Errorf("from %s to %s: %d, %v, want %d", tc.from, tc.to, got, err, tc.want)
		}
	}
}

func TestRows(t *testing.T) {
	s := Scenario(labtest.Bare(t, lab.Options{}))
	byName := map[string]runner.Case{}
	for _, c := range s.Cases {
		byName[c.Name] = c
	}
	c := byName["ramaria --durable, oltp_write_only, 32 threads"]
	if c.Base != "stock, disk, synced, oltp_write_only, 32 threads" || c.Series != "ramaria --durable, oltp_write_only" || c.X != 32 ||
		c.Command != "ramaria bench durable --volume shm --threads 32 --workload oltp_write_only" {
		t.Errorf("row %+v", c)
	}
	if len(s.Cases) != 6*3*2 || s.Rounds < 4 {
		t.Errorf("%d rows", len(s.Cases))
	}
	for _, tc := range []struct {
		o    lab.Options
		rows int
	}{{lab.Options{Quick: true}, 6}, {lab.Options{Threads: []int{4, 4, 1}, Workloads: []string{updates}}, 12}, {lab.Options{Quick: true, Workloads: Workloads}, 12}} {
		if s := Scenario(labtest.Bare(t, tc.o)); len(s.Cases) != tc.rows {
			t.Errorf("%+v: %d rows, want %d", tc.o, len(s.Cases), tc.rows)
		}
	}
}

func TestConclusion(t *testing.T) {
	s := Scenario(labtest.Bare(t, lab.Options{}))
	medians := map[string]float64{
		RowStock + ", oltp_update_index, 8": 100, RowByHand + ", oltp_update_index, 8": 150, RowDurable + ", oltp_update_index, 8": 300,
		RowDelayed + ", oltp_update_index, 8": 450, RowRAM + ", oltp_update_index, 8": 500,
		RowStock + ", oltp_write_only, 8": 100, RowDurable + ", oltp_write_only, 8": 102, RowStock + ", oltp_update_index, 1": 100, RowDurable + ", oltp_update_index, 1": 900,
	}
	beside := map[string]map[string]float64{RowStock + ", oltp_update_index, 8": {lab.TailLatency: 0.008}, RowDurable + ", oltp_update_index, 8": {lab.TailLatency: 0.002}}
	got := labtest.Concluded(s, medians, beside)
	want := "With 8 threads, oltp_update_index: ramaria --durable, which loses nothing, has 3.00 times the transactions of a stock server that syncs each to the disk, " +
		"99 % of them within 2.00 ms instead of 8.00 ms; with data in RAM and a synced log by hand it is 1.50 times; ramaria --durable=1s has 90 % of what the same has that is not durable; " +
		"oltp_write_only: ramaria --durable, which loses nothing, has 1.02 times the transactions of a stock server that syncs each to the disk (within the noise)."
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := labtest.Concluded(s, nil, nil); got != "" {
		t.Error(got)
	}
	r := Recovery(labtest.Bare(t, lab.Options{}))
	got = labtest.Concluded(r, map[string]float64{RowPiped: 10, RowRecovered: 2}, map[string]map[string]float64{RowRecovered: {besideLog: 50e6, besideSpeed: 25e6}})
	want = "ramaria up has 50.0 MB of log back in 2.00 s, 25.0 MB a second; mysqlbinlog | client takes 5.0 times as long, 10.0 s."
	if !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := labtest.Concluded(r, map[string]float64{RowPiped: 10}, nil); got != "" {
		t.Error(got)
	}
}

// TestNoLogReader: without mysqlbinlog there is no row by hand.
func TestNoLogReader(t *testing.T) {
	if err := Recovery(labtest.Bare(t, lab.Options{})).Cases[0].Prepare(t.Context()); !errors.Is(err, runner.ErrUnavailable) {
		t.Error(err)
	}
}
