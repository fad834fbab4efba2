package dumper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/parts"
)

// Dir is how a directory is written.
type Dir struct {
	// Ending is how its files are compressed: .zst, .gz, or "" for plain ones.
	Ending string
	// PartSize is the size of a file of rows at which the next one is begun, in bytes of text.
	PartSize int64
	// Jobs is how many dumpers read rows at the same time; each database has one at least.
	Jobs int
}

// MaxDumpers is how many dumpers may read at once, each by a connection.
const MaxDumpers = 64

// dirJob is a directory that is being written.
type dirJob struct {
	*job
	dir *parts.Dir
	bar io.Writer
	// made are the definitions of all tables at the moment of the dump, by database.table.
	made definitions
}

// writeDir writes a directory: some dumpers read rows, of one moment, while others write what stands before and behind them.
func (j *job) writeDir(ctx context.Context) error {
	dir, err := parts.Create(j.Out, j.Dir.Ending, j.Mode)
	if err != nil {
		return err
	}
	defer dir.Close()
	bar := j.Bar("dumping " + j.Name)
	d := &dirJob{job: j, dir: dir, bar: bar}
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

// startRows starts the dumpers of rows, all at one moment. Writes wait for no more than their beginning: what there is to
// dump was looked at before, and is looked at behind it.
func (d *dirJob) startRows(ctx context.Context, all *errgroup.Group) (err error) {
	if d.made, err = d.definitions(ctx, ""); err != nil {
		return err
	}
	if err := d.startTogether(ctx, all); err != nil {
		return err
	}
	now, err := d.definitions(ctx, "")
	if err == nil && !maps.Equal(now, d.made) {
		err = fmt.Errorf("dump instance %s: tables were made, altered or dropped as the dump began\nhint: %s, when that is through", d.Name, d.Again())
	}
	return err
}

// startTogether starts the dumpers of rows while writes wait.
func (d *dirJob) startTogether(ctx context.Context, all *errgroup.Group) (err error) {
	shares := d.shares()
	moment, err := d.holdWrites(ctx, len(shares))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, moment.end()) }()
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
func (d *dirJob) shares() (list [][]table) {
	for _, database := range d.Databases {
		tables := d.of(database, aTable, aVersioned)
		for _, t := range tables {
			d.dir.Name(d.inNames(database), t.name)
		}
		n := min(max(1, d.Dir.Jobs/len(d.Databases)), len(tables))
		of := make([][]table, n)
		sizes := make([]int64, n)
		slices.SortStableFunc(tables, func(a, b table) int { return int(min(1, max(-1, b.size-a.size))) })
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

// only are the arguments by which a dumper writes some tables of a database. It looks for each table that is named, one
// by one, so that it is told of the others instead, unless that could leave out one too many.
func (d *dirJob) only(database string, want func(table) bool, args ...string) []string {
	args = slices.Concat(d.args, args)
	var wanted, others []string
	for _, t := range d.tables {
		switch {
		case t.database != database:
		case t.ignored || !want(t):
			others = append(others, "--ignore-table="+t.database+"."+t.name)
		case t.kind == aSequence: // before the tables that it numbers
			wanted = slices.Insert(wanted, 0, t.name)
		default:
			wanted = append(wanted, t.name)
		}
	}
	if len(wanted) > 0 && (d.alike(database) || length(others) > mostArguments) {
		return slices.Concat(args, []string{"--", database}, wanted)
	}
	return slices.Concat(args, others, []string{"--", database})
}

// mostArguments is how long what a dumper is to leave out may be, in bytes: a program takes 2 MB of arguments.
const mostArguments = 1 << 20

func length(words []string) (n int) {
	for _, w := range words {
		n += len(w) + 1
	}
	return n
}

// writeRows writes the rows of some tables, and says when the transaction that reads them has begun.
func (d *dirJob) writeRows(ctx context.Context, tables []table, begun chan<- struct{}) error {
	database := tables[0].database
	mine := map[string]bool{}
	for _, t := range tables {
		mine[t.name] = true
	}
	// LOCK TABLES would have the files of a table wait for each other, and DISABLE KEYS is for a table that one session fills.
	run := d.dumper(d.only(database, func(t table) bool { return mine[t.name] },
		"--no-create-info", "--skip-triggers", "--skip-routines", "--skip-events", "--skip-add-locks", "--skip-disable-keys", "--no-autocommit=0", "--verbose"))
	said, connected, read := false, false, 0
	run.Step = func(line string) {
		if connected && !said {
			said = true
			begun <- struct{}{}
		}
		connected = connected || line == "-- Starting transaction..."
		if strings.HasPrefix(line, "-- Retrieving table structure for table ") {
			read++
		}
	}
	rows := parts.Rows{Dir: d.dir, Database: d.inNames(database), Most: d.Dir.PartSize, Done: func(table string) error { return d.unchanged(ctx, database, table) }}
	if err := run.Do(ctx, func(out io.Reader) error {
		return rows.Cut(io.TeeReader(out, d.bar), "the dump of "+d.Name)
	}); err != nil {
		return err
	}
	if read < len(tables) {
		return fmt.Errorf("dump instance %s: the dumper read %d tables of %s, not %d\nhint: write one file, as -o dump.sql does", d.Name, read, database, len(tables))
	}
	return d.stillThere(ctx, tables)
}

// writeSchema writes what makes the tables of a database.
func (d *dirJob) writeSchema(ctx context.Context, database string) error {
	f, err := d.dir.Schema(d.inNames(database))
	if err != nil {
		return err
	}
	err = d.begin(ctx, f, database, true)
	if err == nil {
		err = d.pass(ctx, f, d.only(database, func(t table) bool { return t.kind != aView }, "--no-data", "--skip-triggers", "--skip-routines", "--skip-events"))
	}
	return errors.Join(err, f.Close())
}

// writeRest writes triggers, events, routines, and the views, which may use them.
func (d *dirJob) writeRest(ctx context.Context, database string) error {
	f, err := d.dir.Rest(d.inNames(database))
	if err != nil {
		return err
	}
	err = d.begin(ctx, f, database, false)
	if err == nil {
		err = d.pass(ctx, f, d.only(database, func(t table) bool { return t.kind == aTable || t.kind == aVersioned }, "--no-create-info", "--no-data"))
	}
	if err == nil && len(d.of(database, aView)) > 0 {
		err = d.pass(ctx, f, d.only(database, func(t table) bool { return t.kind == aView }, "--no-data", "--skip-triggers", "--skip-routines", "--skip-events"))
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
	return d.dumper(args).Do(ctx, func(out io.Reader) error {
		_, err := io.Copy(to, parts.Plain(out))
		return err
	})
}
