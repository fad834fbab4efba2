package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/progress"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func newImage(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Build, list, save, share and remove images: the data directories that instances are cloned from",
		Long: `Build, list, save, share and remove images: the data directories that instances are cloned from.

Images stay until they are removed, or until a new one needs room: if all together would
take more than RAMARIA_IMAGE_LIMIT (a size such as 2G; default: half of the volume), the
least recently used are removed, never one that an instance is a clone of.

A volume in RAM loses its images at a reboot. A saved one is then unpacked from disk
instead of built, when it is asked for.

Machines share images by way of an S3 bucket: image push copies one there, and where
RAMARIA_IMAGES is s3://BUCKET/PREFIX, up, run and image build look for an image there
before they build it.`,
	}
	onlyOthers(cmd)
	cmd.AddCommand(newImageBuild(a), newImageLs(a), newImageSave(a), newImagePush(a), newImagePull(a), newImageRm(a))
	return cmd
}

func newImageBuild(a *app) *cobra.Command {
	var o specFlags
	cmd := &cobra.Command{
		Use:     "build",
		Short:   "Build an image unless it exists, and print its id",
		Example: `  ramaria up --from "$(ramaria image build --from shop.sql)"`,
		Args:    maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runImageBuild(cmd.Context(), a, &o)
		},
	}
	o.add(cmd)
	for _, name := range []string{"port", "socket", "front", "tmpdir", "password-file", "log"} {
		_ = cmd.Flags().MarkHidden(name) // of instances, not of images
	}
	return cmd
}

func runImageBuild(ctx context.Context, a *app, o *specFlags) error {
	spec, err := o.spec()
	if err != nil {
		return err
	}
	id, err := a.engine.BuildImage(ctx, spec, a.stdin)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, id)
	return nil
}

func newImageLs(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls [s3://BUCKET/PREFIX]",
		Short: "List the images, the last used first, or those in a bucket",
		Args:  maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return runImageLsRemote(cmd.Context(), a, args[0], asJSON)
			}
			return runImageLs(cmd.Context(), a, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, printJSONFlag)
	return cmd
}

func runImageLs(ctx context.Context, a *app, asJSON bool) error {
	all, err := a.engine.ListImages(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(all)
	}
	if len(all) == 0 {
		a.say("no images; ramaria image build makes one, and so does ramaria up")
		return nil
	}
	t := newTable("IMAGE", "SERVER", "VOLUME", "SIZE", "SAVED", "LAST USE", "IN USE", "MADE FROM")
	for _, m := range all {
		inUse, saved := "", ""
		if m.InUse {
			inUse = "yes"
		}
		if m.Saved != "" {
			saved = volume.FormatBytes(m.SavedSize)
		}
		t.row(m.ID, fmt.Sprintf("%s-%s", m.Flavour, m.Version), string(m.Volume), volume.FormatBytes(m.Size), saved, progress.Ago(m.LastUse), inUse, m.Origin)
	}
	t.print(a.stdout)
	return nil
}

// completeImages completes ids of images.
func (a *app) completeImages(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if a.open(cmd) != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ids, err := a.engine.ImageIDs(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return without(ids, args), cobra.ShellCompDirectiveNoFileComp
}
