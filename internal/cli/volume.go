package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/volume"
)

func newVolume(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "volume",
		Short: "List, grow and remove volumes: the areas, normally in RAM, where data lives",
		Long: `List, grow and remove volumes: the areas, normally in RAM, where data lives. There is at most
one of each kind; the first command that needs one makes it (--volume KIND, or auto, which
chooses).

Volumes stay, with their images, until they are removed or the machine reboots, so that the
next instance starts at once.`,
	}
	onlyOthers(cmd)
	cmd.AddCommand(newVolumeLs(a), newVolumeGrow(a), newVolumeRm(a), newVolumeFstab(a))
	return cmd
}

func newVolumeLs(a *app) *cobra.Command {
	var asJSON, allHomes bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the volumes",
		Args:  maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if allHomes {
				return runVolumeLsAll(a, asJSON)
			}
			return runVolumeLs(cmd.Context(), a, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, printJSONFlag)
	cmd.Flags().BoolVar(&allHomes, "all-homes", false, "volumes in memory of all your homes, also of homes that were removed")
	return cmd
}

func runVolumeLs(ctx context.Context, a *app, asJSON bool) error {
	all := a.engine.ListVolumes(ctx)
	if asJSON {
		return a.printJSON(all)
	}
	if len(all) == 0 {
		a.say("no volumes; ramaria up makes one")
		return nil
	}
	t := newTable("KIND", "SIZE", "USED", "FREE", "RAM", "INSTANCES", "IMAGES", "DIRECTORY")
	for _, l := range all {
		if l.Error != "" {
			t.row(string(l.Kind), "?", "?", "?", "?", "?", "?", l.Dir)
			continue
		}
		t.row(string(l.Kind), volume.FormatBytes(l.Size), volume.FormatBytes(l.Used), volume.FormatBytes(l.Free), volume.FormatBytes(l.Memory),
			strconv.Itoa(len(l.Instances)), strconv.Itoa(len(l.Images)), l.Dir)
	}
	t.print(a.stdout)
	for _, l := range all {
		if l.Error != "" {
			a.say("warning: %s", l.Error)
		}
	}
	return nil
}

func newVolumeGrow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "grow KIND SIZE",
		Short:   "Raise the limit of a mounted volume while instances run in it",
		Example: `  ramaria volume grow xfs 8G`,
		Args:    exactArgs(2, "a kind and a size"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runVolumeGrow(cmd.Context(), a, args[0], args[1])
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeKinds(cmd, args, word)
		},
	}
}

func runVolumeGrow(ctx context.Context, a *app, kind, size string) error {
	spec, err := volume.ParseSpec(kind + ":" + size)
	if err != nil {
		return usageError{err}
	}
	u, err := a.engine.GrowVolume(ctx, spec)
	if err != nil {
		return err
	}
	a.say("volume %s: %s, %s free", kind, volume.FormatBytes(u.Size), volume.FormatBytes(u.Free))
	return nil
}
