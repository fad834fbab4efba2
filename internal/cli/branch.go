package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
)

func newBranch(a *app) *cobra.Command {
	return a.named(&cobra.Command{
		Use:   "branch NAME NEW",
		Short: "Start a new instance on the data that another one has now",
		Long: `Start a new instance on the data that another one has now, and print its DSN. The
other one goes on, after a pause of some milliseconds in which its files are cloned.
On volumes xfs and zram the pause does not grow with the data, and the branch takes
no room at first; on other volumes the data is copied, and the command says
beforehand for how long it will pause the server.

A branch has its own accounts, port and server id, and shares with its parent only
blocks that neither has changed: either can be stopped and removed without the other,
and a branch made inside ramaria run outlives that run. It has every transaction that
was acknowledged before the copy.`,
		Example: `  ramaria branch shop try-the-migration
  ramaria branch main "pr-$NUMBER"`,
		Args: exactArgs(2, "the name of an instance and a new name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBranch(cmd.Context(), a, args[0], args[1])
		},
		ValidArgsFunction: a.completeNames,
	})
}

func runBranch(ctx context.Context, a *app, name, branch string) error {
	b, err := a.engine.Branch(ctx, engine.BranchRequest{Name: name, New: branch})
	if err != nil {
		return err
	}
	if b.Ran {
		a.say("branched %s to %s in %s; %s was paused for %s", name, branch, short(b.Ready), name, short(b.Pause))
	} else {
		a.say("branched %s, which does not run, to %s", name, branch)
	}
	fmt.Fprintln(a.stdout, b.URL)
	return nil
}
