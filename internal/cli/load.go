package cli

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/volume"
)

type loadOptions struct {
	// database is that of a dump of several which is loaded.
	database string
	ownNames bool
	// allowEmpty takes dumps without a statement.
	allowEmpty bool
	fit        fitFlags
}

func newLoad(a *app) *cobra.Command {
	var o loadOptions
	cmd := &cobra.Command{
		Use:   "load NAME DATABASE FILE...",
		Short: "Load dumps into a running instance, faster than any client",
		Long: `Load dumps into a database of a running instance, by several connections. The database
is created if it does not exist. - is stdin, and a URL (https://, s3://BUCKET/KEY) is fetched; files
may be compressed (gzip, zstd, xz, bzip2, zip).

The result is what a plain client would load. A dump that names its own database (USE,
CREATE DATABASE) is loaded into DATABASE all the same; if it holds several, --database
chooses one. --own-names loads each under the name that the dump gives it, as a client does.

Settings of a dump that need a right or that the server does not know are left out, and told.
--collations, --definers, --accounts and --fix map what the server would refuse.`,
		Example: `  ramaria load main shop shop.sql.gz
  mysqldump -h prod shop | ramaria load main shop -
  ramaria load main shop prod.sql.gz --collations auto --definers mine --accounts skip`,
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
	cmd.Flags().BoolVar(&o.allowEmpty, "allow-empty", false, allowEmptyFlag)
	o.fit.add(cmd)
	return a.named(cmd)
}

// allowEmptyFlag is what --allow-empty does, wherever dumps are loaded.
const allowEmptyFlag = "take a dump without a single statement: it is an error otherwise"

func runLoad(ctx context.Context, a *app, o *loadOptions, name, database string, files []string) error {
	if o.ownNames && o.database != "" {
		return usageError{errors.New("use --database and --own-names: they exclude each other\nhint: --database loads one database of the dump, --own-names all")}
	}
	mapped, err := o.fit.options()
	if err != nil {
		return err
	}
	debug.SetMemoryLimit(dumpMemory)
	return a.engine.Load(ctx, engine.LoadRequest{
		Name: name, Database: database, From: o.database, OwnNames: o.ownNames, Files: files, Stdin: a.stdin, AllowEmpty: o.allowEmpty, Fit: mapped, Loaded: a.sayLoaded,
	})
}

// sayLoaded tells of a dump that was loaded.
func (a *app) sayLoaded(l engine.Loaded) {
	switch {
	case len(l.Named) == 0:
	case l.OwnNames:
		a.say("note: %s names its own databases and was loaded into them: %s", l.Name, strings.Join(l.Named, ", "))
	default:
		a.say("note: %s names its own database (%s); it was loaded into %s (--own-names keeps its name)", l.Name, strings.Join(l.Named, ", "), l.Database)
	}
	a.say("loaded %s: %s in %.2f s, %s/s", l.Name, volume.FormatBytes(l.Bytes), l.Took.Seconds(), volume.FormatBytes(int64(float64(l.Bytes)/l.Took.Seconds())))
}
