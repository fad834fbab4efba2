package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/bucket/s3"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/image/remote"
	"github.com/ramaria-db/ramaria/internal/progress"
)

// EnvImages is the environment variable that names the place in a bucket where images are looked for before they are
// built.
const EnvImages = "RAMARIA_IMAGES"

// lookPatience is how long that place may take to say whether an image is there: without it, it is built.
const lookPatience = 5 * time.Second

// pullPatience is how long it may then go without a piece of 16 MiB, and askedPatience how long one that was asked for by
// its URL may.
const pullPatience, askedPatience = 30 * time.Second, 5 * time.Minute

// withRemote calls f with the images in a bucket.
func withRemote(url string, f func(remote.Images) error) error {
	if _, err := s3.ParseURL(url); err != nil {
		return RequestError{err} // which does not repeat what may have a password
	}
	return withBucket(url, func(s *s3.Store) error { return f(remote.Images{Store: s, URL: url}) })
}

// fetchImage brings an image from a bucket to the cold store: see image.Store.Fetch.
func (e *Engine) fetchImage(ctx context.Context, url, id string) error {
	if url != "" {
		return e.pullImage(ctx, url, id, askedPatience)
	}
	if url = os.Getenv(EnvImages); url == "" {
		return image.ErrNotFound
	}
	err := withRemote(url, func(r remote.Images) error {
		look, cancel := context.WithTimeout(ctx, lookPatience)
		defer cancel()
		_, err := r.Manifest(look, id)
		return err
	})
	if err == nil {
		err = e.pullImage(ctx, url, id, pullPatience)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", EnvImages, err) // nobody typed the URL
	}
	return nil
}

func (e *Engine) pullImage(ctx context.Context, url, id string, patience time.Duration) error {
	w, terminal := e.progress()
	bar := func(size int64) io.WriteCloser { return progress.Bar(w, terminal, "pulling image "+id, size) }
	wait := func() { e.note("waiting: another process is making image %s", id) }
	return withRemote(url, func(r remote.Images) error {
		r.Patience = patience
		_, err := r.Pull(ctx, id, image.ColdIn(e.Places), wait, bar)
		return err
	})
}

// PullImage brings the image that a URL names to where images are saved, and returns its id.
func (e *Engine) PullImage(ctx context.Context, url string) (id string, err error) {
	if _, err := s3.ParseURL(url); err != nil {
		return "", RequestError{err}
	}
	place, id, err := image.SplitURL(url)
	if err != nil {
		return "", err
	}
	cold := image.ColdIn(e.Places)
	if err := cold.Sweep(); err != nil {
		return "", err
	}
	v, err := cold.Get(id)
	if errors.Is(err, image.ErrNotFound) {
		return id, e.pullImage(ctx, place, id, askedPatience)
	}
	if err == nil {
		err = v.Verify(ctx)
	}
	var damage *image.DamagedError
	switch {
	case errors.As(err, &damage):
		e.note("the saved image %s is damaged (%v): pulling it again", id, damage.Err)
		if err := cold.Remove(id); err != nil {
			return "", err
		}
		return id, e.pullImage(ctx, place, id, askedPatience)
	case err == nil:
		e.note("image %s is saved here already; the file is intact", id)
	}
	return id, err
}

// PushImage saves the image whose id begins with prefix, unless it is, and copies the file to a place in a bucket. It
// returns the image's URL.
func (e *Engine) PushImage(ctx context.Context, prefix, place string) (url string, err error) {
	at, err := s3.ParseURL(place)
	if err != nil {
		return "", RequestError{err}
	}
	place = at.Pinned().String()
	w, terminal := e.progress()
	err = withRemote(place, func(r remote.Images) error {
		if err := r.Reach(ctx); err != nil { // before the image is saved, which takes long
			return err
		}
		saved, err := e.savedImage(ctx, prefix)
		if err != nil {
			return err
		}
		url = r.Of(saved.ID)
		bar := progress.Bar(w, terminal, "pushing image "+saved.ID, saved.Size)
		defer bar.Close()
		already, err := r.Push(ctx, saved, bar)
		if already {
			e.note("image %s is there already", saved.ID)
		}
		return err
	})
	return url, err
}

// RemoteImage is an image in a bucket; see docs/json.md, image ls.
type RemoteImage struct {
	*image.Image
	URL string `json:"url"`
	// SavedSize is the size of its file, in bytes.
	SavedSize int64 `json:"saved_size"`
}

// RemoteImages returns the images in a bucket, sorted by their ids.
func (e *Engine) RemoteImages(ctx context.Context, place string) ([]RemoteImage, error) {
	all := []RemoteImage{}
	err := withRemote(place, func(r remote.Images) error {
		list, damaged, err := r.List(ctx)
		for _, d := range damaged {
			e.note("%v", d)
		}
		for _, m := range list {
			all = append(all, RemoteImage{m.Image, r.Of(m.Image.ID), m.Size})
		}
		return err
	})
	return all, err
}

// PinSources has the sources in buckets say at which service they are, as the environment says it now.
func PinSources(from []image.Source) ([]image.Source, error) {
	from = slices.Clone(from)
	for i, s := range from {
		if s.Kind != image.FromBucket && (s.Kind != image.FromURL || !strings.HasPrefix(s.Name, "s3://")) {
			continue
		}
		at, err := s3.ParseURL(s.Name)
		if err != nil {
			return nil, RequestError{fmt.Errorf("use --from: %w", err)}
		}
		from[i].Name = at.Pinned().String()
	}
	return from, nil
}
