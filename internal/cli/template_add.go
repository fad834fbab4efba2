package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/volume"
)

type templateAddOptions struct {
	at
	from []string
	key  string
	// database is that of a dump of several which is loaded.
	database string
	json     bool
	// allowEmpty takes dumps without a statement.
	allowEmpty bool
	fit        fitFlags
}

func newTemplateAdd(a *app) *cobra.Command {
	var o templateAddOptions
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Make a database a template as it is now, or load one from dumps",
		Long: `Make a database a template as it is now, or load one from dumps, and print its name.

With --from, the dumps are loaded into a new database, whose name begins with NAME, unless
a template of that name and key exists. Several commands may do this at once: one loads,
the others wait. A dump may name its own database (USE, CREATE DATABASE); if it holds
several, --database chooses one.`,
		Example: `  ramaria up --from shop.sql && ramaria template add shop
  T=$(ramaria template add shop --from schema.sql --from fixtures.sql)
  ramaria db new "$T"`,
		Args: exactArgs(1, "the name of a database"),
		RunE: func(cmd *cobra.Command, args []string) error { return runTemplateAdd(cmd.Context(), a, &o, args[0]) },
	}
	o.add(a, cmd)
	cmd.Flags().StringArrayVar(&o.from, "from", nil, "`FILE` to load: a dump (.sql, .sql.gz, .sql.zst, .sql.xz, .sql.bz2, .zip; - for stdin; https:// or s3://BUCKET/KEY) or a directory of dumps; repeatable")
	cmd.Flags().StringVar(&o.database, "database", "", "load only the database `NAME` of the dumps, if they hold several")
	cmd.Flags().StringVar(&o.key, "key", "", "`TEXT` that identifies what is loaded (default: a hash of the files)")
	cmd.Flags().BoolVar(&o.allowEmpty, "allow-empty", false, allowEmptyFlag)
	o.fit.add(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, printJSONFlag)
	return cmd
}

func runTemplateAdd(ctx context.Context, a *app, o *templateAddOptions, name string) error {
	c, err := o.client(a)
	if err != nil {
		return err
	}
	switch {
	case len(o.from) > 0:
	case o.key != "":
		return usageError{errors.New("use --key: it needs --from\nhint: add --from FILE")}
	case o.database != "":
		return usageError{errors.New("use --database: it needs --from\nhint: add --from FILE")}
	}
	mapped, err := o.fit.options()
	if err != nil {
		return err
	}
	t, err := a.engine.AddTemplate(ctx, c, engine.TemplateRequest{Name: name, From: image.ParseSources(o.from), Stdin: a.stdin, Key: o.key, Database: o.database, AllowEmpty: o.allowEmpty, Fit: mapped})
	if err != nil {
		return err
	}
	if o.json {
		return a.printJSON(t)
	}
	for _, note := range t.Notes {
		a.say("note: %s", note)
	}
	a.say("%s is a template: %d tables, %s; ramaria db new %[1]s clones it", t.Name, t.Tables, volume.FormatBytes(t.Bytes))
	fmt.Fprintln(a.stdout, t.Name)
	return nil
}
