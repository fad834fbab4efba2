package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/client"
)

func newDB(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "db",
		Short: "Make, reset and drop clones of templates, each with an account of its own",
		Long: `Make, reset and drop clones of templates, each with an account of its own.

A clone is a database of one's own for one test. Its reset puts back what the test
changed, at a cost that follows the changes and not the size of the database: rows, by the
binary log turned round; tables, views, routines and the rest from the template.`,
	}
	onlyOthers(cmd)
	cmd.AddCommand(newDBNew(a), newDBReset(a), newDBDrop(a), newDBLs(a))
	return cmd
}

func newDBNew(a *app) *cobra.Command {
	var o at
	var r client.DatabaseRequest
	var ttl time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "new TEMPLATE",
		Short: "Clone a template, and print the URL of the clone",
		Example: `  URL=$(ramaria db new shop)
  ramaria db new shop --name shop_test --ttl 10m`,
		Args: exactArgs(1, "the name of a template"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if ttl < 0 {
				return usageError{fmt.Errorf("clone %s: --ttl %s is in the past\nhint: --ttl 1h", args[0], ttl)}
			}
			c, err := o.client(a)
			if err != nil {
				return err
			}
			r.Template, r.TTLSeconds = args[0], ttl.Seconds()
			d, err := c.NewDatabase(cmd.Context(), r)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(d)
			}
			fmt.Fprintln(a.stdout, d.URL)
			return nil
		},
	}
	o.add(a, cmd)
	cmd.Flags().StringVar(&r.Name, "name", "", "`NAME` of the clone (default: the template's with a number)")
	cmd.Flags().DurationVar(&ttl, "ttl", time.Hour, "it is dropped when it was not reset for so long")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON, with its account")
	return cmd
}

func newDBReset(a *app) *cobra.Command {
	var o at
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "reset NAME...",
		Short: "Put clones back to what their template holds",
		Args:  minArgs(1, "names of databases that ramaria db new made"),
		RunE:  func(cmd *cobra.Command, args []string) error { return runDBReset(cmd.Context(), a, o, args, asJSON) },
	}
	o.add(a, cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done as JSON, a line each")
	return cmd
}

func runDBReset(ctx context.Context, a *app, o at, names []string, asJSON bool) error {
	c, err := o.client(a)
	if err != nil {
		return err
	}
	for _, name := range names {
		r, err := c.ResetDatabase(ctx, name)
		if err != nil {
			return err
		}
		if asJSON {
			if err := a.printJSON(r); err != nil {
				return err
			}
			continue
		}
		why := ""
		if r.Why != "" {
			why = ": " + r.Why
		}
		a.say("reset %s in %s by %s%s", name, micros(r.Micros), r.Way, why)
		for _, w := range r.Warnings {
			a.say("  %s", w)
		}
	}
	return nil
}

func newDBDrop(a *app) *cobra.Command {
	var o at
	cmd := &cobra.Command{
		Use:   "drop NAME...",
		Short: "Drop clones and their accounts, and end their connections",
		Args:  minArgs(1, "names of databases that ramaria db new made"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.client(a)
			if err != nil {
				return err
			}
			for _, name := range args {
				if err := c.DropDatabase(cmd.Context(), name); err != nil {
					return err
				}
				a.say("dropped %s", name)
			}
			return nil
		},
	}
	o.add(a, cmd)
	return cmd
}

func newDBLs(a *app) *cobra.Command {
	var o at
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the clones of templates",
		Args:  maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.client(a)
			if err != nil {
				return err
			}
			list, err := c.Databases(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(list)
			}
			if len(list) == 0 {
				a.say("there are no clones; ramaria db new TEMPLATE makes one")
				return nil
			}
			t := newTable("DATABASE", "TEMPLATE", "USER", "EXPIRES")
			for _, d := range list {
				t.row(d.Name, d.Template, d.User, d.Expires.Local().Format(timeFormat))
			}
			t.print(a.stdout)
			return nil
		},
	}
	o.add(a, cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "list as JSON, with the accounts")
	return cmd
}
