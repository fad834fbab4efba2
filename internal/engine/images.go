package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// ImageListing is an image in one place; see docs/json.md, image ls.
type ImageListing struct {
	*image.Image
	// Volume is NoVolume for an image that is only saved.
	Volume  volume.Kind `json:"volume"`
	LastUse time.Time   `json:"last_use"`
	InUse   bool        `json:"in_use"`
	// Saved is the path of its saved file, SavedSize the size of that in bytes.
	Saved     string `json:"saved,omitempty"`
	SavedSize int64  `json:"saved_size,omitempty"`
}

// NoVolume is the volume kind of an image that is saved but in no volume.
const NoVolume volume.Kind = "-"

// imagePlaces is where one image is: in the volumes of stores, and in a file.
type imagePlaces struct {
	stores []*image.Store
	hot    []*image.Image // by store
	saved  *image.Saved   // nil if it is not
}

// findImages looks into all volumes and the cold store. ids are in the order of the
// listing: those in volumes as their stores list them, then those only saved.
func (e *Engine) findImages(ctx context.Context) (found map[string]*imagePlaces, ids []string, err error) {
	vols, err := e.Volumes(ctx)
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
		s, err := e.Images(v)
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
	saved, err := image.ColdIn(e.Places).List()
	if err != nil {
		return nil, nil, err
	}
	for _, v := range saved {
		at(v.ID).saved = v
	}
	return found, ids, nil
}

// ImageIDs returns the ids of all images, in the order of ListImages.
func (e *Engine) ImageIDs(ctx context.Context) ([]string, error) {
	_, ids, err := e.findImages(ctx)
	return ids, err
}

