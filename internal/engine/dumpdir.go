package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/parts"
)

// DumpDir is how a directory is written.
type DumpDir struct {
	// Ending is how its files are compressed: .zst, .gz, or "" for plain ones.
	Ending string
	// PartSize is the size of a file of rows at which the next one is begun, in bytes of text.
	PartSize int64
	// Jobs is how many dumpers read rows at the same time; each database has one at least.
	Jobs int
}

// dirJob is a directory that is being written.
type dirJob struct {
	*dumpJob
	dir *parts.Dir
	bar io.Writer
	// made are the definitions of all tables at the moment of the dump, by database.table.
	made definitions
}

// writeDir writes a directory: some dumpers read rows, of one moment, while others write what stands before and behind them.
func (j *dumpJob) writeDir(ctx context.Context) error {
	dir, err := parts.Create(j.Out, j.Dir.Ending, j.Mode)
	if err != nil {
		return err
	}
	defer dir.Close()
	bar := j.bar()
	d := &dirJob{dumpJob: j, dir: dir, bar: bar}
	err = d.write(ctx)
	if cerr := bar.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := dir.Keep(); err != nil {
		return err
	}
	j.done.Files, j.done.Size = dir.Wrote()
	return nil
}

func (d *dirJob) write(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	all, ctx := errgroup.WithContext(ctx)
	if err := d.startRows(ctx, all); err != nil {
		stop()
		if werr := all.Wait(); werr != nil && errors.Is(err, context.Canceled) {
			err = werr // for which it was stopped
		}
		return err
	}
	all.Go(func() error {
		for _, database := range d.Databases {
			if err := d.writeSchema(ctx, database); err != nil {
				return err
			}
			if err := d.writeRest(ctx, database); err != nil {
				return err
			}
		}
		// What the rows fit is what the schema must have.
		return d.unchanged(ctx, "")
	})
	return all.Wait()
}

// beginWithin is for how long writes wait for the dumpers to begin, each of which takes some 20 ms, at most.
const beginWithin = 20 * time.Second

// startRows starts the dumpers of rows, all at one moment.
func (d *dirJob) startRows(ctx context.Context, all *errgroup.Group) (err error) {
	shares := d.shares()
	moment, err := d.holdWrites(ctx, len(shares))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, moment.end()) }()
	if d.made, err = d.definitions(ctx, moment.conn, ""); err != nil {
		return err
	}
	begun := make(chan struct{}, len(shares))
	for _, tables := range shares {
		all.Go(func() error { return d.writeRows(ctx, tables, begun) })
	}
	for range shares {
		select {
		case <-begun:
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(beginWithin):
			return fmt.Errorf("dump instance %s: the dumpers do not say that they have begun", d.Name)
		}
	}
	return nil
}

// shares are the tables that each dumper reads, of one database, so that all have about as much to read.
func (d *dirJob) shares() (list [][]dumpTable) {
	for _, database := range d.Databases {
		tables := d.of(database, aTable, aVersioned)
		d.dir.Name(d.inNames(database), names(tables))
		n := min(max(1, d.Dir.Jobs/len(d.Databases)), len(tables))
		of := make([][]dumpTable, n)
		sizes := make([]int64, n)
		slices.SortStableFunc(tables, func(a, b dumpTable) int { return int(min(1, max(-1, b.size-a.size))) })
		for _, t := range tables {
			least := slices.Index(sizes, slices.Min(sizes))
			of[least] = append(of[least], t)
			sizes[least] += max(t.size, 1)
		}
		list = append(list, of...)
	}
	return list
}

// inNames is the database as names of files and USE have it: one alone is loaded into any.
func (d *dirJob) inNames(database string) string {
	if len(d.Databases) == 1 {
		return ""
	}
	return database
}

// writeRows writes the rows of some tables, and says when the transaction that reads them has begun.
func (d *dirJob) writeRows(ctx context.Context, tables []dumpTable, begun chan<- struct{}) error {
	database := tables[0].database
	// LOCK TABLES would have the files of a table wait for each other, and DISABLE KEYS is for a table that one session fills.
	args := slices.Concat(d.args, []string{"--no-create-info", "--skip-triggers", "--skip-routines", "--skip-events", "--skip-add-locks", "--skip-disable-keys", "--no-autocommit=0", "--verbose", "--", database}, names(tables))
	run := d.dumper(args)
	said, connected := false, false
	run.step = func(line string) {
		if connected && !said {
			said = true
			begun <- struct{}{}
		}
		connected = connected || line == "-- Starting transaction..."
	}
	rows := parts.Rows{Dir: d.dir, Database: d.inNames(database), Most: d.Dir.PartSize, Done: func(table string) error { return d.unchanged(ctx, database, table) }}
	if err := run.run(ctx, func(out io.Reader) error {
		return rows.Cut(io.TeeReader(out, d.bar), "the dump of "+d.Name)
	}); err != nil {
		return err
	}
	return d.stillThere(ctx, tables)
}

// writeSchema writes what makes the tables of a database.
func (d *dirJob) writeSchema(ctx context.Context, database string) error {
	tables := append(d.of(database, aSequence), d.of(database, aTable, aVersioned)...)
	f, err := d.dir.Schema(d.inNames(database))
	if err != nil {
		return err
	}
	err = d.begin(ctx, f, database, true)
	if err == nil && len(tables) > 0 {
		err = d.pass(ctx, f, slices.Concat([]string{"--no-data", "--skip-triggers", "--skip-routines", "--skip-events", "--", database}, names(tables)))
	}
	return errors.Join(err, f.Close())
}

// writeRest writes triggers, events, routines, and the views, which may use them.
func (d *dirJob) writeRest(ctx context.Context, database string) error {
	tables, views := d.of(database, aTable, aVersioned), d.of(database, aView)
	f, err := d.dir.Rest(d.inNames(database))
	if err != nil {
		return err
	}
	err = d.begin(ctx, f, database, false)
	if err == nil {
		args := []string{"--no-create-info", "--no-data", "--"}
		if len(tables) == 0 { // without names it is all of a database
			args = []string{"--no-create-info", "--no-data", "--skip-triggers"}
			for _, t := range slices.Concat(views, d.of(database, aSequence)) {
				args = append(args, "--ignore-table="+t.database+"."+t.name)
			}
			args = append(args, "--")
		}
		err = d.pass(ctx, f, slices.Concat(args, []string{database}, names(tables)))
	}
	if err == nil && len(views) > 0 {
		err = d.pass(ctx, f, slices.Concat([]string{"--no-data", "--skip-triggers", "--skip-routines", "--skip-events", "--", database}, names(views)))
	}
	return errors.Join(err, f.Close())
}

// begin chooses the database, and makes it, where there are several.
func (d *dirJob) begin(ctx context.Context, to io.Writer, database string, create bool) error {
	if d.inNames(database) == "" {
		return nil
	}
	if create {
		if err := dbconn.Query(ctx, d.db, "SHOW CREATE DATABASE IF NOT EXISTS "+dbconn.QuoteName(database), func(c []string) error {
			_, err := fmt.Fprintf(to, "%s;\n", c[1])
			return err
		}); err != nil {
			return err
		}
	}
	_, err := io.WriteString(to, parts.Use(database))
	return err
}

// pass has a dumper write into a file as it does.
func (d *dirJob) pass(ctx context.Context, to io.Writer, args []string) error {
	return d.dumper(slices.Concat(d.args, args)).run(ctx, func(out io.Reader) error {
		_, err := io.Copy(to, parts.Plain(out))
		return err
	})
}
