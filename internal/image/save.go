package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/software"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Save writes a hot image to the cold store, from which Ensure and Get restore it
// when the volume has lost it. One that is saved already stays as it is, unread. A
// full disk is a *server.NoRoomError; then, as after any error, nothing is left.
func (s *Store) Save(ctx context.Context, id string) (_ *Saved, err error) {
	l, err := s.lease(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return nil, s.notFound(id)
	}
	if err != nil {
		return nil, err
	}
	defer l.Release()
	c := ColdIn(s.Places)
	lock, err := c.lock(ctx, id, func() { s.say("waiting: another process is saving image %s\n", id) })
	if err != nil {
		return nil, fmt.Errorf("save image: %w", err)
	}
	defer func() { err = errors.Join(err, lock.UnlockRemove()) }()
	if v, err := c.Get(id); !errors.Is(err, ErrNotFound) {
		return v, err
	}
	if err := s.save(ctx, l.Image, c); err != nil {
		return nil, explainSave(ctx, l.Image, c, err)
	}
	return c.Get(id)
}

// save writes the file under a name of its own and gives it its name when it is on
// the device: after a power cut it is whole or not there.
func (s *Store) save(ctx context.Context, m *Image, c Cold) (err error) {
	work := c.workPath(m.ID)
	// A killed saver may have left a part, which no process has open: we hold its lock.
	if err := os.Remove(work); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(work, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(work))
		}
	}()
	bar := s.bar("saving image "+m.ID, m.Size)
	defer bar.Close()
	if err = pack(ctx, f, m, bar); err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(work, c.path(m.ID)); err != nil {
		return err
	}
	return syncDir(c.Dir)
}

// syncDir writes the names in a directory to the device.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// explainSave says what kept an image from being saved, and for a full disk the
// numbers, as they are now that the part is gone.
func explainSave(ctx context.Context, m *Image, c Cold, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("save image %s: interrupted, nothing is left of it: %w", m.ID, ctx.Err())
	}
	if full := c.full(err); full != nil {
		return fmt.Errorf("save image %s, %s before it is compressed: %w", m.ID, volume.FormatBytes(m.Size), full)
	}
	return fmt.Errorf("save image %s: %w", m.ID, err)
}

// full is the error of a full disk, with its numbers; nil for any other error.
func (c Cold) full(err error) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return nil
	}
	fsys, serr := sys.Statfs(c.Dir)
	if serr != nil {
		return nil //nolint:nilerr // then the error as it is says more
	}
	return &software.NoRoomError{Dir: filepath.Clean(c.Dir), Free: fsys.Avail}
}
