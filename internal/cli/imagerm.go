package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// imageRmOptions say what to remove of images.
type imageRmOptions struct{ all, hot, saved bool }

func newImageRm(a *app) *cobra.Command {
	var o imageRmOptions
	cmd := &cobra.Command{
		Use:   "rm ID...",
		Short: "Remove images that no instance uses, saved ones too",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runImageRm(cmd.Context(), a, args, o)
		},
		ValidArgsFunction: a.completeImages,
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "all images that are not in use")
	cmd.Flags().BoolVar(&o.hot, "hot", false, "only from volumes: frees memory and keeps what is saved")
	cmd.Flags().BoolVar(&o.saved, "saved", false, "only the saved files")
	return cmd
}

func runImageRm(ctx context.Context, a *app, ids []string, o imageRmOptions) error {
	if err := someOrAll("remove images", ids, o.all, "ramaria image ls"); err != nil {
		return err
	}
	if o.hot && o.saved {
		return usageError{errors.New("remove images: --hot and --saved exclude each other\nhint: without both, an image is removed everywhere")}
	}
	removed, err := a.engine.RemoveImages(ctx, engine.RemoveImagesRequest{IDs: ids, All: o.all, KeepSaved: o.hot, KeepHot: o.saved})
	for _, r := range removed {
		saved := ""
		if r.Saved {
			saved = "saved "
		}
		a.say("removed %simage %s, %s", saved, r.ID, volume.FormatBytes(r.Size))
	}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return several(joined.Unwrap())
	}
	return err
}
