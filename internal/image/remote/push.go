package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/ramaria-db/ramaria/internal/bucket"
	"github.com/ramaria-db/ramaria/internal/image"
)

// Reach asks whether the bucket is there and may be looked at.
func (r Images) Reach(ctx context.Context) error {
	for _, err := range r.Store.List(ctx, "", "") { // the first one says it
		return err
	}
	return nil
}

// Push copies a saved image there, and reports whether it was there already, with all of its pieces. Pieces that an
// earlier push has left, as it was cut off, are not sent again. progress is told of the bytes that are there.
func (r Images) Push(ctx context.Context, saved *image.Saved, progress io.Writer) (already bool, err error) {
	there, err := r.pieces(ctx, saved.ID)
	if err != nil {
		return false, err
	}
	if m, err := r.Manifest(ctx, saved.ID); err == nil && m.whole(there) {
		return true, nil
	} else if damage := (*DamagedError)(nil); err != nil && !errors.Is(err, image.ErrNotFound) && !errors.As(err, &damage) {
		return false, err
	}
	of, err := saved.Image(ctx)
	if err != nil {
		return false, err
	}
	f, err := os.Open(saved.Path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	m := &Manifest{Format: Format, Image: of, Size: saved.Size, Piece: pieceSize, Sums: make([]string, (saved.Size+pieceSize-1)/pieceSize)}
	if err := r.pushPieces(ctx, m, f, there, progress); err != nil {
		return false, err
	}
	return false, r.publish(ctx, m)
}

func (r Images) publish(ctx context.Context, m *Manifest) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return bucket.Put(ctx, r.Store, m.Image.ID+"/"+manifestName, append(b, '\n'))
}

// pieces are the objects of an image, with their sizes.
func (r Images) pieces(ctx context.Context, id string) (map[string]int64, error) {
	there := map[string]int64{}
	for o, err := range r.Store.List(ctx, id+"/", "") {
		if err != nil {
			return nil, err
		}
		there[o.Name] = o.Size
	}
	return there, nil
}

// whole reports whether all pieces are there: a rule of the bucket may have removed one.
func (m *Manifest) whole(there map[string]int64) bool {
	for n := range m.Sums {
		_, want := m.span(n)
		if size, ok := there[m.pieceName(n)]; !ok || size != want {
			return false
		}
	}
	return true
}

func (r Images) pushPieces(ctx context.Context, m *Manifest, f *os.File, there map[string]int64, progress io.Writer) error {
	return r.each(ctx, m, progress, func(ctx context.Context, n int) ([]byte, error) {
		from, size := m.span(n)
		b := make([]byte, size)
		if _, err := f.ReadAt(b, from); err != nil {
			return nil, err
		}
		sum := sha256.Sum256(b)
		m.Sums[n] = hex.EncodeToString(sum[:])
		if is, ok := there[m.pieceName(n)]; ok && is == size {
			return b, nil
		}
		return b, bucket.Put(ctx, r.Store, m.pieceName(n), b)
	})
}
