package durable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/sys"
)

const database = "sbtest"

// dbServer is a server with the tables of sysbench.
type dbServer struct {
	*lab.PlacedServer
	bench *bench

	filled  bool
	failure error
	// syncs are what some fsyncs took on the disk.
	syncs []float64
	// members are the processes that write to the disk, where that is held back.
	members []int
	// wrong says what was wrong with the last round.
	wrong error
}

// prepare starts it, fills its tables and warms it up, once.
func (s *dbServer) prepare(ctx context.Context) error {
	if !s.filled {
		s.filled = true
		s.failure = s.fill(ctx)
	}
	return s.failure
}

func (s *dbServer) fill(ctx context.Context) error {
	if _, err := s.Lab.FindSysbench(ctx); err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	if err := s.join(); err != nil {
		return err
	}
	disk, err := s.Lab.DiskStorage(ctx)
	if err != nil {
		return err
	}
	s.syncs = disk.Fsyncs
	db, err := dbconn.Open(s.Endpoint.Socket, s.Admin, "")
	if err != nil {
		return err
	}
	defer db.Close()
	if err := s.promises(ctx, db); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+database); err != nil {
		return err
	}
	run := s.run(updates, lab.SysbenchThreads)
	if err := s.Lab.FillTables(ctx, run); err != nil {
		return err
	}
	run.Seconds = s.bench.warmup()
	wait, err := s.Lab.StartSysbenchRun(ctx, run)
	if err == nil {
		_, err = wait()
	}
	return err
}

// promises makes sure that a server is what its row says: with a log or without, synced or not.
func (s *dbServer) promises(ctx context.Context, db *sql.DB) error {
	var log, syncLog, syncRedo int
	if err := db.QueryRowContext(ctx, "SELECT @@log_bin, @@sync_binlog, @@innodb_flush_log_at_trx_commit").Scan(&log, &syncLog, &syncRedo); err != nil {
		return err
	}
	if s.SyncedLog && (log != 1 || syncLog != 1 || syncRedo != 1) || !s.SyncedLog && (log == 0) != s.LogOff {
		return fmt.Errorf("start %s: its settings are log_bin=%d, sync_binlog=%d, innodb_flush_log_at_trx_commit=%d", s.Row, log, syncLog, syncRedo)
	}
	return nil
}

func (s *dbServer) run(workload string, threads int) lab.SysbenchRun {
	e := s.Endpoint
	e.Database = database
	return lab.SysbenchRun{Endpoint: e, Name: s.Name, Workload: workload, Data: s.bench.data, Threads: threads, Seconds: s.bench.seconds}
}

// load is one round.
func (s *dbServer) load(ctx context.Context, p point) (runner.Sample, error) {
	db, err := dbconn.Open(s.Endpoint.Socket, s.Admin, "")
	if err != nil {
		return runner.Sample{}, err
	}
	defer db.Close()
	var report lab.SysbenchReport
	var before, after progress
	work := func() error {
		if before, err = s.progress(ctx, db); err != nil {
			return err
		}
		if err := s.heldTo(p.writes, func() error {
			wait, err := s.Lab.StartSysbenchRun(ctx, s.run(p.workload, p.threads))
			if err == nil {
				report, err = wait()
			}
			return err
		}); err != nil {
			return err
		}
		after, err = s.progress(ctx, db)
		s.wrong = errors.Join(err, s.verify(ctx, before, &after, report.Transactions))
		return nil
	}
	device := runner.DeviceOf(s.Lab.Host, s.Lab.Dir)
	if err := sys.SyncFS(s.Lab.Dir); err != nil {
		return runner.Sample{}, err
	}
	written, err := device.Count(func() error {
		if _, err := s.CountFlushed(ctx, work); err != nil {
			return err
		}
		return sys.SyncFS(s.Lab.Dir)
	})
	if err != nil {
		return runner.Sample{}, err
	}
	sample := runner.Sample{Value: report.Rate, Beside: map[string]float64{lab.MedianLatency: report.P50, lab.TailLatency: report.P99}}
	if s.Archive != "" {
		sample.Beside[besideArchived] = float64(after.archived - before.archived)
	}
	lab.AddWritten(sample.Beside, runner.Written, written, false, device)
	if t := runner.Summarise(runner.Seconds, s.syncs); len(s.syncs) > 0 {
		sample.Beside[besideSyncMedian], sample.Beside[besideSyncTail] = t.Median, t.P99
	}
	return sample, nil
}

