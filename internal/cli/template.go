package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/volume"
)

func newTemplate(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "template",
		Short: "Make templates of databases, for ramaria db new to clone",
		Long: `Make templates of databases in a running instance; ramaria db new clones them.

A template stays an ordinary database. After a change to it no clones are made until
ramaria template add takes it as it is then.`,
	}
	onlyOthers(cmd)
	cmd.AddCommand(newTemplateAdd(a), newTemplateLs(a), newTemplateRm(a))
	return cmd
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
	cmd.Flags().BoolVar(&asJSON, "json", false, printJSONFlag)
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
		case e.Tables == 0: // the server was restarted
			tables, size, state = "-", "-", "not used yet"
		}
		t.row(e.Name, tables, size, strconv.Itoa(e.Leases), strconv.Itoa(e.Spare), e.Made.Local().Format(timeFormat), state)
	}
	t.print(a.stdout)
	return nil
}

func newTemplateRm(a *app) *cobra.Command {
	var o at
	var all bool
	cmd := &cobra.Command{
		Use:   "rm TEMPLATE...",
		Short: "Make templates ordinary databases again",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runTemplateRm(cmd.Context(), a, o, args, all)
		},
		ValidArgsFunction: o.complete(a, templateNames),
	}
	o.add(a, cmd)
	cmd.Flags().BoolVar(&all, "all", false, "all templates of the instance")
	return cmd
}

func runTemplateRm(ctx context.Context, a *app, o at, names []string, all bool) error {
	if err := someOrAll("remove templates", names, all, "ramaria template ls"); err != nil {
		return err
	}
	c, err := o.client(a)
	if err != nil {
		return err
	}
	if all {
		if names, err = templateNames(ctx, c); err != nil {
			return err
		}
	}
	return eachOf(ctx, names, func(name string) error {
		err := c.DeleteTemplate(ctx, name)
		if err == nil {
			a.say("%s is no longer a template; the database stays", name)
		}
		return err
	})
}
