package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/load"
	"github.com/ramaria-db/ramaria/internal/volume"
)

type loadOptions struct {
	// database is that of a dump of several which is loaded.
	database string
	ownNames bool
}

func newLoad(a *app) *cobra.Command {
	var o loadOptions
	cmd := &cobra.Command{
		Use:   "load NAME DATABASE FILE...",
		Short: "Load dumps into a running instance, faster than any client",
		Long: `Load dumps into a database of a running instance, by several connections. The database
is created if it does not exist. - is stdin; files may be compressed (gzip, zstd, xz).

The result is what a plain client would load. A dump that names its own database (USE,
CREATE DATABASE) is loaded into DATABASE all the same; if it holds several, --database
chooses one. --own-names loads each under the name that the dump gives it, as a client does.`,
		Example: `  ramaria load main shop shop.sql.gz
  mysqldump -h prod shop | ramaria load main shop -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 3 {
				return usageError{errors.New("load: give an instance, a database and a file\nhint: ramaria load main shop shop.sql")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runLoad(cmd.Context(), a, &o, args[0], args[1], args[2:])
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 1 {
				return nil, cobra.ShellCompDirectiveDefault // files
			}
			return a.completeNames(cmd, args, word)
		},
	}
	cmd.Flags().StringVar(&o.database, "database", "", "load only the database `NAME` of the dumps, if they hold several")
	cmd.Flags().BoolVar(&o.ownNames, "own-names", false, "load each database under the name that the dump gives it")
	return a.named(cmd)
}

func runLoad(ctx context.Context, a *app, o *loadOptions, name, database string, files []string) error {
	if o.ownNames && o.database != "" {
		return usageError{errors.New("use --database and --own-names: they exclude each other\nhint: --database loads one database of the dump, --own-names all")}
	}
	debug.SetMemoryLimit(dumpMemory)
	i, err := a.engine.Running(name)
	if err != nil {
		return err
	}
	if why := dbconn.UnfitName(database); why != "" {
		return usageError{fmt.Errorf("load into database %q: it %s", database, why)}
	}
	for _, file := range files { // before anything is loaded
		if _, err := inputInfo(file); err != nil {
			return err
		}
	}
	to := load.Target{Server: i.Server, Endpoint: i.Endpoint}
	to.Endpoint.Database = database
	var made bool
	if err := a.engine.Write(ctx, i, "database "+database, func() (err error) {
		made, err = to.CreateDatabase(ctx)
		return err
	}); err != nil {
		return err
	}
	if !o.ownNames {
		to.Rename = &dump.Rename{
			To: database, From: o.database, New: made,
			Hint: "--database NAME loads one of them into " + database + ", --own-names each under its own name; what stands before was loaded",
		}
	}
	return a.engine.LockingOpen(ctx, i, func() error {
		for _, file := range files {
			if err := a.loadFile(ctx, to, file); err != nil {
				return a.engine.BlameRoom(ctx, i, "the rest of "+filepath.Base(file), err)
			}
		}
		return nil
	})
}

// loadFile loads one dump and says what was loaded.
func (a *app) loadFile(ctx context.Context, to load.Target, file string) error {
	info, err := inputInfo(file)
	if err != nil {
		return err
	}
	name, bar := a.dumpBar("loading", file, info)
	began := time.Now()
	sum, err := loadFrom(ctx, to, file, name, info, bar)
	if err := bar.Close(); err != nil {
		return err
	}
	took := time.Since(began)
	if fault, ok := errors.AsType[*dump.Error](err); ok && fault.Hint == "" {
		fault.Hint = "correct the dump and load it again; the statements before the fault were loaded"
	}
	if ctx.Err() != nil {
		return fmt.Errorf("load %s: interrupted after %s: %w\nhint: what was loaded stays: remove it, or load the dump again if it begins with DROP", name, volume.FormatBytes(sum.Bytes), err)
	}
	if err != nil {
		return err
	}
	if others := slices.DeleteFunc(slices.Clone(sum.Databases), func(db string) bool { return db == to.Endpoint.Database }); len(others) > 0 {
		if to.Rename != nil {
			a.say("note: %s names its own database (%s); it was loaded into %s (--own-names keeps its name)", name, strings.Join(others, ", "), to.Endpoint.Database)
		} else {
			a.say("note: %s names its own databases and was loaded into them: %s", name, strings.Join(others, ", "))
		}
	}
	a.say("loaded %s: %s in %.2f s, %s/s", name, volume.FormatBytes(sum.Bytes), took.Seconds(), volume.FormatBytes(int64(float64(sum.Bytes)/took.Seconds())))
	return nil
}

func loadFrom(ctx context.Context, to load.Target, file, name string, info fs.FileInfo, bar io.Writer) (dump.Summary, error) {
	r, err := openDump(ctx, file, name, info, bar)
	if err != nil {
		return dump.Summary{}, err
	}
	defer r.Close()
	return to.Load(ctx, name, r)
}
