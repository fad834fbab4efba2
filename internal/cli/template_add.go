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
	json bool
}

func newTemplateAdd(a *app) *cobra.Command {
	var o templateAddOptions
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Make a database a template as it is now, or load one from dumps",
		Long: `Make a database a template as it is now, or load one from dumps, and print its name.

With --from the dumps are loaded into a new database, whose name begins with NAME, unless
there is a template of that name and key already. Several at once are right: one loads,
the others wait.`,
		Example: `  ramaria up --from shop.sql && ramaria template add shop
  T=$(ramaria template add shop --from schema.sql --from fixtures.sql)
  ramaria db new "$T"`,
		Args: exactArgs(1, "the name of a database"),
		RunE: func(cmd *cobra.Command, args []string) error { return runTemplateAdd(cmd.Context(), a, &o, args[0]) },
	}
	o.add(a, cmd)
	cmd.Flags().StringArrayVar(&o.from, "from", nil, "`FILE` that is loaded: a dump (.sql, .sql.gz, .sql.zst, .sql.xz) or a directory of dumps; repeatable")
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
	claim, err := c.CreateTemplate(ctx, client.TemplateRequest{Name: name, Key: key, WaitSeconds: loadTime.Seconds(), BuildSeconds: loadTime.Seconds()})
	if err != nil || claim.State == client.StateReady {
		return claim.Template, err
	}
	var t client.Template
	if err = fill(ctx, a, c, claim, paths); err == nil {
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
func fill(ctx context.Context, a *app, c *client.Client, claim client.TemplateClaim, paths []string) error {
	s, err := c.Status(ctx)
	if err != nil {
		return err
	}
	i, err := a.registry.Open(s.Name)
	if err != nil {
		return err
	}
	d := claim.Database
	to := load.Target{Server: i.Server, Endpoint: server.Endpoint{
		Host: d.Host, Port: d.Port, Socket: d.Socket, Login: server.Login{User: d.User, Password: d.Password}, Database: d.Name,
	}}
	for _, path := range paths {
		if err := loadInto(ctx, to, path); err != nil {
			return err
		}
	}
	return nil
}

// loadInto loads a dump into the target's database, and no other.
func loadInto(ctx context.Context, to load.Target, path string) error {
	name := filepath.Base(path)
	pass := func(f func(io.Reader) (dump.Summary, error)) (dump.Summary, error) {
		r, err := dump.Open(path)
		if err != nil {
			return dump.Summary{}, err
		}
		defer r.Close()
		return f(r)
	}
	// Looked at before anything is loaded: it could write to a database that is there.
	s, err := pass(func(r io.Reader) (dump.Summary, error) { return dump.Check(io.Discard, r, dump.Options{File: name}) })
	if err != nil {
		return err
	}
	if others := slices.DeleteFunc(s.Databases, func(db string) bool { return db == to.Endpoint.Database }); len(others) > 0 {
		return fmt.Errorf("load %s: it says itself which database it belongs to: %s\nhint: make the dump without --databases, or ramaria up --from %s and ramaria template add %s",
			name, strings.Join(others, ", "), path, others[0])
	}
	_, err = pass(func(r io.Reader) (dump.Summary, error) { return to.Load(ctx, name, r) })
	if fault, ok := errors.AsType[*dump.Error](err); ok && fault.Hint == "" {
		fault.Hint = "mend the dump; no template was made"
	}
	return err
}
