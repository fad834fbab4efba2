package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/progress"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// restore makes a saved image hot. The caller holds the lock of its id. The error
// is ErrNotFound if it was not saved, and a *DamagedError if the file is to blame.
func (s *Store) restore(ctx context.Context, id string) (*Lease, error) {
	started := time.Now()
	v, err := ColdIn(s.Places).Get(id)
	if err != nil {
		return nil, err
	}
	a, err := v.open(ctx)
	if err != nil {
		return nil, err
	}
	defer a.close()
	m, err := a.meta()
	if err != nil {
		return nil, err
	}
	if err := s.evict(ctx, m.Size); err != nil {
		return nil, err
	}
	if err := volume.CheckRoom(s.Volume, m.Size, "restoring image "+id); err != nil {
		return nil, err
	}
	l, err := s.unpackInto(ctx, a, s.buildDir(id), m)
	if err != nil {
		return nil, s.explainRestore(ctx, m, err)
	}
	s.say("restored image %s from %s (%s, %.1f s)\n", id, v.Path, volume.FormatBytes(m.Size), time.Since(started).Seconds())
	return l, nil
}

// fetch makes the plan's image hot by way of where images are looked for; ErrNotFound if it is not there, or cannot be
// had. The caller holds the lock of its id.
func (s *Store) fetch(ctx context.Context, p *plan) (*Lease, error) {
	if s.Fetch == nil || p.inputs == nil || p.inputs[0].kind == kindInstance {
		return nil, ErrNotFound
	}
	err := s.Fetch(ctx, "", p.id)
	if err == nil {
		var l *Lease
		if l, err = s.restore(ctx, p.id); err == nil {
			return l, nil
		}
	}
	if ctx.Err() != nil {
		return nil, err
	}
	if !errors.Is(err, ErrNotFound) {
		text, _, _ := strings.Cut(err.Error(), "\nhint:")
		s.say("cannot use the image that others have built: %s: building it\n", text)
	}
	return nil, ErrNotFound
}

// unpackInto makes an image by way of dir, of which nothing stays.
func (s *Store) unpackInto(ctx context.Context, a *archive, dir string, m *Image) (l *Lease, err error) {
	if err := s.Volume.Remove(ctx, dir); err != nil {
		return nil, err
	}
	defer func() {
		// After a success the directory is the image.
		err = errors.Join(err, s.Volume.Remove(context.WithoutCancel(ctx), dir))
		if err != nil && l != nil {
			l.Release()
			l = nil
		}
	}()
	if err := s.fill(ctx, a, dir, m); err != nil {
		return nil, err
	}
	return s.publish(m, dir)
}

// fill makes dir with the image's data directory in it, checked, with its owner,
// and tells its present size.
func (s *Store) fill(ctx context.Context, a *archive, dir string, m *Image) error {
	data := filepath.Join(dir, dataName)
	// Root's until all is in it: see GiveTree.
	if err := errors.Join(os.MkdirAll(dir, 0o711), os.Mkdir(data, 0o700)); err != nil {
		return err
	}
	bar := progress.Quiet(s.Talk, s.Terminal, "restoring image "+m.ID, m.Size)
	defer bar.Close()
	top, err := a.unpack(data, bar)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.Account.GiveTree(data); err != nil {
		return err
	}
	if err := os.Chmod(data, top); err != nil { //nolint:forbidigo // it lies in a directory of ours
		return err
	}
	// Not what it took where it was saved from: volumes count differently.
	m.Size, err = sys.DiskUsage(data)
	return err
}

// explainRestore adds the numbers to the error of a full volume.
func (s *Store) explainRestore(ctx context.Context, m *Image, err error) error {
	if _, ok := isDamaged(err); ok {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("restore image %s: interrupted, nothing is left of it: %w", m.ID, ctx.Err())
	}
	if errors.Is(err, syscall.ENOSPC) {
		if u, uerr := s.Volume.Usage(); uerr == nil {
			return &volume.NoRoomError{What: "restoring image " + m.ID, Kind: s.Volume.Kind(), Dir: s.Volume.Dir(), Need: m.Size, Usage: u, Err: err}
		}
	}
	return fmt.Errorf("restore image %s: %w", m.ID, err)
}
