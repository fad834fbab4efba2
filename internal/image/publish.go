package image

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// once returns the image with this id, which do makes unless another process has
// done it meanwhile. One process makes it; the others wait, and say what for.
func (s *Store) once(ctx context.Context, id, waiting string, do func() (*Lease, error)) (l *Lease, err error) {
	lock, err := sys.Lock(ctx, s.lockPath(id), sys.Exclusive, func() { s.say("waiting: %s\n", waiting) })
	if err != nil {
		return nil, fmt.Errorf("make image: %w", err)
	}
	defer func() {
		if err = errors.Join(err, lock.UnlockRemove()); err != nil && l != nil {
			l.Release()
			l = nil
		}
	}()
	if l, err := s.lease(ctx, id); !errors.Is(err, ErrNotFound) {
		return l, err
	}
	return do()
}

// publish makes a directory with a data directory the image. The lease is taken
// before anybody can see the image, so that it cannot be removed before its maker
// has cloned it.
func (s *Store) publish(m *Image, dir string) (*Lease, error) {
	m.dir = dir
	if s.Volume.Kind() == volume.Disk {
		// An image on disk is there after a power cut; it must then be whole.
		if err := sys.SyncFS(dir); err != nil {
			return nil, err
		}
	}
	if err := m.write(); err != nil {
		return nil, err
	}
	lock, err := sys.TryLock(m.usedPath(), sys.Shared)
	if err == nil {
		err = os.Rename(dir, s.imageDir(m.ID))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make image: %w", err), lock.Unlock())
	}
	m.dir = s.imageDir(m.ID)
	return &Lease{Image: m, lock: lock}, nil
}
