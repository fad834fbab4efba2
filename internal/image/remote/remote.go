// Package remote keeps saved images in an S3 bucket, so that many machines clone what one has built.
//
// Its invariants: an image whose manifest is there has all its pieces there, whatever was killed while it was
// pushed; and what a pull hands over has the checksums that the manifest tells. docs/formats.md is the page of the
// format.
package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramaria-db/ramaria/internal/bucket"
	"github.com/ramaria-db/ramaria/internal/image"
)

// Format is the version of the manifest and of the objects beside it.
const Format = 1

const (
	// pieceSize is how many bytes of a saved image an object holds: one that fails is moved again from its beginning.
	pieceSize = 16 << 20
	// atOnce is how many pieces are moved at the same time; each is in memory.
	atOnce = 6
	// manifestName is the last of an image's objects that is written.
	manifestName = "manifest.json"
)

// Images are those below a prefix of a bucket.
type Images struct {
	Store bucket.Store
	// URL is what people call the place.
	URL string
	// Patience is how long a push or a pull may go without moving a piece; 0 is for ever.
	Patience time.Duration
}

// ErrStalled says that nothing was moved for as long as Patience is.
var ErrStalled = errors.New("the service moves nothing any more")

// DamagedError says that what is in the bucket is of no use.
type DamagedError struct {
	URL  string
	Err  error
	hint string
}

// Error names the image and what makes it good.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged: %v\nhint: %s", e.URL, e.Err, e.hint)
}

// Unwrap returns what was found.
func (e *DamagedError) Unwrap() error { return e.Err }

// Manifest says what an image is and which pieces its file has.
type Manifest struct {
	Format int          `json:"format"`
	Image  *image.Image `json:"image"`
	// Size is that of the saved image's file, and Piece that of each of its pieces but the last, in bytes.
	Size  int64 `json:"size"`
	Piece int64 `json:"piece"`
	// Sums are the SHA-256 of the pieces.
	Sums []string `json:"sums"`
}

// Of returns the URL of an image.
func (r Images) Of(id string) string {
	place, query, found := strings.Cut(r.URL, "?")
	place = strings.TrimSuffix(place, "/") + "/" + id
	if found {
		place += "?" + query
	}
	return place
}

// word is the place as a shell takes it.
func (r Images) word() string {
	if strings.ContainsAny(r.URL, "?&") {
		return "'" + r.URL + "'"
	}
	return r.URL
}

func (r Images) damaged(id string, err error) error {
	return &DamagedError{r.Of(id), err, fmt.Sprintf("ramaria image push %s %s, on a machine that has it, pushes it again; remove an object that is not what its checksum says first", id, r.word())}
}

func (m *Manifest) pieceName(n int) string {
	return fmt.Sprintf("%s/%06d-%s", m.Image.ID, n, m.Sums[n][:16])
}

// span is where a piece lies in the file.
func (m *Manifest) span(n int) (from, size int64) {
	from = int64(n) * m.Piece
	return from, min(m.Piece, m.Size-from)
}

// each moves the pieces, several at once. progress is told of those that are there.
func (r Images) each(ctx context.Context, m *Manifest, progress io.Writer, move func(ctx context.Context, n int) ([]byte, error)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	moved := func() {}
	if r.Patience > 0 {
		stalled := time.AfterFunc(r.Patience, func() { stop(ErrStalled) })
		defer stalled.Stop()
		moved = func() { stalled.Reset(r.Patience) }
	}
	err := m.eachPiece(ctx, func(ctx context.Context, n int) ([]byte, error) {
		b, err := move(ctx, n)
		if err == nil {
			moved()
		}
		return b, err
	}, progress)
	if cause := context.Cause(ctx); errors.Is(cause, ErrStalled) {
		return cause
	}
	return err
}

func (m *Manifest) eachPiece(ctx context.Context, move func(ctx context.Context, n int) ([]byte, error), progress io.Writer) error {
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for n := range m.Sums {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			b, err := move(ctx, n)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			_, _ = progress.Write(b) // a bar complains of more than it was told of
			return nil
		})
	}
	return g.Wait()
}

// check refuses what no push has written.
func (m *Manifest) check(id string) error {
	switch {
	case m.Format != Format:
		return fmt.Errorf("its manifest has format %d, this ramaria knows %d", m.Format, Format)
	case m.Image == nil || m.Image.ID != id:
		return errors.New("its manifest is not of this image")
	case m.Piece <= 0 || m.Piece > bucket.MaxObject || m.Size <= 0 || int64(len(m.Sums)) != (m.Size+m.Piece-1)/m.Piece:
		return fmt.Errorf("its manifest tells of %d pieces of %d bytes, and of a file of %d", len(m.Sums), m.Piece, m.Size)
	}
	for _, sum := range m.Sums {
		if b, err := hex.DecodeString(sum); err != nil || len(b) != sha256.Size {
			return errors.New("its manifest has a checksum that is none")
		}
	}
	return nil
}

// Manifest reads that of an image; image.ErrNotFound if it is not there.
func (r Images) Manifest(ctx context.Context, id string) (*Manifest, error) {
	b, err := r.Store.Get(ctx, id+"/"+manifestName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("use image %s: %w in %s\nhint: ramaria image ls %s", id, image.ErrNotFound, r.URL, r.word())
	}
	if err != nil {
		return nil, err
	}
	m := &Manifest{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, r.damaged(id, err)
	}
	if err := m.check(id); err != nil {
		return nil, r.damaged(id, err)
	}
	return m, nil
}

// List returns the manifests of all images, sorted by their ids, and what is wrong with the others.
func (r Images) List(ctx context.Context) (all []*Manifest, damaged []error, _ error) {
	for o, err := range r.Store.List(ctx, "", "") {
		if err != nil {
			return nil, nil, err
		}
		id, ok := strings.CutSuffix(o.Name, "/"+manifestName)
		if !ok || !image.IsID(id) {
			continue
		}
		m, err := r.Manifest(ctx, id)
		if errors.Is(err, image.ErrNotFound) {
			continue // removed meanwhile
		}
		var damage *DamagedError
		if errors.As(err, &damage) {
			damaged = append(damaged, err)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		all = append(all, m)
	}
	return all, damaged, nil
}
