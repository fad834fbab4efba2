package scenario

import (
	"context"
	"errors"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// oltpServer is a server with the tables of sysbench.
type oltpServer struct {
	*lab.PlacedServer
	oltp *oltp
	// trusting says that it has no doublewrite buffer, and unsummed no checksums either.
	trusting, unsummed bool
	large              bool // the pool

	filled  bool
	failure error
}

const oltpDatabase = "sbtest"

// prepare starts it, fills its tables and warms it up, once.
func (s *oltpServer) prepare(ctx context.Context) error {
	if !s.filled {
		s.filled = true
		s.failure = s.fill(ctx)
	}
	return s.failure
}

func (s *oltpServer) fill(ctx context.Context) error {
	if _, err := s.Lab.FindSysbench(ctx); err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	db, err := s.Connect("")
	if err != nil {
		return err
	}
	defer db.Close()
	if s.unsummed {
		if _, err := db.ExecContext(ctx, "SET GLOBAL innodb_checksum_algorithm = 'none'"); err != nil {
			return errors.Join(fmt.Errorf("%w: %s: %w", runner.ErrUnavailable, s.Lab.Server.Name(), err), s.Close(ctx))
		}
	}
	if _, err := db.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+oltpDatabase); err != nil {
		return err
	}
	run := s.run(lab.SysbenchThreads)
	if err := s.Lab.FillTables(ctx, run); err != nil {
		return err
	}
	run.Seconds = s.oltp.warmup()
	wait, err := s.Lab.StartSysbenchRun(ctx, run)
	if err == nil {
		_, err = wait()
	}
	return err
}

func (s *oltpServer) run(threads int) lab.SysbenchRun {
	e := s.Endpoint
	e.Database = oltpDatabase
	return lab.SysbenchRun{Endpoint: e, Name: s.Name, Workload: readWrite, Data: s.oltp.data, Threads: threads, Seconds: s.oltp.seconds}
}

// load is one round.
func (s *oltpServer) load(ctx context.Context, threads int) (runner.Sample, error) {
	var report lab.SysbenchReport
	written, err := s.CountFlushed(ctx, func() error {
		wait, err := s.Lab.StartSysbenchRun(ctx, s.run(threads))
		if err == nil {
			report, err = wait()
		}
		return err
	})
	sample := runner.Sample{Value: report.Rate, Beside: map[string]float64{lab.TailLatency: report.P99}}
	lab.AddWritten(sample.Beside, runner.Written, written, s.InRAM(), s.Device)
	lab.AddFsync(sample.Beside, s.Fsyncs)
	return sample, err
}

// check counts the rows of all tables, and has the server check one of them.
func (s *oltpServer) check(ctx context.Context) error {
	db, err := s.Connect(oltpDatabase)
	if err != nil {
		return err
	}
	defer db.Close()
	return lab.CheckTablesIn(ctx, db, s.Row, s.oltp.data, 1)
}
