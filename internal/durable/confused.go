package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
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

// endsWithin is how long before the end of the log a transaction may be logged that is not ended yet, unless it waits for a
// base backup.
const endsWithin = 2 * time.Second

// unmix leaves XA transactions out of the last file of a snapshot's log that are ended in the data: of those few that are
// left, which is all that its server has to look for, most have one format. Were one left out that is not ended, the server
// would roll it back, and say so.
func (s *Snapshot) unmix() error {
	files, err := s.logFiles()
	if err != nil {
		return err
	}
	last := files[len(files)-1]
	steps, ends := []binlog.XAGroup{}, map[string]binlog.XAGroup{}
	x, err := binlog.ScanXA(last.path, func(g binlog.XAGroup) error {
		steps, ends[g.Name] = append(steps, g), g
		return nil
	})
	if err != nil {
		return err
	}
	ended := func(g binlog.XAGroup) bool {
		waits := s.Fence != nil && !(archive.Position{File: last.number, Offset: g.Start}).Before(*s.Fence)
		return g.Step != binlog.XAPrepares && !waits && g.Time.Before(x.Last.Add(-endsWithin))
	}
	steps = slices.DeleteFunc(steps, func(g binlog.XAGroup) bool { return !ended(ends[g.Name]) })
	perm, err := cutOut(last.path, steps)
	if err != nil {
		return err
	}
	return s.Instance.Account.Own(last.path, perm)
}

// cutOut writes a file of a log anew, without some groups, and returns the mode that it had.
func cutOut(path string, groups []binlog.XAGroup) (perm fs.FileMode, err error) {
	dir, name := filepath.Split(path)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	from, err := sys.OpenIn(dir, name) // the snapshot may have a link in its place
	if err != nil {
		return 0, err
	}
	defer from.Close()
	fi, err := from.Stat()
	if err != nil {
		return 0, err
	}
	perm = fi.Mode().Perm()
	to, err := root.OpenFile(name+".new", os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	at := int64(0)
	for _, g := range append(groups, binlog.XAGroup{Group: binlog.Group{Start: fi.Size()}}) {
		if _, err := io.Copy(to, io.NewSectionReader(from, at, g.Start-at)); err != nil {
			return 0, err
		}
		at = g.End
	}
	return perm, root.Rename(name+".new", name)
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
	k, err := keep(ctx, a, i, boot, Policy{}, slog.New(slog.DiscardHandler), waits)
	if err != nil {
		return errors.Join(err, a.Close())
	}
	return errors.Join(k.noteBlind(), k.Close(), errConfused) // what is hidden is given up, too
}
