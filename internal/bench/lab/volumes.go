package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// OpenVolume opens a volume of the lab.
func (l *Lab) OpenVolume(ctx context.Context, kind volume.Kind) (volume.Volume, error) {
	o, err := l.Opener()
	if err != nil {
		return nil, err
	}
	return o.Open(ctx, volume.Spec{Kind: kind})
}

// AvailableVolume opens a volume of the lab; one that this machine or user cannot have is
// ErrUnavailable.
func (l *Lab) AvailableVolume(ctx context.Context, kind volume.Kind) (volume.Volume, error) {
	v, err := l.OpenVolume(ctx, kind)
	if errors.Is(err, volume.ErrUnfit) || kind == volume.Shm && errors.Is(err, fs.ErrNotExist) { // not every machine has a /dev/shm
		err = fmt.Errorf("%w: %w", runner.ErrUnavailable, err)
	}
	return v, err
}

// Opener opens the volumes of the lab's home.
func (l *Lab) Opener() (*volume.Opener, error) {
	dirs, err := l.HomeDirs()
	if err != nil {
		return nil, err
	}
	owner, _, err := volume.FindOwner(context.Background(), l.Host, dirs.State, l.Home, true)
	return &volume.Opener{Host: l.Host, Places: dirs, MkfsXFS: l.MkfsXFS, Owner: owner}, err
}

// RAMKind is the volume in RAM that instances get unless told otherwise: by the user, who
// names the first that is to be measured. ErrUnavailable says that this machine has none.
func (l *Lab) RAMKind(ctx context.Context) (volume.Kind, error) {
	if list := l.Options.Volumes; len(list) > 0 {
		i := slices.IndexFunc(list, func(k volume.Kind) bool { return k != volume.Disk })
		if i < 0 {
			return "", fmt.Errorf("%w in RAM: --volume %s is none there", runner.ErrUnavailable, volume.Disk)
		}
		return list[i], nil
	}
	o, err := l.Opener()
	if err != nil {
		return "", err
	}
	kind, why, err := o.Foresee(ctx)
	if err == nil && kind == volume.Disk {
		err = fmt.Errorf("%w: no volume in RAM: %s", runner.ErrUnavailable, why)
	}
	return kind, err
}

// ramKinds are the volumes of ramaria's rows.
func (l *Lab) ramKinds(ctx context.Context) []volume.Kind {
	if len(l.Options.Volumes) > 0 {
		return Unique(l.Options.Volumes)
	}
	kind, err := l.RAMKind(ctx)
	if err != nil {
		kind = volume.Shm // which says why it cannot be
	}
	return []volume.Kind{kind}
}

// PrepareImage builds an image on a kind of volume; one that this machine or user cannot
// have is ErrUnavailable.
func (l *Lab) PrepareImage(ctx context.Context, kind volume.Kind, flags []string) error {
	_, err := l.BuildImage(ctx, kind, flags)
	return err
}

// BuildImage is PrepareImage, and returns the image's id.
func (l *Lab) BuildImage(ctx context.Context, kind volume.Kind, flags []string) (string, error) {
	v, err := l.AvailableVolume(ctx, kind)
	if err != nil {
		return "", err
	}
	id, err := l.Run(ctx, append([]string{"image", "build"}, flags...)...)
	return strings.TrimSpace(id), errors.Join(err, v.Close())
}

// ImageDirs builds an image, and returns its data directory, and one on the same volume for
// a server by hand.
func (l *Lab) ImageDirs(ctx context.Context, kind volume.Kind, flags []string) (image, bare string, err error) {
	id, err := l.BuildImage(ctx, kind, flags)
	if err != nil {
		return "", "", err
	}
	v, err := l.OpenVolume(ctx, kind)
	if err != nil {
		return "", "", err
	}
	return filepath.Join(v.Dir(), "images", id, "data"), filepath.Join(v.Dir(), "bare"), v.Close()
}

// ImageSize is what the files of an image take, in bytes.
func (l *Lab) ImageSize(id string, v volume.Volume) (int64, error) {
	return sys.DiskUsage(filepath.Join(v.Dir(), "images", id, "data"))
}

// ShmPath is the lab's volume in shared memory.
func (l *Lab) ShmPath() (string, error) {
	p, err := l.HomeDirs()
	return p.Shm, err
}
