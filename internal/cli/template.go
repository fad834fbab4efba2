package cli

import (
	"context"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func newTemplate(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "template",
		Short: "Make databases of a running instance templates, which ramaria db new clones",
		Long: `Make databases of a running instance templates, which ramaria db new clones.

A template stays an ordinary database. Once it is changed no clones are made of it until
ramaria template add takes it as it is then.`,
	}
	onlyOthers(cmd)
	cmd.AddCommand(newTemplateAdd(a), newTemplateLs(a), newTemplateRm(a))
	return cmd
}

// at says which instance is meant by a command about databases.
type at struct{ name string }

func (o *at) add(a *app, cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.name, "in", "", "`NAME` of the instance (default: the one of "+client.EnvVar+", or main)")
	_ = cmd.RegisterFlagCompletionFunc("in", a.completeNames)
}

// client returns a client of the instance, which must run.
func (o *at) client(a *app) (*client.Client, error) {
	if o.name == "" && os.Getenv(client.EnvVar) != "" {
		return client.FromEnv()
	}
	var args []string
	if o.name != "" {
		args = []string{o.name}
	}
	i, err := a.engine.Running(nameArg(args))
	if err != nil {
		return nil, err
	}
	return client.New(i.APISocket()), nil
}

func newTemplateLs(a *app) *cobra.Command {
	var o at
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the templates of an instance",
		Args:  maxArgs(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runTemplateLs(cmd.Context(), a, o, asJSON) },
	}
	o.add(a, cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "list as JSON")
	return cmd
}

func runTemplateLs(ctx context.Context, a *app, o at, asJSON bool) error {
	c, err := o.client(a)
	if err != nil {
		return err
	}
	list, err := c.Templates(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(list)
	}
	if len(list) == 0 {
		a.say("there are no templates; ramaria template add DATABASE makes one")
		return nil
	}
	t := newTable("TEMPLATE", "TABLES", "SIZE", "CLONES", "SPARE", "MADE", "STATE")
	for _, e := range list {
		tables, size, state := strconv.Itoa(e.Tables), volume.FormatBytes(e.Bytes), "ready"
		switch {
		case e.Changed != "":
			state = "changed: " + e.Changed
		case e.Tables == 0: // the server was started anew
			tables, size, state = "-", "-", "not used yet"
		}
		t.row(e.Name, tables, size, strconv.Itoa(e.Leases), strconv.Itoa(e.Spare), e.Made.Local().Format(timeFormat), state)
	}
	t.print(a.stdout)
	return nil
}

func newTemplateRm(a *app) *cobra.Command {
	var o at
	cmd := &cobra.Command{
		Use:   "rm TEMPLATE",
		Short: "Make a template an ordinary database again",
		Args:  exactArgs(1, "the name of a template"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.client(a)
			if err != nil {
				return err
			}
			if err := c.DeleteTemplate(cmd.Context(), args[0]); err != nil {
				return err
			}
			a.say("%s is a template no more; the database stays", args[0])
			return nil
		},
	}
	o.add(a, cmd)
	return cmd
}