// check says what was wrong with the last round, and looks at the tables.
func (s *dbServer) check(ctx context.Context) error {
	if s.wrong != nil {
		return s.wrong
	}
	db, err := s.Connect(database)
	if err != nil {
		return err
	}
	defer db.Close()
	return lab.CheckTablesIn(ctx, db, s.Row, s.bench.data, 1)
}

// progress is what a server has done since it started.
type progress struct {
	updated int64 // rows
	// acknowledged and let go are transactions of a durable instance that waited for the archive, and that did
	// not.
	acknowledged, letGo int64
	log                 logEnd
	archived            int64 // bytes
}

func (s *dbServer) progress(ctx context.Context, db *sql.DB) (p progress, err error) {
	status, err := statusOf(ctx, db, "Handler_update", "Rpl_semi_sync_%_yes_tx", "Rpl_semi_sync_%_no_tx")
	if err != nil {
		return p, err
	}
	for name, to := range map[string]*int64{
		"Handler_update":              &p.updated,
		"Rpl_semi_sync_master_yes_tx": &p.acknowledged, "Rpl_semi_sync_master_no_tx": &p.letGo,
		"Rpl_semi_sync_source_yes_tx": &p.acknowledged, "Rpl_semi_sync_source_no_tx": &p.letGo,
	} {
		*to += status[name]
	}
	if s.Archive == "" {
		return p, nil
	}
	if p.log, err = endOfLog(s.Data); err != nil {
		return p, err
	}
	_, p.archived, err = endOfArchive(s.Archive)
	return p, err
}

// statusOf reads counters whose names are like some patterns.
func statusOf(ctx context.Context, db *sql.DB, patterns ...string) (map[string]int64, error) {
	found := map[string]int64{}
	for _, like := range patterns {
		if err := addStatus(ctx, db, like, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func addStatus(ctx context.Context, db *sql.DB, like string, found map[string]int64) error {
	rows, err := db.QueryContext(ctx, "SHOW GLOBAL STATUS LIKE '"+like+"'")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return err
		}
		if found[name], err = strconv.ParseInt(value, 10, 64); err != nil {
			return err
		}
	}
	return rows.Err()
}

// verify returns an error if a server has not done a round's work, or has not archived it as its row says.
func (s *dbServer) verify(ctx context.Context, before progress, after *progress, transactions int) error {
	n := int64(transactions)
	if did := after.updated - before.updated; n == 0 || did < n {
		return fmt.Errorf("check %s: %d transactions have updated %d rows", s.Row, n, did)
	}
	if s.Archive == "" {
		return nil
	}
	if s.Durable == instance.DurableCommit {
		// MySQL counts one of a group of commits.
		if got := after.acknowledged - before.acknowledged; got == 0 || after.letGo != before.letGo {
			return fmt.Errorf("check %s: of %d transactions the archive acknowledged %d, and %d did not wait for that", s.Row, n, got, after.letGo-before.letGo)
		}
	}
	total, err := s.archived(ctx, after.log)
	if err != nil {
		return fmt.Errorf("check %s: %w", s.Row, err)
	}
	after.archived = total
	logged, err := after.log.since(s.Data, before.log)
	if err != nil {
		return err
	}
	if got := total - before.archived; got < logged || got == 0 {
		return fmt.Errorf("check %s: its log has grown by %d bytes, and its archive by %d", s.Row, logged, got)
	}
	return nil
}
