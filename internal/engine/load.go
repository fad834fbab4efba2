package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/fit"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/load"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// LoadRequest asks to load dumps into a database of a running instance.
type LoadRequest struct {
	Name string
	// Database is the database to load into; it is made if it does not exist.
	Database string
	// From is the database to load of dumps that hold several.
	From string
	// OwnNames loads each database of the dumps under its name in the dump.
	OwnNames bool
	// Files are the paths or URLs of the dumps, in the order of loading; the path Stdin ("-") is the
	// field Stdin.
	Files []string
	Stdin io.Reader
	// AllowEmpty takes dumps without a statement.
	AllowEmpty bool
	// Fit is what of dumps is mapped.
	Fit fit.Options
	// Loaded is called after each dump.
	Loaded func(Loaded)
}

// Loaded describes a dump that was loaded.
type Loaded struct {
	// Name names the dump in messages.
	Name     string
	Database string
	OwnNames bool
	// Named are the other databases that the dump names.
	Named []string
	Bytes int64
	Took  time.Duration
}

// Load loads dumps into a running instance. The error matches NotRunningError if the instance
// does not run, and RequestError if the database's name is invalid.
func (e *Engine) Load(ctx context.Context, q LoadRequest) error {
	i, err := e.Running(q.Name)
	if err != nil {
		return err
	}
	if why := dbconn.UnfitName(q.Database); why != "" {
		return RequestError{fmt.Errorf("load into database %q: it %s\nhint: ramaria load %s DATABASE FILE, where DATABASE is another name", q.Database, why, q.Name)}
	}
	if r := i.Spec.Replica; r != nil {
		return RequestError{fmt.Errorf("load into instance %s: it is a replica of %s\nhint: ramaria load %[2]s, which it follows, or ramaria replica promote %[1]s", q.Name, r.Of)}
	}
	if q.Files, err = inDirectories(q.Files); err != nil {
		return err
	}
	for _, file := range q.Files { // before anything is loaded
		if _, err := findDump(file, q.Stdin); err != nil {
			return err
		}
	}
	to := load.Target{Server: i.Server, Endpoint: i.Endpoint, AllowEmpty: q.AllowEmpty, Fit: q.Fit, Say: e.note}
	to.Endpoint.Database = q.Database
	var made bool
	if err := e.RetryReadOnly(ctx, i, "database "+q.Database, func() (err error) {
		made, err = to.CreateDatabase(ctx)
		return err
	}); err != nil {
		return err
	}
	if !q.OwnNames {
		to.Rename = &dump.Rename{
			To: q.Database, From: q.From, New: made,
			Hint: "--database NAME loads one of them into " + q.Database + ", --own-names each under its own name; what stands before was loaded",
		}
	}
	return e.noteLoad(i, q, func() error { return e.loadFiles(ctx, i, q, to) })
}

// noteLoad has it be known of a load, if it is killed, that it has not ended: rows may be missing, and keys that
// are made behind them.
func (e *Engine) noteLoad(i *instance.Instance, q LoadRequest, do func() error) error {
	l, err := e.Registry.BeginLoading(i.Name, instance.Loading{Database: q.Database, Dumps: shownPaths(q.Files), Began: time.Now()})
	if err != nil {
		return err
	}
	err = do()
	switch {
	case load.Unfinished(err):
		return errors.Join(err, l.Leave())
	case err == nil:
		err = i.ForgetUnfinished(e.Registry, q.Database)
	}
	return errors.Join(err, l.End())
}

// loadFiles loads the dumps one after the other.
func (e *Engine) loadFiles(ctx context.Context, i *instance.Instance, q LoadRequest, to load.Target) error {
	return e.LockNewAccounts(ctx, i, func() error {
		for _, file := range q.Files {
			l, err := e.loadFile(ctx, q, to, file)
			if err != nil {
				return e.ExplainNoRoom(ctx, i, "the rest of "+shownName(file), err)
			}
			q.Loaded(l)
		}
		return nil
	})
}

// loadFile loads one dump.
func (e *Engine) loadFile(ctx context.Context, q LoadRequest, to load.Target, file string) (_ Loaded, err error) {
	d, err := findDump(file, q.Stdin)
	if err == nil {
		err = d.connect(ctx)
	}
	if err != nil {
		return Loaded{}, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	bar := e.bar("loading", d)
	began := time.Now()
	sum, err := loadFrom(ctx, to, d, bar)
	if err := bar.Close(); err != nil {
		return Loaded{}, err
	}
	took := time.Since(began)
	if fault, ok := errors.AsType[*dump.Error](err); ok && fault.Hint == "" {
		fault.Hint = "correct the dump and load it again; the statements before the fault were loaded"
	}
	if ctx.Err() != nil {
		return Loaded{}, fmt.Errorf("load %s: interrupted after %s: %w\nhint: what was loaded stays: remove it, or load the dump again if it begins with DROP", d.name, volume.FormatBytes(sum.Bytes), err)
	}
	return Loaded{
		Name: d.name, Database: q.Database, OwnNames: q.OwnNames, Bytes: sum.Bytes, Took: took,
		Named: slices.DeleteFunc(slices.Clone(sum.Databases), func(db string) bool { return db == q.Database || q.From != "" && db != q.From }),
	}, err
}

func loadFrom(ctx context.Context, to load.Target, d dumpFile, bar io.Writer) (dump.Summary, error) {
	if d.dir {
		return loadDir(ctx, to, d.path, bar)
	}
	r, err := d.open(ctx, bar)
	if err != nil {
		return dump.Summary{}, err
	}
	defer r.Close()
	r.Tell(to.Say)
	return to.Load(ctx, d.name, r)
}
