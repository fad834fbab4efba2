package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/load"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

type templateAddOptions struct {
	at
	from []string
	key  string
	// database is that of a dump of several which is loaded.
	database string
	json     bool
}

func newTemplateAdd(a *app) *cobra.Command {
	var o templateAddOptions
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Make a database a template as it is now, or load one from dumps",
		Long: `Make a database a template as it is now, or load one from dumps, and print its name.

With --from the dumps are loaded into a new database, whose name begins with NAME, unless
there is a template of that name and key already. Several at once are right: one loads,
the others wait. A dump may name its database itself (USE, CREATE DATABASE); of one that holds
several, --database says which.`,
		Example: `  ramaria up --from shop.sql && ramaria template add shop
  T=$(ramaria template add shop --from schema.sql --from fixtures.sql)
  ramaria db new "$T"`,
		Args: exactArgs(1, "the name of a database"),
		RunE: func(cmd *cobra.Command, args []string) error { return runTemplateAdd(cmd.Context(), a, &o, args[0]) },
	}
	o.add(a, cmd)
	cmd.Flags().StringArrayVar(&o.from, "from", nil, "`FILE` that is loaded: a dump (.sql, .sql.gz, .sql.zst, .sql.xz) or a directory of dumps; repeatable")
	cmd.Flags().StringVar(&o.database, "database", "", "`NAME` of the database in the dumps that is loaded, where they hold several")
	cmd.Flags().StringVar(&o.key, "key", "", "`TEXT` that stands for what is loaded (default: a hash of the files)")
	cmd.Flags().BoolVar(&o.json, "json", false, "print it as JSON")
	return cmd
}

func runTemplateAdd(ctx context.Context, a *app, o *templateAddOptions, name string) error {
	c, err := o.client(a)
	if err != nil {
		return err
	}
	var t client.Template
	switch {
	case len(o.from) > 0:
		t, err = o.load(ctx, a, c, name)
	case o.key != "":
		return usageError{errors.New("use --key: it stands for what --from loads\nhint: add --from FILE")}
	case o.database != "":
		return usageError{errors.New("use --database: it chooses from what --from loads\nhint: add --from FILE")}
	default:
		t, err = c.PutTemplate(ctx, name)
	}
	if err != nil {
		return err
	}
	if o.json {
		return a.printJSON(t)
	}
	a.say("%s is a template: %d tables, %s; ramaria db new %[1]s clones it", t.Name, t.Tables, volume.FormatBytes(t.Bytes))
	fmt.Fprintln(a.stdout, t.Name)
	return nil
}

// load returns the template that the dumps make, and makes it unless it is there.
func (o *templateAddOptions) load(ctx context.Context, a *app, c *client.Client, name string) (client.Template, error) {
	paths, key, err := image.Dumps(ctx, a.memo, o.from)
	if err != nil {
		return client.Template{}, err
	}
	if o.key != "" {
		key = o.key
	}
	if o.database != "" {
		key += " " + o.database
	}
	claim, err := c.CreateTemplate(ctx, client.TemplateRequest{Name: name, Key: key, WaitSeconds: loadTime.Seconds(), BuildSeconds: loadTime.Seconds()})
	if err != nil || claim.State == client.StateReady {
		return claim.Template, err
	}
	var t client.Template
	if err = o.fill(ctx, a, c, claim, paths); err == nil {
		t, err = c.PutTemplate(ctx, claim.Template.Name)
	}
	if err != nil { // it is another's turn
		err = errors.Join(err, c.DeleteTemplate(context.WithoutCancel(ctx), claim.Template.Name))
	}
	return t, err
}

// loadTime is how long loading dumps may take.
const loadTime = time.Hour

// fill loads dumps into the database of a template that is being built.
func (o *templateAddOptions) fill(ctx context.Context, a *app, c *client.Client, claim client.TemplateClaim, paths []string) error {
	s, err := c.Status(ctx)
	if err != nil {
		return err
	}
	i, err := a.registry.Open(s.Name)
	if err != nil {
		return err
	}
	if err := o.checkDatabases(claim.Template, paths); err != nil {
		return err
	}
	d := claim.Database
	to := load.Target{
		Server: i.Server, Endpoint: server.Endpoint{
			Host: d.Host, Port: d.Port, Socket: d.Socket, Login: server.Login{User: d.User, Password: d.Password}, Database: d.Name,
		},
		Rename: &dump.Rename{To: d.Name, From: o.database, New: true, Hint: "--database NAME takes one of them; no template was made"},
	}
	return a.lockingOpen(ctx, i, func() error {
		for _, path := range paths {
			if err := loadInto(ctx, to, path); err != nil {
				return a.blameRoom(ctx, i, "the rest of "+filepath.Base(path), err)
			}
		}
		return nil
	})
}

// checkDatabases looks at dumps before anything is loaded: a template is one database.
func (o *templateAddOptions) checkDatabases(t client.Template, paths []string) error {
	var names []string
	for _, path := range paths {
		s, err := summarize(path)
		if err != nil {
			return err
		}
		for _, name := range s.Databases {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	switch {
	case o.database != "" && len(names) > 0 && !slices.Contains(names, o.database):
		return usageError{fmt.Errorf("load template %s: the dump holds no database %s, but %s\nhint: --database %s", t.Family, o.database, strings.Join(names, ", "), names[0])}
	case o.database == "" && len(names) > 1:
		return usageError{fmt.Errorf("load template %s: the dump holds several databases: %s\nhint: ramaria template add %s --from ... --database %[3]s makes a template of one of them",
			t.Family, strings.Join(names, ", "), names[0])}
	}
	return nil
}

func summarize(path string) (dump.Summary, error) {
	r, err := dump.Open(path)
	if err != nil {
		return dump.Summary{}, err
	}
	defer r.Close()
	return dump.Check(io.Discard, r, dump.Options{File: filepath.Base(path)})
}

// loadInto loads a dump into the target's database, and no other.
func loadInto(ctx context.Context, to load.Target, path string) error {
	r, err := dump.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = to.Load(ctx, filepath.Base(path), r)
	if fault, ok := errors.AsType[*dump.Error](err); ok && fault.Hint == "" {
		fault.Hint = "mend the dump; no template was made"
	}
	return err
}
