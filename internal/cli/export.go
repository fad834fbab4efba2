package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func newExport(a *app) *cobra.Command {
	var owner string
	cmd := &cobra.Command{
		Use:   "export NAME DIR",
		Short: "Write a data directory that any plain server starts on",
		Long: `Write the data that an instance has now to a directory, as a data directory on which any
plain server of its version starts: recovered, shut down cleanly, and without Ramaria's
files, settings and accounts. The instance may run, and goes on. DIR is new, or empty.

root@localhost gets a password, unless the account is one of your data. It is in client.cnf
in DIR, an option file for client programs that only the owner of the files can read.
Accounts of your data stay. The command line that starts the server is printed, and how
to log in.`,
		Example: `  ramaria export shop /srv/shop-data
  sudo ramaria export shop /var/lib/mysql-shop --owner mysql`,
		Args: exactArgs(2, "the name of an instance, and a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExport(cmd.Context(), a, args[0], args[1], owner)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return a.completeNames(cmd, args, word)
		},
	}
	cmd.Flags().StringVar(&owner, "owner", "", "`USER` that the files belong to, such as mysql; only root gives files away (default: you)")
	return a.named(cmd)
}

func runExport(ctx context.Context, a *app, name, dir, owner string) error {
	x, err := a.engine.Export(ctx, engine.ExportRequest{Name: name, Dir: dir, Owner: owner})
	if err != nil {
		return err
	}
	a.say("exported %s (%s, %s %s) to %s in %s", name, volume.FormatBytes(x.Bytes), x.Server.Flavour, x.Server.Version, x.Dir, short(x.Took))
	for _, user := range x.Kept {
		a.say("account %s stays, locked: views, routines, triggers or events run with its rights", user)
	}
	login := "--no-defaults --socket=" + server.ShellWord(x.Socket) + " -u USER -p"
	if x.ClientConfig != "" {
		login = "--defaults-file=" + server.ShellWord(x.ClientConfig)
		a.say("root@localhost has a password, which is in %s; other accounts are those of your data", x.ClientConfig)
	} else {
		a.say("the accounts are those of your data; Ramaria's are gone")
	}
	words := make([]string, len(x.Start))
	for i, word := range x.Start {
		words[i] = server.ShellWord(word)
	}
	fmt.Fprintln(a.stdout, strings.Join(words, " "))
	fmt.Fprintf(a.stdout, "%s %s\n", x.Client, login)
	return nil
}
