package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func newImage(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Build, list and remove images: clean data directories that instances are cloned from",
		Long: `Build, list and remove images: clean data directories that instances are cloned from.

Images stay until they are removed, or until a new one needs room: the least recently
used go when all together would take more than RAMARIA_IMAGE_LIMIT (a size such as 2G;
by default half of the volume), never one that an instance is a clone of.`,
	}
	onlyOthers(cmd)
	cmd.AddCommand(newImageBuild(a), newImageLs(a), newImageRm(a))
	return cmd
}

func newImageBuild(a *app) *cobra.Command {
	var o specFlags
	cmd := &cobra.Command{
		Use:     "build",
		Short:   "Build an image, if it is not there, and print its id",
		Example: `  ramaria up --from "$(ramaria image build --from shop.sql)"`,
		Args:    maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runImageBuild(cmd.Context(), a, &o)
		},
	}
	o.add(cmd)
	for _, name := range []string{"port", "tmpdir", "password-file"} {
		_ = cmd.Flags().MarkHidden(name) // of instances, not of images
	}
	return cmd
}

func runImageBuild(ctx context.Context, a *app, o *specFlags) error {
	spec, err := o.spec()
	if err != nil {
		return err
	}
	p, err := a.prepare(ctx, spec)
	if err != nil {
		return err
	}
	defer p.image.Release()
	fmt.Fprintln(a.stdout, p.image.ID)
	return nil
}

func newImageLs(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the images, the last used first",
		Args:  maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runImageLs(cmd.Context(), a, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// imageListing is what `image ls` says of one image.
type imageListing struct {
	*image.Image
	Volume  volume.Kind `json:"volume"`
	LastUse time.Time   `json:"last_use"`
	InUse   bool        `json:"in_use"`
}

func runImageLs(ctx context.Context, a *app, asJSON bool) error {
	vols, err := a.volumes(ctx)
	if err != nil {
		return err
	}
	all := []imageListing{}
	for _, v := range vols {
		s, err := a.images(v)
		if err != nil {
			return err
		}
		images, err := s.List()
		if err != nil {
			return err
		}
		for _, m := range images {
			all = append(all, imageListing{m, v.Kind(), m.LastUse(), a.imageInUse(m.ID)})
		}
	}
	if asJSON {
		return a.printJSON(all)
	}
	if len(all) == 0 {
		a.say("no images; ramaria image build makes one, and so does ramaria up")
		return nil
	}
	t := newTable("IMAGE", "SERVER", "VOLUME", "SIZE", "LAST USE", "IN USE", "MADE FROM")
	for _, m := range all {
		inUse := ""
		if m.InUse {
			inUse = "yes"
		}
		t.row(m.ID, fmt.Sprintf("%s-%s", m.Flavour, m.Version), string(m.Volume), volume.FormatBytes(m.Size), ago(m.LastUse), inUse, m.Origin)
	}
	t.print(a.stdout)
	return nil
}

// ago says how long ago a time was, in one unit.
func ago(t time.Time) string {
	d := time.Since(t)
	switch {
	case d < 2*time.Second:
		return "now"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

func newImageRm(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "rm ID...",
		Short: "Remove images that no instance uses",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runImageRm(cmd.Context(), a, args, all)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all images that are not in use")
	return cmd
}

func runImageRm(ctx context.Context, a *app, ids []string, all bool) error {
	if all == (len(ids) > 0) {
		return usageError{errors.New("remove images: name some, or use --all\nhint: ramaria image ls")}
	}
	vols, err := a.volumes(ctx)
	if err != nil {
		return err
	}
	found := map[string]bool{}
	var errs []error
	for _, v := range vols {
		s, err := a.images(v)
		if err != nil {
			return err
		}
		errs = append(errs, s.Sweep(ctx))
		images, err := s.List()
		if err != nil {
			return err
		}
		for _, m := range images {
			named := ""
			for _, id := range ids {
				if strings.HasPrefix(m.ID, id) {
					named = id
				}
			}
			if named == "" && !all || all && a.imageInUse(m.ID) {
				continue
			}
			found[named] = true
			if err := s.Remove(ctx, m.ID); err != nil {
				errs = append(errs, err)
				continue
			}
			a.say("removed image %s, %s", m.ID, volume.FormatBytes(m.Size))
		}
	}
	for _, id := range ids {
		if !found[id] {
			errs = append(errs, fmt.Errorf("remove image %s: %w\nhint: ramaria image ls", id, image.ErrNotFound))
		}
	}
	return errors.Join(errs...)
}
