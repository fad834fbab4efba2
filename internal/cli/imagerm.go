package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/image"
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
	if err := checkIDs(ids...); err != nil {
		return err
	}
	if o.hot && o.saved {
		return usageError{errors.New("remove images: --hot and --saved exclude each other\nhint: without both, an image is removed everywhere")}
	}
	if err := a.sweepImages(ctx); err != nil {
		return err
	}
	found, all, err := a.findImages(ctx)
	if err != nil {
		return err
	}
	removed := map[string]bool{}
	var errs []error
	for _, id := range all {
		var named []string
		for _, prefix := range ids {
			if strings.HasPrefix(id, prefix) {
				named = append(named, prefix)
			}
		}
		if len(named) == 0 && !o.all || o.all && a.engine.ImageInUse(id) {
			continue
		}
		tried, err := a.removeImage(ctx, id, found[id], o)
		for _, prefix := range named {
			removed[prefix] = removed[prefix] || tried
		}
		errs = append(errs, err)
	}
	for _, id := range ids {
		if !removed[id] {
			errs = append(errs, fmt.Errorf("remove image %s: %w%s\nhint: ramaria image ls", id, image.ErrNotFound, o.where()))
		}
	}
	return errors.Join(errs...)
}

// where says where an image was looked for.
func (o imageRmOptions) where() string {
	switch {
	case o.hot:
		return " in any volume"
	case o.saved:
		return " that is saved"
	}
	return ""
}

// sweepImages removes what killed commands left of images.
func (a *app) sweepImages(ctx context.Context) error {
	vols, err := a.engine.Volumes(ctx)
	if err != nil {
		return err
	}
	errs := []error{image.ColdIn(a.engine.Places).Sweep()}
	for _, v := range vols {
		s, err := a.engine.Images(v)
		if err != nil {
			return err
		}
		errs = append(errs, s.Sweep(ctx))
	}
	return errors.Join(errs...)
}

// removeImage removes one image from where it is to be removed; tried tells whether
// it was there. A file stays as long as an image in a volume has to.
func (a *app) removeImage(ctx context.Context, id string, p *imagePlaces, o imageRmOptions) (tried bool, err error) {
	if !o.saved {
		for i, s := range p.stores {
			tried = true
			if err := s.Remove(ctx, id); err != nil {
				return true, err
			}
			a.say("removed image %s, %s", id, volume.FormatBytes(p.hot[i].Size))
		}
	}
	if o.hot || p.saved == nil {
		return tried, nil
	}
	if err := image.ColdIn(a.engine.Places).Remove(id); err != nil {
		return true, err
	}
	a.say("removed saved image %s, %s", id, volume.FormatBytes(p.saved.Size))
	return true, nil
}
