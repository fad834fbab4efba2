package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/volume"
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
	if err := checkIDs(prefix); err != nil {
		return err
	}
	if err := image.ColdIn(a.engine.Places).Sweep(); err != nil {
		return err
	}
	found, ids, err := a.findImages(ctx)
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, prefix) })
	switch {
	case len(ids) == 0:
		return fmt.Errorf("save image %s: %w\nhint: ramaria image ls", prefix, image.ErrNotFound)
	case len(ids) > 1:
		return fmt.Errorf("save image %s: %d images begin like this\nhint: ramaria image ls", prefix, len(ids))
	}
	p := found[ids[0]]
	if p.saved != nil {
		err := p.saved.Verify(ctx)
		var damage *image.DamagedError
		switch {
		case err == nil:
			a.say("image %s is saved already (%s); the file is intact", ids[0], volume.FormatBytes(p.saved.Size))
		case errors.As(err, &damage) && len(p.stores) > 0:
			a.say("the saved image %s is damaged (%v): saving it again", ids[0], damage.Err)
			if err := image.ColdIn(a.engine.Places).Remove(ids[0]); err != nil {
				return err
			}
			p.saved = nil
		default:
			return err
		}
	}
	if p.saved == nil {
		if p.saved, err = p.stores[0].Save(ctx, ids[0]); err != nil {
			return err
		}
	}
	fmt.Fprintln(a.stdout, p.saved.Path)
	return nil
}
