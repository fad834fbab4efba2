package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/progress"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/software"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Opener returns an opener of this home's volumes.
func (e *Engine) Opener() *volume.Opener {
	return &volume.Opener{Host: e.Host, Places: e.Places, MkfsXFS: e.mkfs, Owner: e.Owner}
}

// place is an instance.Registry's Place.
func (e *Engine) place(kind, dir string) (place string, same bool) {
	o := e.Opener()
	if o.Ours(volume.Kind(kind), dir) {
		return dir, true
	}
	return o.At(volume.Kind(kind)).Dir(), false
}

// mkfs finds mkfs.xfs, and fetches it if the system has none.
func (e *Engine) mkfs(ctx context.Context) ([]string, error) {
	return mkfsOf(e.Finder().Tool(ctx, software.MkfsXFS))
}

func mkfsOf(p server.Program, err error) ([]string, error) {
	if errors.Is(err, software.ErrNoTool) {
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

// autoMkfs is mkfs for auto, which must not keep a user waiting who has asked for
// nothing: a fetch has little time, and after a failed one Ramaria does not try again for a while.
func (e *Engine) autoMkfs(ctx context.Context) ([]string, error) {
	f := e.Finder()
	f.NoFetch = true
	if p, err := f.Tool(ctx, software.MkfsXFS); err == nil || !errors.Is(err, software.ErrNoTool) {
		return mkfsOf(p, err)
	}
	failed := filepath.Join(e.Places.State, "no-mkfs.xfs")
	if fi, err := os.Stat(failed); err == nil && time.Since(fi.ModTime()) < autoFetchPause {
		return nil, fmt.Errorf("%w: mkfs.xfs is not installed, and could not be fetched %s; --volume xfs tries again", volume.ErrUnfit, progress.Ago(fi.ModTime()))
	}
	limited, cancel := context.WithTimeout(ctx, autoFetchLimit)
	defer cancel()
	argv, err := e.mkfs(limited)
	if err != nil && ctx.Err() == nil {
		// Without the note it is tried again, no more.
		_ = sys.MakePrivate(e.Places.State)
		_ = os.WriteFile(failed, nil, 0o600)
	}
	return argv, err
}

// openVolume opens the volume that --volume names; auto chooses, and says which when it makes one, or
// when no volume in RAM is possible.
func (e *Engine) openVolume(ctx context.Context, text string) (volume.Volume, error) {
	if text == "" {
		text = string(volume.Auto)
	}
	spec, err := volume.ParseSpec(text)
	if err != nil {
		return nil, RequestError{err}
	}
	if spec.Kind != volume.Auto {
		return e.Opener().Open(ctx, spec)
	}
	o := e.Opener()
	o.MkfsXFS = e.autoMkfs
	before := e.KindsThere()
	v, why, err := o.Choose(ctx)
	if err == nil && (v.Kind() == volume.Disk || !slices.Contains(before, v.Kind())) {
		e.note("%s", why)
	}
	return v, err
}

// volumeOf opens the volume that an instance lies in. One that is gone, with the
// instance, is not made again for that.
func (e *Engine) volumeOf(ctx context.Context, r *instance.Record) (volume.Volume, error) {
	text := r.Spec.Volume
	if text == "" || text == string(volume.Auto) {
		text = r.Volume
	}
	spec, err := volume.ParseSpec(text)
	if err != nil {
		return nil, err
	}
	o := e.Opener()
	dir := filepath.Dir(filepath.Dir(r.Dir))
	if there, err := o.There(spec.Kind); spec.Kind.Mounted() || err == nil && !there || dir != o.At(spec.Kind).Dir() {
		return o.In(spec, dir), nil
	}
	return o.Open(ctx, spec)
}

// Volumes opens every volume that this home has.
func (e *Engine) Volumes(ctx context.Context) ([]volume.Volume, error) {
	var out []volume.Volume
	o := e.Opener()
	for _, kind := range e.KindsThere() {
		v, err := o.Open(ctx, volume.Spec{Kind: kind})
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil { // one that has failed does not stop the others
			e.note("warning: %s", err)
			continue
		}
		out = append(out, v)
	}
	return out, nil
}

// KindsThere returns the kinds of which this home has a volume.
func (e *Engine) KindsThere() []volume.Kind {
	o := e.Opener()
	return slices.DeleteFunc(slices.Clone(volume.Kinds), func(k volume.Kind) bool {
		there, err := o.There(k)
		return err != nil || !there
	})
}

// lookingOpener opens nothing and fetches nothing: it is for Fit and Foresee. fetch
// is set if mkfs.xfs is missing and would be fetched.
func (e *Engine) lookingOpener(fetch *bool) *volume.Opener {
	o := e.Opener()
	o.MkfsXFS = func(ctx context.Context) ([]string, error) {
		f := e.Finder()
		f.NoFetch = true
		argv, err := mkfsOf(f.Tool(ctx, software.MkfsXFS))
		if errors.Is(err, software.ErrNoTool) && os.Getenv(software.EnvNoFetch) != "1" {
			*fetch = true
			return []string{software.MkfsXFS.Program}, nil
		}
		return argv, err
	}
	return o
}
