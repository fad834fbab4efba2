package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/software"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func newServer(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "server",
		Short: "List, fetch and allow server software",
	}
	onlyOthers(cmd)
	cmd.AddCommand(newServerLs(a), newServerFetch(a), newServerAllow(a), newServerDisallow(a))
	return cmd
}

func newServerLs(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List installed and fetched servers, and what can be fetched",
		Args:  maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runServerLs(cmd.Context(), a, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, printJSONFlag)
	return cmd
}

func runServerLs(ctx context.Context, a *app, asJSON bool) error {
	found, err := a.engine.Finder().List(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		if found == nil {
			found = []software.Found{}
		}
		return a.printJSON(found)
	}
	t := newTable("SERVER", "FROM", "SIZE", "USED", "PATH")
	first := engine.Firsts(found)
	for i, f := range found {
		used := ""
		switch {
		case f.Chosen:
			used = "by default"
		case f.PassedOver != "":
			used = "no: " + f.PassedOver
		case first[f.Flavour] == i:
			used = "for --server " + string(f.Flavour)
		}
		t.row(f.Name, f.Origin, volume.FormatBytes(f.Size), used, f.Path)
	}
	if len(found) > 0 {
		t.print(a.stdout)
	} else {
		a.say("no server is installed or fetched; ramaria up fetches one when it needs it")
	}
	for _, o := range software.Catalog() {
		a.say("can be fetched: %s", o)
	}
	return nil
}

func newServerFetch(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "fetch [SERVER]",
		Short: "Fetch server software into the cache, without root",
		Example: `  ramaria server fetch
  ramaria server fetch mariadb:11.8
  ramaria server fetch mysql`,
		Args: maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			want := ""
			if len(args) > 0 {
				want = args[0]
			}
			s, err := a.engine.Finder().Fetch(cmd.Context(), want)
			if err != nil {
				return err
			}
			fmt.Fprintln(a.stdout, s.Name())
			return nil
		},
	}
}
