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
	there, err := ownerOf(ctx, m.Store)
	switch {
	case err == nil && there == m.Archive:
		return nil
	case err == nil:
		return fmt.Errorf("mirror archive %s: archive %s is there: %w", hexID(m.Archive), hexID(there), ErrForeign)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("mirror archive: %w", err)
	}
	for o, err := range m.Store.List(ctx, "", "") {
		if err != nil {
			return fmt.Errorf("mirror archive: %w", err)
		}
		return fmt.Errorf("mirror archive %s: there is an object %s, and no %s: %w", hexID(m.Archive), o.Name, ownerName, ErrForeign)
	}
	b, err := seal(ownerName, owner{jsonFormat, hexID(m.Archive)})
	if err != nil {
		return fmt.Errorf("mirror archive: %w", err)
	}
	if err := m.Store.Put(ctx, ownerName, b); err != nil {
		return fmt.Errorf("mirror archive: %w", err)
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
