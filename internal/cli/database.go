package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/client"
)

func newDB(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "db",
		Short: "Make, reset and release clones of templates, each with its own account",
		Long: `Make, reset and release clones of templates, each with its own account.

A clone is a database for one test. Its reset undoes what the test changed; the cost
follows the changes, not the size of the database. Rows are undone by inverted row events
of the binary log; tables, views, routines and the rest come from the template.

Insert rows that several tests begin with, such as fixtures, once, and set a savepoint
behind them: rollback undoes what came after it, reset undoes all.`,
	}
	onlyOthers(cmd)
	cmd.AddCommand(newDBNew(a), newDBReset(a), newDBSavepoint(a), newDBRollback(a), newDBKeep(a), newDBDrop(a), newDBLs(a), newDBPool(a))
	return cmd
}

func newDBNew(a *app) *cobra.Command {
	var o at
	var r client.DatabaseRequest
	var ttl, wait time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "new TEMPLATE",
		Short: "Clone a template and print the URL of the clone",
		Example: `  URL=$(ramaria db new shop)
  ramaria db new shop --name shop_test --ttl 10m`,
		ValidArgsFunction: o.templateArg(a),
		Args:              exactArgs(1, "the name of a template"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if ttl < 0 || wait < 0 {
				return usageError{fmt.Errorf("clone %s: --ttl %s, --wait %s: must not be negative\nhint: --ttl 1h --wait 1m", args[0], ttl, wait)}
			}
			c, err := o.client(a)
			if err != nil {
				return err
			}
			r.Template, r.TTLSeconds, r.WaitSeconds = args[0], ttl.Seconds(), wait.Seconds()
			d, err := newDatabase(cmd.Context(), a, c, r)
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
	cmd.Flags().DurationVar(&ttl, "ttl", time.Hour, "drop it when it has not been used for this long")
	cmd.Flags().DurationVar(&wait, "wait", time.Minute, "wait for up to this long while all clones that ramaria db pool allows are in use")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with the account")
	return cmd
}

// silent is for how long a full pool is waited for without a word.
const silent = time.Second

// newDatabase says that the pool is full before it waits for long.
func newDatabase(ctx context.Context, a *app, c *client.Client, r client.DatabaseRequest) (client.Database, error) {
	wait := time.Duration(r.WaitSeconds * float64(time.Second))
	if wait == 0 {
		wait = time.Minute
	}
	if wait <= silent {
		return c.NewDatabase(ctx, r)
	}
	r.WaitSeconds = silent.Seconds()
	d, err := c.NewDatabase(ctx, r)
	var e *client.Error
	if !errors.As(err, &e) || e.Code != client.CodeFull {
		return d, err
	}
	a.say("all clones that the pool allows are in use: waiting up to %s for one (ramaria db ls shows them, ramaria db drop NAME releases one)", wait)
	r.WaitSeconds = (wait - silent).Seconds()
	return c.NewDatabase(ctx, r)
}

// newDBEach is a command that does something with each of some clones.
func newDBEach(a *app, use, short string, f func(ctx context.Context, c *client.Client, name string) error) *cobra.Command {
	var o at
	cmd := &cobra.Command{
		Use:   use + " NAME...",
		Short: short,
		Args:  minArgs("names of databases that ramaria db new made"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := o.client(a)
			if err != nil {
				return err
			}
			return eachOf(cmd.Context(), args, func(name string) error { return f(cmd.Context(), c, name) })
		},
		ValidArgsFunction: o.complete(a, cloneNames),
	}
	o.add(a, cmd)
	return cmd
}

func newDBReset(a *app) *cobra.Command {
	return newDBBack(a, "reset", "reset", "reset", "Put clones back to what their template holds", (*client.Client).ResetDatabase)
}

func newDBRollback(a *app) *cobra.Command {
	return newDBBack(a, "rollback", "roll back", "rolled back", "Put clones back to their savepoint", (*client.Client).RollbackDatabase)
}

func newDBSavepoint(a *app) *cobra.Command {
	return newDBEach(a, "savepoint", "Set the savepoint of clones, after fixtures for example, for ramaria db rollback", func(ctx context.Context, c *client.Client, name string) error {
		if err := c.SetSavepoint(ctx, name); err != nil {
			return err
		}
		a.say("set the savepoint of %s", name)
		return nil
	})
}

// newDBBack is a command that puts clones back by f: undo and done are its verb in what it says.
func newDBBack(a *app, use, undo, done, short string, f func(*client.Client, context.Context, string, client.ResetMode) (client.Reset, error)) *cobra.Command {
	var asJSON, keepCounters bool
	cmd := newDBEach(a, use, short, func(ctx context.Context, c *client.Client, name string) error {
		counters := client.RestoreCounters
		if keepCounters {
			counters = client.KeepCounters
		}
		r, err := f(c, ctx, name, counters)
		if err != nil {
			return err
		}
		if asJSON {
			return a.printJSON(r)
		}
		switch {
		case r.Way == "noop":
			a.say("nothing to %s in %s (%s)", undo, name, micros(r.Micros))
		case r.Why != "":
			a.say("%s %s in %s by %s: %s", done, name, micros(r.Micros), r.Way, r.Why)
		default:
			a.say("%s %s in %s by %s", done, name, micros(r.Micros), r.Way)
		}
		for _, w := range r.Warnings {
			a.say("  %s", w)
		}
		if text := sessionsOf(r.Connections); text != "" {
			a.say("  %s", text)
		}
		return nil
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done as JSON, one object for each clone")
	cmd.Flags().BoolVar(&keepCounters, "keep-counters", false, "leave AUTO_INCREMENT where it is when only rows are undone, as DELETE does: faster")
	return cmd
}

// mostConnections is how many connections are named; there may be hundreds.
const mostConnections = 8

// sessionsOf says which connections keep their sessions over a reset, "" for none.
func sessionsOf(connections []uint64) string {
	if len(connections) == 0 {
		return ""
	}
	var ids []string
	for _, id := range connections[:min(len(connections), mostConnections)] {
		ids = append(ids, strconv.FormatUint(id, 10))
	}
	if more := len(connections) - len(ids); more > 0 {
		ids = append(ids, fmt.Sprintf("and %d more", more))
	}
	return "connections with their sessions as they were (variables, temporary tables, locks): " + strings.Join(ids, ", ")
}

func newDBDrop(a *app) *cobra.Command {
	var o at
	var all bool
	cmd := &cobra.Command{
		Use:     "drop NAME...",
		Aliases: []string{"rm"},
		Short:   "Release clones: drop their accounts and connections and return the databases to the pool",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDBDrop(cmd.Context(), a, o, args, all)
		},
		ValidArgsFunction: o.complete(a, cloneNames),
	}
	o.add(a, cmd)
	cmd.Flags().BoolVar(&all, "all", false, "all clones except those that ramaria db keep has kept")
	return cmd
}

func runDBDrop(ctx context.Context, a *app, o at, names []string, all bool) error {
	if err := someOrAll("drop clones", names, all, "ramaria db ls"); err != nil {
		return err
	}
	c, err := o.client(a)
	if err != nil {
		return err
	}
	if all {
		list, err := c.Databases(ctx)
		if err != nil {
			return err
		}
		for _, d := range list {
			if !d.Kept {
				names = append(names, d.Name)
			}
		}
	}
	return eachOf(ctx, names, func(name string) error {
		err := c.DropDatabase(ctx, name)
		if err == nil {
			a.say("dropped %s", name)
		}
		return err
	})
}

func newDBKeep(a *app) *cobra.Command {
	short := "Take clones out of the pool and print their URLs: they stay as they are until they are dropped"
	return newDBEach(a, "keep", short, func(ctx context.Context, c *client.Client, name string) error {
		d, err := c.KeepDatabase(ctx, name)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(a.stdout, d.URL)
		return err
	})
}

func newDBPool(a *app) *cobra.Command {
	var o at
	var most, spare int
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "pool",
		Short:   "Show or change the limits of the pool of clones",
		Example: "  ramaria db pool --max-databases 200 --spare 8",
		Args:    maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.client(a)
			if err != nil {
				return err
			}
			l, err := c.Limits(cmd.Context())
			if err != nil {
				return err
			}
			flags := cmd.Flags()
			if flags.Changed("max-databases") {
				l.MaxDatabases = most
			}
			if flags.Changed("spare") {
				l.Spare = spare
			}
			if flags.Changed("max-databases") || flags.Changed("spare") {
				if l, err = c.SetLimits(cmd.Context(), l); err != nil {
					return err
				}
			}
			if asJSON {
				return a.printJSON(l)
			}
			t := newTable("LIMIT", "VALUE")
			t.row("max-databases", strconv.Itoa(l.MaxDatabases))
			t.row("spare", strconv.Itoa(l.Spare))
			t.print(a.stdout)
			return nil
		},
	}
	o.add(a, cmd)
	cmd.Flags().IntVar(&most, "max-databases", 0, "`NUMBER` of clones that may be in use at a time; more requests wait for their turn")
	cmd.Flags().IntVar(&spare, "spare", 0, "`NUMBER` of clones of each template that are made ahead of requests")
	cmd.Flags().BoolVar(&asJSON, "json", false, printJSONFlag)
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
				expires := "kept"
				if !d.Kept {
					expires = d.Expires.Local().Format(timeFormat)
				}
				t.row(d.Name, d.Template, d.User, expires)
			}
			t.print(a.stdout)
			return nil
		},
	}
	o.add(a, cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with the accounts")
	return cmd
}
