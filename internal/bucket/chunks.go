package bucket

import (
	"context"
	"errors"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// chunksAtOnce is how many chunks are uploaded at the same time; each is in memory.
const chunksAtOnce = 2

// upload uploads the chunks of a file that are not in the bucket yet, and writes down their sums.
func (f *files) upload(ctx context.Context, to *file) (err error) {
	local, err := f.Local.Open(to.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, local.Close()) }()
	if to.Size, err = local.Size(); err != nil {
		return err
	}
	if is, err := f.uploaded(to, local); err != nil || is {
		return err
	}
	there := map[string]int64{}
	for o, err := range f.Store.List(ctx, to.Name+"/", "") {
		if err != nil {
			return err
		}
		there[o.Name] = o.Size
	}
	to.Chunk = chunkSize
	to.Sums = make([]string, (to.Size+to.Chunk-1)/to.Chunk)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(chunksAtOnce)
	for n := range to.Sums {
		g.Go(func() error {
			if err := f.after(ctx); err != nil {
				return err
			}
			b := make([]byte, min(to.Chunk, to.Size-int64(n)*to.Chunk))
			if _, err := local.ReadAt(b, int64(n)*to.Chunk); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			to.Sums[n] = hexSum(b)
			name := chunkName(to.Name, n, to.Sums[n])
			if size, ok := there[name]; ok && size == int64(len(b)) {
				return nil
			}
			if err := f.again(ctx, atFiles, func(ctx context.Context) error { return f.Store.Put(ctx, name, b) }); err != nil {
				return err
			}
			f.set(func(s *state) { s.up.FileBytes += int64(len(b)) })
			return nil
		})
	}
	return g.Wait()
}

// uploaded reports whether the manifest in the bucket has a file; it copies what that says of it. A
// file never changes, but another one may have got its name meanwhile: the ends are compared.
func (f *files) uploaded(to *file, local archive.File) (bool, error) {
	i := slices.IndexFunc(f.up.Files, func(have file) bool { return have.Name == to.Name && have.Size == to.Size })
	if i < 0 {
		return false, nil
	}
	have := f.up.Files[i]
	for _, n := range []int{0, len(have.Sums) - 1} {
		if n < 0 || n >= len(have.Sums) {
			continue
		}
		b := make([]byte, have.chunk(n).Size)
		if _, err := local.ReadAt(b, int64(n)*have.Chunk); err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if hexSum(b) != have.Sums[n] {
			return false, nil
		}
	}
	*to = have
	return true, nil
}

// after lets the log go first: chunks wait, for a while, as long as it is behind.
func (f *files) after(ctx context.Context) error {
	for range 4 {
		if f.Status().Lag <= 2*f.Linger {
			break
		}
		if err := pause(ctx, f.Linger); err != nil {
			return err
		}
	}
	return ctx.Err()
}
