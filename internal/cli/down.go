package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/instance"
)

type downOptions struct {
	all bool
	rm  bool
}

func newDown(a *app) *cobra.Command {
	var o downOptions
	cmd := &cobra.Command{
		Use:   "down [NAME...]",
		Short: "Stop instances; with --rm remove them and their data",
		Example: `  ramaria down
  ramaria down shop --rm
  ramaria down a b
  ramaria down --all --rm`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDown(cmd.Context(), a, args, o)
		},
		ValidArgsFunction: a.completeNames,
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "all instances")
	cmd.Flags().BoolVar(&o.rm, "rm", false, "remove the instance and its data as well")
	return cmd
}

func runDown(ctx context.Context, a *app, args []string, o downOptions) error {
	names := args
	if len(names) == 0 {
		names = []string{nameArg(nil)}
	}
	for _, name := range names { // before any is stopped
		if err := instance.CheckName(name); err != nil {
			return usageError{err}
		}
	}
	if o.all {
		if len(args) > 0 {
			return usageError{errors.New("stop instances: either names or --all\nhint: ramaria down --all")}
		}
		records, err := a.engine.Registry.List()
		if err != nil {
			return err
		}
		names = nil
		for _, r := range records {
			if !r.Passing { // it belongs to a `ramaria run`
				names = append(names, r.Name)
			}
		}
	}
	var errs []error
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		err := a.engine.Down(ctx, engine.DownRequest{Name: name, Remove: o.rm})
		switch {
		case err != nil:
			errs = append(errs, err)
		case o.rm:
			a.say("removed instance %s", name)
		default:
			a.say("stopped instance %s", name)
		}
	}
	return errors.Join(errs...)
}
