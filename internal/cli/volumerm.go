package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/volume"
)

type volumeRmOptions struct{ all, force bool }

func newVolumeRm(a *app) *cobra.Command {
	var o volumeRmOptions
	cmd := &cobra.Command{
		Use:   "rm KIND|DIR...",
		Short: "Remove volumes with their images and free their memory",
		Long: `Remove volumes with their images and free their memory. Name a volume of this home by
its kind, and one that a removed home has left by its directory, as
ramaria volume ls --all-homes shows it.`,
		Example: `  ramaria volume rm xfs
  ramaria volume rm /dev/shm/ramaria-1000-0f109677
  ramaria volume rm --all --force`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runVolumeRm(cmd.Context(), a, args, o)
		},
		ValidArgsFunction: a.completeKinds,
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "all volumes")
	cmd.Flags().BoolVar(&o.force, "force", false, "remove the instances in them too, running or not; their data is lost")
	return cmd
}

// completeKinds completes kinds of volumes that are there.
func (a *app) completeKinds(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if a.open(cmd) != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var kinds []string
	for _, k := range a.engine.KindsThere() {
		kinds = append(kinds, string(k))
	}
	return without(kinds, args), cobra.ShellCompDirectiveNoFileComp
}

func runVolumeRm(ctx context.Context, a *app, args []string, o volumeRmOptions) error {
	if err := someOrAll("remove volumes", args, o.all, "ramaria volume ls"); err != nil {
		return err
	}
	kinds := a.engine.KindsThere()
	var dirs []string
	if !o.all {
		there := kinds
		kinds = nil
		for _, arg := range args {
			if strings.Contains(arg, "/") {
				dirs = append(dirs, arg)
				continue
			}
			kind := volume.Kind(arg)
			if !slices.Contains(volume.Kinds, kind) {
				return usageError{fmt.Errorf("remove volume %q: no such kind\nhint: ramaria volume ls", arg)}
			}
			if !slices.Contains(there, kind) {
				return fmt.Errorf("remove volume %s: %w\nhint: ramaria volume ls", kind, engine.ErrNoVolume)
			}
			kinds = append(kinds, kind)
		}
	}
	var errs []error
	done := func(removed engine.VolumeRemoved, err error) {
		if err == nil {
			a.sayRemoved(removed)
		}
		errs = append(errs, err)
	}
	for _, kind := range kinds {
		done(a.engine.RemoveVolume(ctx, kind, o.force))
	}
	for _, dir := range dirs {
		done(a.engine.RemoveVolumeAt(ctx, dir, o.force))
	}
	return several(errs)
}

// sayRemoved tells what the removal of a volume gave back.
func (a *app) sayRemoved(v engine.VolumeRemoved) {
	name, of := string(v.Kind), "memory"
	if v.Lost {
		name = v.Dir
	}
	if v.Kind == volume.Disk {
		of = "disk"
	}
	if len(v.Users) > 0 {
		a.say("removed volume %s; its memory is freed when these have ended: %s", name, strings.Join(v.Users, ", "))
		return
	}
	a.say("removed volume %s, %s of %s freed", name, volume.FormatBytes(v.Bytes), of)
}
