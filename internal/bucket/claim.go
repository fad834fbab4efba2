package bucket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// ErrForeign says that a prefix holds something else than this archive. Nothing was written.
var ErrForeign = errors.New("the place in the bucket is taken\nhint: give this archive a prefix of its own: --archive s3://BUCKET/OTHER-PREFIX")

// claim makes the prefix this archive's. Only what is empty becomes so.
func (m *Mirror) claim(ctx context.Context) error {
	there, err := Whose(ctx, m.Store)
	switch {
	case err == nil && there == m.Archive:
		return nil
	case err == nil:
		return fmt.Errorf("mirror archive %s: archive %s is there: %w", hexID(m.Archive), hexID(there), ErrForeign)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("mirror archive: %w", err)
	}
	if err := m.own(ctx); err != nil {
		return err
	}
	// Another one may have had the same thought: the last to write has it.
	if there, err = ownerOf(ctx, m.Store); err == nil && there != m.Archive {
		err = fmt.Errorf("archive %s came at the same time: %w", hexID(there), ErrForeign)
	}
	if err != nil {
		return fmt.Errorf("mirror archive: %w", err)
	}
	return nil
}

// reclaim makes the prefix this archive's again after it was emptied. Parts that went up since then follow others that
// are gone.
func (m *Mirror) reclaim(ctx context.Context) error {
	there, err := ownerOf(ctx, m.Store)
	if err == nil && there != m.Archive {
		return fmt.Errorf("mirror archive %s: archive %s is there: %w", hexID(m.Archive), hexID(there), ErrForeign)
	}
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := m.Store.Get(ctx, manifestName); errors.Is(err, fs.ErrNotExist) {
		for o, err := range m.Store.List(ctx, logPrefix, "") {
			if err == nil {
				err = m.Store.Remove(ctx, o.Name)
			}
			if err != nil {
				return fmt.Errorf("mirror archive: %w", err)
			}
		}
		if err := m.Store.Remove(ctx, extentName); err != nil {
			return fmt.Errorf("mirror archive: %w", err)
		}
	} else if err != nil {
		return fmt.Errorf("mirror archive: %w", err)
	}
	return m.own(ctx)
}

// own writes whose the prefix is.
func (m *Mirror) own(ctx context.Context) error {
	b, err := seal(ownerName, owner{jsonFormat, hexID(m.Archive)})
	if err == nil {
		err = m.Store.Put(ctx, ownerName, b)
	}
	if err != nil {
		return fmt.Errorf("mirror archive: %w", err)
	}
	return nil
}

// Whose is the archive that a prefix belongs to; fs.ErrNotExist if there is nothing, and ErrForeign if there is
// something else.
func Whose(ctx context.Context, s Store) (id [16]byte, err error) {
	if id, err = ownerOf(ctx, s); !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	for o, lerr := range s.List(ctx, "", "") {
		if lerr != nil {
			return id, lerr
		}
		return id, fmt.Errorf("there is an object %s, and no %s: %w", o.Name, ownerName, ErrForeign)
	}
	return id, err
}

// ownerOf is the archive that a prefix belongs to; fs.ErrNotExist if it belongs to none.
func ownerOf(ctx context.Context, s Store) (id [16]byte, err error) {
	b, err := s.Get(ctx, ownerName)
	if err != nil {
		return id, err
	}
	var o owner
	if err := unseal(ownerName, b, &o); err != nil {
		return id, err
	}
	return parseID(ownerName, o.Archive)
}
