package engine

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/cluster"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// gtidSet is what a member of a group of MySQL has.
type gtidSet struct{ name, gtids string }

// lack is what the member that has the most does not have of another.
type lack struct{ of, gtids string }

// mostOfGroup is the one of all that has the most transactions, the first of those that have, and what it lacks of the others:
// commits come into the logs of two members in another order. The server of asked compares.
func mostOfGroup(ctx context.Context, asked *instance.Instance, all []gtidSet) (best int, lacks []lack, err error) {
	most := uint64(0)
	for i, x := range all {
		count, err := cluster.CountGTIDs(x.gtids)
		if err != nil {
			return 0, nil, err
		}
		if count > most {
			best, most = i, count
		}
	}
	db, err := memberDB(asked)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, y := range all {
		missing, err := dbconn.GTIDsMissing(ctx, db, y.gtids, all[best].gtids)
		if err != nil {
			return 0, nil, err
		}
		if missing != "" {
			lacks = append(lacks, lack{y.name, missing})
		}
	}
	return best, lacks, nil
}

// unite has the member that begins a group get what it lacks of the others, which run apart: of a
// server's log, and where that has it no more of an archive's.
func (e *Engine) unite(ctx context.Context, c *cluster.Cluster, first *instance.Instance, lacks []lack) (err error) {
	if len(lacks) == 0 {
		return nil
	}
	db, err := memberDB(first)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, l := range lacks {
		n, _ := c.Node(l.of)
		e.note("member %s gets %s of %s", first.Name, l.gtids, l.of)
		err := dbconn.PullGTIDs(ctx, db, n.Host, n.Port, c.Login, l.gtids)
		if err != nil && ctx.Err() == nil { // a server that was recovered has a new log
			err = dbconn.WhileWritable(ctx, db, func() error { return e.takeTransactions(ctx, c, first, n, l.gtids) })
			if missing, merr := dbconn.MissingGTIDs(ctx, db, l.gtids); merr != nil || missing != "" {
				err = errors.Join(err, merr, fmt.Errorf("it still lacks %q", missing))
			}
		}
		if err != nil {
			return fmt.Errorf("begin cluster %s: member %s lacks %s of %s, and cannot get it: %w\nhint: the member that was the primary has all commits that were answered; ramaria cluster up %[1]s --without the others makes them copies of it, and loses what they alone have", c.Name, first.Name, l.gtids, l.of, err)
		}
	}
	return nil
}

// takeTransactions has a member that begins a group do what transactions did that the archive of another has.
func (e *Engine) takeTransactions(ctx context.Context, c *cluster.Cluster, first *instance.Instance, of cluster.Node, gtids string) (err error) {
	if len(first.Server.Client.Argv) == 0 {
		return first.Server.NoClient()
	}
	var statements io.ReadCloser
	if c.Local(of) {
		i, err := e.Registry.Open(of.Name)
		if err != nil {
			return err
		}
		statements, err = e.transactions(ctx, i, gtids)
		if err != nil {
			return err
		}
	} else if statements, err = c.Transactions(ctx, of.DoorAddress(), gtids); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, statements.Close()) }()
	to := dbconn.Endpoint{Socket: first.Socket(), Login: first.Supervisor}
	return server.Tool{Program: first.Server.Client, Args: []string{"--binary-mode"}, Config: to.ClientConfig(), In: statements, Out: io.Discard}.Run(ctx)
}

// transactions are statements that do what transactions did that the archive of a member of a group has. The caller must
// close them.
func (e *Engine) transactions(ctx context.Context, i *instance.Instance, gtids string) (_ io.ReadCloser, err error) {
	if len(i.Server.LogReader.Argv) == 0 {
		return nil, fmt.Errorf("read the log of %s: %s comes without mysqlbinlog\nhint: install its package of clients", i.Name, i.Server.Name())
	}
	wanted, err := cluster.CountGTIDs(gtids)
	if err != nil {
		return nil, RequestError{err}
	}
	archive := e.archiveDir(i.Name, i.Spec)
	if archive == "" {
		return nil, RequestError{fmt.Errorf("read the log of %s: it is not durable, and has no archive", i.Name)}
	}
	a, err := durable.OpenReading(archive)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	plans, err := durable.Plans(a.Manifest, durable.Until{})
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(i.Dir, "transactions")
	defer func() { err = errors.Join(err, sys.RemoveTree(dir)) }()
	// A base may have been made since, so that the log behind it does not have them.
	for _, p := range plans {
		if err := sys.RemoveTree(dir); err != nil { // of one that was killed
			return nil, err
		}
		files, err := a.WriteLog(ctx, p, dir)
		if err != nil {
			return nil, err
		}
		out, err := os.OpenFile(filepath.Join(dir, "statements"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		err = server.Tool{Program: i.Server.LogReader, Args: append([]string{"--include-gtids=" + gtids}, files...), Out: out}.Run(ctx)
		if err == nil {
			var found uint64
			if found, err = countTransactions(out); err == nil && found == wanted {
				_, err = out.Seek(0, io.SeekStart)
				return out, err // it goes with the file that is open
			}
		}
		if err := errors.Join(err, out.Close()); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("read the log of %s: its archive does not have all of %s", i.Name, gtids)
}

// countTransactions counts those in what mysqlbinlog wrote.
func countTransactions(r io.ReadSeeker) (count uint64, err error) {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	lines := bufio.NewReaderSize(r, 64<<10)
	whole := true // the piece begins a line
	for {
		piece, more, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			return count, nil
		}
		if err != nil {
			return 0, err
		}
		if next, ok := bytes.CutPrefix(piece, []byte("SET @@SESSION.GTID_NEXT= '")); ok && whole && !bytes.HasPrefix(next, []byte("AUTOMATIC")) {
			count++
		}
		whole = !more
	}
}
