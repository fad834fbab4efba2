package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// finder looks for server software.
func (a *app) finder() *server.Finder {
	return &server.Finder{Host: a.host, Places: a.places, Memo: a.memo, Progress: a.stderr}
}

// opener opens volumes.
func (a *app) opener() *volume.Opener {
	return &volume.Opener{Host: a.host, Places: a.places, MkfsXFS: a.mkfs, Owner: a.owner}
}

// place is an instance.Registry's Place.
func (a *app) place(kind, dir string) (place string, same bool) {
	o := a.opener()
	if o.Ours(volume.Kind(kind), dir) {
		return dir, true
	}
	return o.At(volume.Kind(kind)).Dir(), false
}

// mkfs finds mkfs.xfs, and fetches it if the system has none.
func (a *app) mkfs(ctx context.Context) ([]string, error) {
	return mkfsOf(a.finder().Tool(ctx, server.MkfsXFS))
}

func mkfsOf(p server.Program, err error) ([]string, error) {
	if errors.Is(err, server.ErrNoTool) {
		err = fmt.Errorf("%w: %w", volume.ErrUnfit, err)
	}
	return p.Argv, err
}

const (
	// autoFetchLimit is how long auto may take to fetch mkfs.xfs, beside which shm is
	// at hand. (It takes 10 s where the network is fast; --volume xfs has more time.)
	autoFetchLimit = 40 * time.Second
	// autoFetchPause is how long auto does without after that has failed.
	autoFetchPause = time.Hour
)

// autoMkfs is mkfs for auto, which must not keep anybody waiting who has asked for
// nothing: a fetch has little time, and after one that failed there is none for a while.
func (a *app) autoMkfs(ctx context.Context) ([]string, error) {
	f := a.finder()
	f.NoFetch = true
	if p, err := f.Tool(ctx, server.MkfsXFS); err == nil || !errors.Is(err, server.ErrNoTool) {
		return mkfsOf(p, err)
	}
	failed := filepath.Join(a.places.State, "no-mkfs.xfs")
	if fi, err := os.Stat(failed); err == nil && time.Since(fi.ModTime()) < autoFetchPause {
		return nil, fmt.Errorf("%w: mkfs.xfs is not installed, and could not be fetched %s; --volume xfs tries again", volume.ErrUnfit, ago(fi.ModTime()))
	}
	limited, cancel := context.WithTimeout(ctx, autoFetchLimit)
	defer cancel()
	argv, err := a.mkfs(limited)
	if err != nil && ctx.Err() == nil {
		// Without the note it is tried again, no more.
		_ = os.MkdirAll(a.places.State, 0o700)
		_ = os.WriteFile(failed, nil, 0o600)
	}
	return argv, err
}

// openVolume opens the volume that --volume names; auto chooses and says which.
func (a *app) openVolume(ctx context.Context, text string) (volume.Volume, error) {
	if text == "" {
		text = string(volume.Auto)
	}
	spec, err := volume.ParseSpec(text)
	if err != nil {
		return nil, usageError{err}
	}
	if spec.Kind != volume.Auto {
		return a.opener().Open(ctx, spec)
	}
	o := a.opener()
	o.MkfsXFS = a.autoMkfs
	v, why, err := o.Choose(ctx)
	if err == nil {
		a.say("%s", why)
	}
	return v, err
}

// volumeOf opens the volume that an instance lies in. One that is gone, with the
// instance, is not made again for that.
func (a *app) volumeOf(ctx context.Context, r *instance.Record) (volume.Volume, error) {
	text := r.Spec.Volume
	if text == "" || text == string(volume.Auto) {
		text = r.Volume
	}
	spec, err := volume.ParseSpec(text)
	if err != nil {
		return nil, err
	}
	o := a.opener()
	dir := filepath.Dir(filepath.Dir(r.Dir))
	if there, err := o.There(spec.Kind); spec.Kind.Mounted() || err == nil && !there || dir != o.At(spec.Kind).Dir() {
		return o.In(spec, dir), nil
	}
	return o.Open(ctx, spec)
}

// volumes opens every volume that is there.
func (a *app) volumes(ctx context.Context) ([]volume.Volume, error) {
	var out []volume.Volume
	o := a.opener()
	for _, kind := range a.kindsThere() {
		v, err := o.Open(ctx, volume.Spec{Kind: kind})
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil { // one that has failed stands in nobody's way
			a.say("warning: %s", err)
			continue
		}
		out = append(out, v)
	}
	return out, nil
}

func (a *app) instances(v volume.Volume) *instance.Store {
	return &instance.Store{Registry: a.registry, Volume: v, Account: a.account, UID: a.uid}
}

func (a *app) images(v volume.Volume) (*image.Store, error) {
	limit := int64(0)
	if text := os.Getenv("RAMARIA_IMAGE_LIMIT"); text != "" {
		var err error
		if limit, err = volume.ParseSize(text); err != nil {
			return nil, usageError{err}
		}
	}
	return &image.Store{
		Volume: v, Places: a.places, Memo: a.memo, Account: a.account, UID: a.uid, RegistryID: a.owner.Registry, Limit: limit,
		InUse: a.imageInUse, Talk: a.stderr, Terminal: a.terminal,
	}, nil
}

// imageInUse reports whether an instance is a clone of the image.
func (a *app) imageInUse(id string) bool {
	records, err := a.registry.List()
	if err != nil {
		return true // better kept than lost
	}
	for _, r := range records {
		i, err := a.registry.Open(r.Name)
		if err == nil && i.Image == id {
			return true
		}
	}
	return false
}

// reap cleans up after killed supervisors and builders. It looks at a few small
// files only, so that every command can afford it.
func (a *app) reap(ctx context.Context) error {
	records, err := a.registry.List()
	if err != nil {
		return err
	}
	errs := []error{a.opener().Reclaim(ctx)}
	for _, r := range records {
		v, err := a.volumeOf(ctx, r)
		if err != nil {
			continue // its own commands will say what is wrong with it
		}
		errs = append(errs, a.instances(v).Reap(ctx, r))
	}
	return errors.Join(errs...)
}

// sweep removes from a volume what killed commands left half made. It is called
// by the commands that make things, which hold up nobody with it.
func (a *app) sweep(ctx context.Context, v volume.Volume) error {
	images, err := a.images(v)
	if err != nil {
		return err
	}
	return errors.Join(v.Sweep(ctx), images.Sweep(ctx), a.instances(v).Sweep(ctx))
}
