package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// MySQL, when it recovers, looks in the last file of its log for what became of XA transactions, and keeps them in a tree. The
// comparison that this goes by (xid_t::operator<, as of 9.7) is no order as soon as their names have several format ids: of
// transactions which it then does not find it rolls back what its log has prepared, or committed.

// confused reports whether the server whose data lies in a directory would recover so: it was killed, or runs, and the last
// file of its log has XA transactions of several formats. Members of clusters know no XA transactions.
func confused(i *instance.Instance, dir string) (bool, error) {
	if i.Server.Flavour != server.MySQL || i.Spec.Cluster != "" {
		return false, nil
	}
	files, err := binlog.Files(dir, server.BinlogName)
	if err != nil || len(files) == 0 {
		return false, err
	}
	formats := map[string]bool{}
	x, err := binlog.ScanXA(filepath.Join(dir, files[len(files)-1]), func(g binlog.XAGroup) error {
		formats[g.Name[strings.LastIndexByte(g.Name, ',')+1:]] = true
		return nil
	})
	return len(formats) > 1 && !x.Stopped, err
}

// rolledBack is what such a server says of it, if it says all.
var rolledBack = regexp.MustCompile(`Crash recovery finished in InnoDB engine\. .*\brolled back \d+[^.]*XA transaction`)

// unconfused looks whether a server that would recover so has rolled any back.
func (r *running) unconfused() error {
	text, err := io.ReadAll(io.NewSectionReader(r.log, r.from, math.MaxInt64-r.from))
	if err == nil && rolledBack.Match(text) {
		err = errors.New("XA transactions of several format ids were at work, which this server mixes up: it has rolled back some that its log may have\nhint: try again; give all XA transactions of this server one format id")
	}
	return err
}

// errConfused says why data in RAM is given up that is all there.
var errConfused = fmt.Errorf("%w: its server was killed, and would mix up the XA transactions of its log, which have several format ids", ErrBehind)

// Confused reports whether the server of an instance, which runs or was killed, would mix up XA transactions when it recovers
// from a kill: what its log has is to be recovered instead.
func Confused(i *instance.Instance) (bool, error) { return confused(i, i.DataDir()) }

// GiveUp archives what is in the log of such an instance and not in its archive, and returns an error that matches ErrBehind. The
// archive is closed. waits is as for Keep.
func (a *Archive) GiveUp(ctx context.Context, i *instance.Instance, boot string, waits func(error)) error {
	k, err := Keep(ctx, a, i, boot, Policy{}, slog.New(slog.DiscardHandler), waits)
	if err != nil {
		return errors.Join(err, a.Close())
	}
	return errors.Join(k.Close(), errConfused)
}
