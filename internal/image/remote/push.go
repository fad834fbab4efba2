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

// Push copies a saved image there, and reports whether it was there already. Pieces that an earlier push has left, as
// it was cut off, are not sent again. progress is told of the bytes that are there.
func (r Images) Push(ctx context.Context, saved *image.Saved, progress io.Writer) (already bool, err error) {
	if _, err := r.Manifest(ctx, saved.ID); !errors.Is(err, image.ErrNotFound) {
		return err == nil, err
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
	if err := r.pushPieces(ctx, m, f, progress); err != nil {
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

func (r Images) pushPieces(ctx context.Context, m *Manifest, f *os.File, progress io.Writer) error {
	there := map[string]int64{}
	for o, err := range r.Store.List(ctx, m.Image.ID+"/", "") {
		if err != nil {
			return err
		}
		there[o.Name] = o.Size
	}
	return m.each(ctx, progress, func(ctx context.Context, n int) ([]byte, error) {
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
