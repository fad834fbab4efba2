package durable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/xa"
)

// settle has the server of a snapshot have those XA transactions prepared which its log has. MySQL's recovery does that
// by itself.
func (s *Snapshot) settle(ctx context.Context, db *sql.DB, b *archive.Base) error {
	log := xa.Log{}
	if s.Instance.Server.Flavour == server.MariaDB {
		var err error
		if log, err = xa.ReadLog(s.DataDir, server.BinlogName); err != nil {
			return err
		}
	}
	done, err := log.Settle(ctx, db, xa.Recovered{})
	b.Prepared, b.Settled = done.All, true
	return err
}

// settling is the directory below an instance's run directory of the server that settles, whose socket nobody knows.
const settling = "x"

// SettleXA has the data of an instance, whose server does not run and was killed, have those XA transactions prepared
// which the log has, before applications meet them: a server of MariaDB is started that only this process reaches. Where
// the log has none, or its server was shut down, there is nothing to do. keys is as for BeginAgain, waits as for Keep.
func (k *Keeper) SettleXA(ctx context.Context, keys string, waits func(error)) (done xa.Done, err error) {
	i := k.Instance
	if needed, err := k.unsettled(); err != nil || !needed {
		return done, err
	}
	level, _ := i.Spec.Durability()
	s := &Snapshot{
		Instance: i, DataDir: i.DataDir(), Dir: i.Dir, RunDir: filepath.Join(i.RunDir, settling), TmpDir: i.TmpDir(), Volume: i.Volume, Keys: keys, Level: level,
	}
	if err := server.MakeDirs(i.Account, i.RunDir); err != nil {
		return done, err
	}
	r, err := s.start(ctx)
	if err != nil {
		return done, fmt.Errorf("settle XA transactions: %w", err)
	}
	defer func() {
		r.close()
		err = errors.Join(err, sys.RemoveTree(s.RunDir))
	}()
	log, err := xa.ReadLog(s.DataDir, server.BinlogName)
	if err != nil {
		return done, fmt.Errorf("settle XA transactions: %w", err)
	}
	if done, err = log.Settle(ctx, r.db, xa.Recovered{}); err != nil {
		return done, err
	}
	if err := r.stop(ctx); err != nil {
		return done, fmt.Errorf("settle XA transactions: %w", err)
	}
	return done, k.TakeIn(ctx, waits)
}

// unsettled reports whether the log has XA transactions, and its server was killed: that of one that was not says so at
// its end.
func (k *Keeper) unsettled() (bool, error) {
	dir := k.Instance.DataDir()
	files, err := binlog.Files(dir, server.BinlogName)
	if err != nil || len(files) == 0 {
		return false, err
	}
	last, err := binlog.Scan(filepath.Join(dir, files[len(files)-1]), 0, nil)
	if err != nil || last.Ended {
		return false, err
	}
	log, err := xa.ReadLog(dir, server.BinlogName)
	return len(log.Steps) > 0, err
}
