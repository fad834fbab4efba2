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
	// archive removes the archives of durable instances too.
	archive bool
}

// withArchive adds the flag.
func (o *downOptions) withArchive(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.archive, "with-archive", false, "remove the archives of durable instances as well, which stay otherwise")
}

func newDown(a *app) *cobra.Command {
	var o downOptions
	cmd := &cobra.Command{
		Use:   "down [NAME...]",
		Short: "Stop instances; they keep their data",
		Long: `Stop instances. They keep their data, and ramaria up starts them again; with --rm the data goes
too, as by ramaria rm. The archive of a durable instance stays then, unless --with-archive is given.

` + whichOne,
		Example: `  ramaria down
  ramaria down shop
  ramaria down --all --rm`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !o.all {
				name, err := a.meant(nil)
				if err != nil {
					return err
				}
				args = []string{name}
			}
			return runDown(cmd.Context(), a, args, o)
		},
		ValidArgsFunction: a.completeManyNames,
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "all instances")
	cmd.Flags().BoolVar(&o.rm, "rm", false, "remove the instances and their data as well")
	o.withArchive(cmd)
	return a.named(cmd)
}

func newRm(a *app) *cobra.Command {
	o := downOptions{rm: true}
	cmd := &cobra.Command{
		Use:   "rm NAME...",
		Short: "Stop instances and remove them with their data",
		Long: `Stop instances and remove them with their data. The archive of a durable instance stays, and
ramaria restore brings the instance back from it, unless --with-archive removes that too.`,
		Example: `  ramaria rm shop
  ramaria rm --all`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := someOrAll("remove instances", args, o.all, "ramaria ls"); err != nil {
				return err
			}
			return runDown(cmd.Context(), a, args, o)
		},
		ValidArgsFunction: a.completeManyNames,
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "all instances")
	o.withArchive(cmd)
	return a.named(cmd)
}

func runDown(ctx context.Context, a *app, names []string, o downOptions) error {
	for _, name := range names { // before any is stopped
		if err := instance.CheckName(name); err != nil {
			return usageError{err}
		}
	}
	if o.archive && !o.rm {
		return usageError{errors.New("stop instances --with-archive: an archive is removed with its instance\nhint: add --rm")}
	}
	var clusters error
	if o.all {
		if len(names) > 0 {
			return usageError{errors.New("stop instances: either names or --all\nhint: ramaria down --all")}
		}
		clusters = endClusters(ctx, a, o)
		records, err := a.engine.Registry.List()
		if err != nil {
			return err
		}
		for _, r := range records {
			if !r.Passing && r.Spec.Cluster == "" { // else it belongs to a `ramaria run`, or is a member
				names = append(names, r.Name)
			}
		}
	}
	var done []string
	return errors.Join(clusters, eachOf(ctx, names, func(name string) error {
		if slices.Contains(done, name) {
			return nil
		}
		done = append(done, name)
		err := a.engine.Down(ctx, engine.DownRequest{Name: name, Remove: o.rm, Archive: o.archive})
		switch {
		case err != nil:
			return err
		case o.rm:
			a.say("removed instance %s", name)
		default:
			a.say("stopped instance %s", name)
		}
		return nil
	}))
}

// endClusters stops all clusters, or removes them.
func endClusters(ctx context.Context, a *app, o downOptions) error {
	names, err := a.engine.ClusterNames()
	if err != nil {
		return err
	}
	return eachOf(ctx, names, func(name string) error {
		if !o.rm {
			err := a.engine.StopCluster(ctx, name)
			if err == nil {
				a.say("stopped cluster %s", name)
			}
			return err
		}
		err := a.engine.RemoveCluster(ctx, name, o.archive)
		if err == nil {
			a.say("removed cluster %s", name)
		}
		return err
	})
}
