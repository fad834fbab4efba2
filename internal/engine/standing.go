package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// ErrVolumeRemoved says that a volume was removed while a use case worked in it.
var ErrVolumeRemoved = errors.New("it was removed meanwhile")

// standing is a volume as a use case has found it. Another process may remove it at any time (ramaria
// volume rm --force); every step that follows then fails in its own words.
type standing struct {
	kind volume.Kind
	dir  string
	info os.FileInfo // of dir; nil if it was gone already
}

// stand remembers the volume of kind at dir.
func stand(kind volume.Kind, dir string) standing {
	info, err := os.Stat(dir)
	if err != nil {
		info = nil // explain finds out why
	}
	return standing{kind: kind, dir: dir, info: info}
}

// standOf remembers the volume that an instance lies in.
func standOf(i *instance.Instance) standing {
	return stand(volume.Kind(i.Volume), filepath.Dir(filepath.Dir(i.Dir)))
}

// explain returns err, or one that matches ErrVolumeRemoved if the volume is no longer the one that
// was found: what failed then, and could not be undone, went with it.
func (s standing) explain(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	now, serr := os.Stat(s.dir)
	switch {
	case serr != nil && !errors.Is(serr, fs.ErrNotExist):
		return err
	case serr == nil && s.info != nil && os.SameFile(s.info, now):
		return err
	}
	return fmt.Errorf("use volume %s: %w, with all that was in it", s.kind, ErrVolumeRemoved)
}