// ListImages returns the images in all volumes, the last used first, followed by those that are
// only saved. It leaves a damaged saved image out, with a note.
func (e *Engine) ListImages(ctx context.Context) ([]ImageListing, error) {
	found, ids, err := e.findImages(ctx)
	if err != nil {
		return nil, err
	}
	all := []ImageListing{}
	for _, id := range ids {
		rows, err := e.listImage(ctx, found[id])
		var damage *image.DamagedError
		if errors.As(err, &damage) {
			e.note("%v", damage) // the others are there nevertheless
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// listImage lists one image in each of its places.
func (e *Engine) listImage(ctx context.Context, p *imagePlaces) ([]ImageListing, error) {
	var out []ImageListing
	for i, m := range p.hot {
		out = append(out, ImageListing{Image: m, Volume: p.stores[i].Volume.Kind(), LastUse: m.LastUse(), InUse: e.ImageInUse(m.ID)})
	}
	if p.saved == nil {
		return out, nil
	}
	if len(p.hot) == 0 {
		m, err := p.saved.Image(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, ImageListing{Image: m, Volume: NoVolume, LastUse: p.saved.Time})
	}
	for i := range out {
		out[i].Saved, out[i].SavedSize = p.saved.Path, p.saved.Size
	}
	return out, nil
}

// imageIDs is what the beginning of an image's id looks like.
var imageIDs = regexp.MustCompile(`^[0-9a-f]{1,16}$`)

// checkImageIDs refuses what is no beginning of an id: an empty one, of a variable that was
// not set, would mean every image.
func checkImageIDs(ids ...string) error {
	for _, id := range ids {
		if !imageIDs.MatchString(id) {
			return RequestError{fmt.Errorf("use image %q: it is not the id of an image, nor its beginning\nhint: ramaria image ls", id)}
		}
	}
	return nil
}

// RemoveImagesRequest asks to remove images.
type RemoveImagesRequest struct {
	// IDs are ids of images, or beginnings of ids. All means all images that no instance uses.
	IDs []string
	All bool
	// KeepHot keeps the images in volumes, KeepSaved the saved ones.
	KeepHot, KeepSaved bool
}

// RemovedImage is an image that was removed from one place.
type RemovedImage struct {
	ID   string
	Size int64 // in bytes
	// Saved says that the saved file was removed, not the image in a volume.
	Saved bool
}

// RemoveImages removes images and returns those that it removed, together with an error if
// others failed. It keeps a saved image as long as the image of that id in a volume must stay.
func (e *Engine) RemoveImages(ctx context.Context, q RemoveImagesRequest) (removed []RemovedImage, err error) {
	if err := checkImageIDs(q.IDs...); err != nil {
		return nil, err
	}
	if err := e.sweepImages(ctx); err != nil {
		return nil, err
	}
	found, all, err := e.findImages(ctx)
	if err != nil {
		return nil, err
	}
	done := map[string]bool{}
	var errs []error
	for _, id := range all {
		var named []string
		for _, prefix := range q.IDs {
			if strings.HasPrefix(id, prefix) {
				named = append(named, prefix)
			}
		}
		if len(named) == 0 && !q.All || q.All && e.ImageInUse(id) {
			continue
		}
		tried, gone, err := e.removeImage(ctx, id, found[id], q)
		for _, prefix := range named {
			done[prefix] = done[prefix] || tried
		}
		removed, errs = append(removed, gone...), append(errs, err)
	}
	for _, id := range q.IDs {
		if !done[id] {
			errs = append(errs, fmt.Errorf("remove image %s: %w%s\nhint: ramaria image ls", id, image.ErrNotFound, q.where()))
		}
	}
	return removed, errors.Join(errs...)
}

// where says where an image was looked for.
func (q RemoveImagesRequest) where() string {
	switch {
	case q.KeepSaved:
		return " in any volume"
	case q.KeepHot:
		return " that is saved"
	}
	return ""
}

// sweepImages removes what killed commands left of images.
func (e *Engine) sweepImages(ctx context.Context) error {
	vols, err := e.Volumes(ctx)
	if err != nil {
		return err
	}
	errs := []error{image.ColdIn(e.Places).Sweep()}
	for _, v := range vols {
		s, err := e.Images(v)
		if err != nil {
			return err
		}
		errs = append(errs, s.Sweep(ctx))
	}
	return errors.Join(errs...)
}

// removeImage removes one image from where it is to be removed; tried tells whether
// it was there.
func (e *Engine) removeImage(ctx context.Context, id string, p *imagePlaces, q RemoveImagesRequest) (tried bool, removed []RemovedImage, err error) {
	if !q.KeepHot {
		for i, s := range p.stores {
			tried = true
			if err := s.Remove(ctx, id); err != nil {
				return true, removed, err
			}
			removed = append(removed, RemovedImage{ID: id, Size: p.hot[i].Size})
		}
	}
	if q.KeepSaved || p.saved == nil {
		return tried, removed, nil
	}
	if err := image.ColdIn(e.Places).Remove(id); err != nil {
		return true, removed, err
	}
	return true, append(removed, RemovedImage{ID: id, Size: p.saved.Size, Saved: true}), nil
}

// SaveImage saves the image whose id begins with prefix to disk and returns the path of the
// file. A whole file that exists stays; a damaged one is written again. The error matches
// image.ErrNotFound if no image has that prefix.
func (e *Engine) SaveImage(ctx context.Context, prefix string) (path string, err error) {
	saved, err := e.savedImage(ctx, prefix)
	if err != nil {
		return "", err
	}
	return saved.Path, nil
}

func (e *Engine) savedImage(ctx context.Context, prefix string) (*image.Saved, error) {
	if err := checkImageIDs(prefix); err != nil {
		return nil, err
	}
	if err := image.ColdIn(e.Places).Sweep(); err != nil {
		return nil, err
	}
	found, ids, err := e.findImages(ctx)
	if err != nil {
		return nil, err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, prefix) })
	switch {
	case len(ids) == 0:
		return nil, fmt.Errorf("save image %s: %w\nhint: ramaria image ls", prefix, image.ErrNotFound)
	case len(ids) > 1:
		return nil, fmt.Errorf("save image %s: %d images begin like this\nhint: ramaria image ls", prefix, len(ids))
	}
	p := found[ids[0]]
	if p.saved != nil {
		err := p.saved.Verify(ctx)
		var damage *image.DamagedError
		switch {
		case err == nil:
			e.note("image %s is saved already (%s); the file is intact", ids[0], volume.FormatBytes(p.saved.Size))
			return p.saved, nil
		case errors.As(err, &damage) && len(p.stores) > 0:
			e.note("the saved image %s is damaged (%v): saving it again", ids[0], damage.Err)
			if err := image.ColdIn(e.Places).Remove(ids[0]); err != nil {
				return nil, err
			}
		default:
			return nil, err
		}
	}
	return p.stores[0].Save(ctx, ids[0])
}
