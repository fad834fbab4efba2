package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func newImageSave(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "save ID",
		Short: "Save an image to disk, where a reboot does not reach it, and print the file",
		Long: `Save an image to disk and print the file. When its volume has lost the image, as at a
reboot, up, run and image build unpack the file instead of building the image again.
ID may be the beginning of an id.`,
		Args: exactArgs(1, "the id of an image, or its beginning"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runImageSave(cmd.Context(), a, args[0])
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeImages(cmd, args, word)
		},
	}
}

func runImageSave(ctx context.Context, a *app, prefix string) error {
	path, err := a.engine.SaveImage(ctx, prefix)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, path)
	return nil
}
