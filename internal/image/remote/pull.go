package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/ramaria-db/ramaria/internal/bucket"
	"github.com/ramaria-db/ramaria/internal/image"
)

// Pull copies an image from there to the cold store, unless it has it; image.ErrNotFound if it is not there. What a
// pull before has fetched, until it was cut off, is not fetched again. say is called when another process has to be waited for. progress makes what is told of the bytes of a
// file of that size.
func (r Images) Pull(ctx context.Context, id string, to image.Cold, say func(), progress func(size int64) io.WriteCloser) (*image.Saved, error) {
	if v, err := to.Get(id); !errors.Is(err, image.ErrNotFound) {
		return v, err
	}
	m, err := r.Manifest(ctx, id)
	if err != nil {
		return nil, err
	}
	return to.Receive(ctx, id, m.Size, say, func(f *os.File, begun bool) error {
		bar := progress(m.Size)
		defer bar.Close()
		return r.each(ctx, m, bar, func(ctx context.Context, n int) ([]byte, error) { return r.piece(ctx, m, n, f, begun) })
	})
}

// piece puts a piece in its place in the file, unless it is there, and returns it.
func (r Images) piece(ctx context.Context, m *Manifest, n int, f *os.File, begun bool) ([]byte, error) {
	from, size := m.span(n)
	if begun {
		have := make([]byte, size)
		if _, err := f.ReadAt(have, from); err != nil {
			return nil, err
		}
		if is(have, m.Sums[n]) {
			return have, nil
		}
	}
	b, err := bucket.Get(ctx, r.Store, m.pieceName(n))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, r.damaged(m.Image.ID, err)
	case err != nil:
		return nil, err
	case !is(b, m.Sums[n]):
		return nil, r.damaged(m.Image.ID, fmt.Errorf("object %s is not what its checksum says", m.pieceName(n)))
	}
	_, err = f.WriteAt(b, from)
	return b, err
}

func is(b []byte, sum string) bool {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:]) == sum
}
