package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/progress"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func newImage(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Build, list, save and remove images: the data directories that instances are cloned from",
		Long: `Build, list, save and remove images: the data directories that instances are cloned from.

Images stay until they are removed, or until a new one needs room: if all together would
take more than RAMARIA_IMAGE_LIMIT (a size such as 2G; default: half of the volume), the
least recently used are removed, never one that an instance is a clone of.

A volume in RAM loses its images at a reboot. A saved one is then unpacked from disk
instead of built, when it is asked for.`,
	}
	onlyOthers(cmd)
	cmd.AddCommand(newImageBuild(a), newImageLs(a), newImageSave(a), newImageRm(a))
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
	for _, name := range []string{"port", "tmpdir", "password-file", "log"} {
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
		Use:   "ls",
		Short: "List the images, the last used first",
		Args:  maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runImageLs(cmd.Context(), a, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, printJSONFlag)
	return cmd
}

// imageListing is what `image ls` says of one image in one place.
type imageListing struct {
	*image.Image
	Volume  volume.Kind `json:"volume"`
	LastUse time.Time   `json:"last_use"`
	InUse   bool        `json:"in_use"`
	// Saved is the file that it is saved in, of SavedSize bytes.
	Saved     string `json:"saved,omitempty"`
	SavedSize int64  `json:"saved_size,omitempty"`
}

// noVolume is the kind of volume of an image that is only saved.
const noVolume volume.Kind = "-"

// imagePlaces is where one image is: in the volumes of stores, and in a file.
type imagePlaces struct {
	stores []*image.Store
	hot    []*image.Image // by store
	saved  *image.Saved   // nil if it is not
}

// findImages looks into all volumes and the cold store. ids are in the order of the
// listing: those in volumes as their stores list them, then those only saved.
func (a *app) findImages(ctx context.Context) (found map[string]*imagePlaces, ids []string, err error) {
	vols, err := a.engine.Volumes(ctx)
	if err != nil {
		return nil, nil, err
	}
	found = map[string]*imagePlaces{}
	at := func(id string) *imagePlaces {
		if found[id] == nil {
			found[id] = &imagePlaces{}
			ids = append(ids, id)
		}
		return found[id]
	}
	for _, v := range vols {
		s, err := a.engine.Images(v)
		if err != nil {
			return nil, nil, err
		}
		images, err := s.List()
		if err != nil {
			return nil, nil, err
		}
		for _, m := range images {
			p := at(m.ID)
			p.stores, p.hot = append(p.stores, s), append(p.hot, m)
		}
	}
	saved, err := image.ColdIn(a.engine.Places).List()
	if err != nil {
		return nil, nil, err
	}
	for _, v := range saved {
		at(v.ID).saved = v
	}
	return found, ids, nil
}

// listings are the rows of one image.
func (a *app) listings(ctx context.Context, p *imagePlaces) ([]imageListing, error) {
	var out []imageListing
	for i, m := range p.hot {
		out = append(out, imageListing{Image: m, Volume: p.stores[i].Volume.Kind(), LastUse: m.LastUse(), InUse: a.engine.ImageInUse(m.ID)})
	}
	if p.saved == nil {
		return out, nil
	}
	if len(p.hot) == 0 {
		m, err := p.saved.Image(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, imageListing{Image: m, Volume: noVolume, LastUse: p.saved.Time})
	}
	for i := range out {
		out[i].Saved, out[i].SavedSize = p.saved.Path, p.saved.Size
	}
	return out, nil
}

func runImageLs(ctx context.Context, a *app, asJSON bool) error {
	found, ids, err := a.findImages(ctx)
	if err != nil {
		return err
	}
	all := []imageListing{}
	for _, id := range ids {
		rows, err := a.listings(ctx, found[id])
		var damage *image.DamagedError
		if errors.As(err, &damage) {
			a.say("%v", damage) // the others are there nevertheless
			continue
		}
		if err != nil {
			return err
		}
		all = append(all, rows...)
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
	_, ids, err := a.findImages(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return without(ids, args), cobra.ShellCompDirectiveNoFileComp
}

// imageIDs is what the beginning of an image's id looks like.
var imageIDs = regexp.MustCompile(`^[0-9a-f]{1,16}$`)

// checkIDs refuses what is no beginning of an id: an empty one, of a variable that was
// not set, would mean every image.
func checkIDs(ids ...string) error {
	for _, id := range ids {
		if !imageIDs.MatchString(id) {
			return usageError{fmt.Errorf("use image %q: it is not the id of an image, nor its beginning\nhint: ramaria image ls", id)}
		}
	}
	return nil
}
