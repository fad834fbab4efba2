package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
)

func newRewind(a *app) *cobra.Command {
	return a.named(&cobra.Command{
		Use:   "rewind NAME LABEL",
		Short: "Put an instance back to a mark, whatever happened since",
		Long: `Put an instance back to a mark, whatever happened since: changed rows, any DDL, DROP
DATABASE, a crash. Connections are closed; the DSN stays and is printed. What the
instance held is lost; the mark stays, and so do newer marks. An instance that does
not run is started.`,
		Example: `  ramaria mark shop clean
  ./break-everything; ramaria rewind shop clean`,
		Args: exactArgs(2, "the name of an instance and a label (ramaria mark ls NAME)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRewind(cmd.Context(), a, args[0], args[1])
		},
		ValidArgsFunction: a.completeMark,
	})
}

func runRewind(ctx context.Context, a *app, name, label string) error {
	r, err := a.engine.Rewind(ctx, engine.RewindRequest{Name: name, Label: label})
	if err != nil {
		return err
	}
	if r.Ran {
		a.say("rewound %s to %s in %s", name, label, short(r.Took))
	} else {
		a.say("rewound %s, which did not run, to %s in %s", name, label, short(r.Took))
	}
	fmt.Fprintln(a.stdout, r.Instance.Endpoint.URL())
	return nil
}
