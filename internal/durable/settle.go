package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/xa"
)

// settle has the server of a snapshot have those XA transactions prepared which its log has, and committed those that its
// log has committed. MySQL's recovery does that by itself.
func (s *Snapshot) settle(ctx context.Context, r *running, b *archive.Base) error {
	done, err := s.settleXA(ctx, r)
	if err == nil && len(done.Unsure) > 0 {
		err = fmt.Errorf("the log has some of these XA transactions committed, and InnoDB has them prepared: %s\nhint: try again", strings.Join(done.Unsure, ", "))
	}
	b.Prepared, b.Settled = done.All, true
	return err
}

func (s *Snapshot) settleXA(ctx context.Context, r *running) (done xa.Done, err error) {
	log, is := xa.Log{}, xa.Recovered{}
	if s.Instance.Server.Flavour == server.MariaDB {
		if log, err = xa.ReadLog(s.DataDir, server.BinlogName); err != nil {
			return done, err
		}
		if is.Committed, err = xa.Committed(io.NewSectionReader(r.log, r.from, math.MaxInt64-r.from)); err != nil {
			return done, err
		}
		if s.Archive != "" {
			is.Known = func() (map[string]bool, error) { return knownXA(s.Archive, s.Dir) }
		}
	}
	return log.Settle(ctx, r.db, is)
}

// settling is the directory below an instance's run directory of the server that settles, whose socket nobody knows.
const settling = "x"

// Settled is what Settle has done.
type Settled struct {
	xa.Done
	// Remade are the tables that it made again.
	Remade []string
}

// Settle has the data of an instance, whose server does not run and was killed, have what the log has, before applications
// meet it: those XA transactions prepared which the log has, those committed that the log has committed, the tables that the
// log has made, and its accounts, rights and routines. A server of MariaDB is started that only this process reaches. Where
// the log has no transactions, or its server was shut down, there is nothing to do. keys is as for BeginAgain, waits as for
// Keep.
func (k *Keeper) Settle(ctx context.Context, keys string, waits func(error)) (done Settled, err error) {
	i := k.Instance
	if needed, err := unsettled(i.DataDir()); err != nil || !needed {
		return done, err
	}
	level, _ := i.Spec.Durability()
	s := &Snapshot{
		Instance: i, DataDir: i.DataDir(), Dir: i.Dir, RunDir: filepath.Join(i.RunDir, settling), TmpDir: i.TmpDir(), Volume: i.Volume, Keys: keys, Level: level, Archive: k.Archive.Dir,
	}
	if err := server.MakeDirs(i.Account, i.RunDir); err != nil {
		return done, err
	}
	r, err := s.start(ctx, false)
	if err != nil {
		return done, fmt.Errorf("settle what the log has: %w", err)
	}
	defer func() {
		r.close()
		err = errors.Join(err, sys.RemoveTree(s.RunDir))
	}()
	if err := s.redoUnended(ctx, r.db, archive.Position{File: math.MaxUint32}); err != nil {
		return done, err
	}
	if done.Remade, err = s.remake(ctx, r.db, math.MaxUint32); err != nil { // first, since it was before
		return done, err
	}
	if done.Done, err = s.settleXA(ctx, r); err != nil {
		return done, err
	}
	if err := r.stop(ctx); err != nil {
		return done, fmt.Errorf("settle what the log has: %w", err)
	}
	return done, k.TakeIn(ctx, waits)
}

// unsettled reports whether the server of a data directory was killed and has written transactions to the log since it was
// started: one that was not killed says so at the end of the log. Which of them were XA transactions of one phase no log says.
func unsettled(dir string) (bool, error) {
	files, err := binlog.Files(dir, server.BinlogName)
	if err != nil {
		return false, err
	}
	begins := true // what follows is what a start of the server began
	for _, name := range slices.Backward(files) {
		x, err := binlog.Scan(filepath.Join(dir, name), 0, nil)
		if err != nil || begins && x.Stopped {
			return false, err
		}
		if x.Groups > 0 {
			return true, nil
		}
		begins = x.Format != nil && x.Format.Created != 0
	}
	return false, nil
}
