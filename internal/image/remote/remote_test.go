package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/bucket/storetest"
	"github.com/ramaria-db/ramaria/internal/image"
)

// shelf counts the calls of a bucket.
type shelf struct {
	*storetest.Memory

	mu         sync.Mutex
	puts, gets int
	// after is how many calls succeed before end ends the context, 0 for all.
	after int
	end   func()
}

func (s *shelf) call(n *int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.after > 0 {
		if s.after--; s.after == 0 {
			s.end()
			return context.Canceled
		}
	}
	*n++
	return nil
}

func (s *shelf) Put(ctx context.Context, name string, b []byte) error {
	if err := s.call(&s.puts); err != nil {
		return err
	}
	return s.Memory.Put(ctx, name, b)
}

func (s *shelf) Get(ctx context.Context, name string) ([]byte, error) {
	if err := s.call(&s.gets); err != nil {
		return nil, err
	}
	return s.Memory.Get(ctx, name)
}

const id = "0123456789abcdef"

// content is of three pieces and a half.
func content() []byte {
	b := make([]byte, 3*pieceSize+pieceSize/2)
	r := rand.NewChaCha8([32]byte{7})
	_, _ = r.Read(b)
	return b
}

// source is an image that has been saved: its file is any bytes, of which a push tells nothing.
func manifest(b []byte) *Manifest {
	return &Manifest{Format: Format, Image: &image.Image{ID: id}, Size: int64(len(b)), Piece: pieceSize, Sums: make([]string, (len(b)+pieceSize-1)/pieceSize)}
}

type quiet struct{ io.Writer }

func (quiet) Close() error { return nil }

func noBar(int64) io.WriteCloser { return quiet{io.Discard} }

// push sends b, and its manifest.
func push(ctx context.Context, r Images, path string, b []byte) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	m := manifest(b)
	there, err := r.pieces(ctx, id)
	if err != nil {
		return err
	}
	if err := r.pushPieces(ctx, m, f, there, io.Discard); err != nil {
		return err
	}
	return r.publish(ctx, m)
}

func newShelf() (*shelf, Images) {
	s := &shelf{Memory: storetest.NewMemory()}
	return s, Images{Store: s, URL: "s3://b/p"}
}

func written(t *testing.T) (path string, b []byte) {
	t.Helper()
	path, b = filepath.Join(t.TempDir(), "file"), content()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, b
}

// TestKilledAtEveryCall: a push and a pull that are killed in any call go on where they were, and an image is not
// there before all of it is.
func TestKilledAtEveryCall(t *testing.T) {
	path, b := written(t)
	s, r := newShelf()
	for calls := 1; ; calls++ {
		ctx, end := context.WithCancel(t.Context())
		s.after, s.end = calls, end
		err := push(ctx, r, path, b)
		s.after = 0
		end()
		_, merr := r.Manifest(t.Context(), id)
		if (err == nil) != (merr == nil) || merr != nil && !errors.Is(merr, image.ErrNotFound) {
			t.Fatalf("after %d calls: push %v, manifest %v", calls, err, merr)
		}
		if err == nil {
			break
		}
	}
	if pieces := len(s.Objects) - 1; pieces != 4 || s.puts != 5 {
		t.Errorf("%d pieces, %d were sent", pieces, s.puts)
	}
	cold := image.Cold{Dir: filepath.Join(t.TempDir(), "images")}
	s.gets = 0
	pulls := 0
	for calls := 1; ; calls++ {
		ctx, end := context.WithCancel(t.Context())
		s.after, s.end = calls+1, end // the manifest is asked for in any case
		_, err := r.Pull(ctx, id, cold, nil, noBar)
		s.after = 0
		end()
		pulls++
		v, cerr := cold.Get(id)
		if (err == nil) != (cerr == nil) {
			t.Fatalf("after %d calls: pull %v, saved %v", calls, err, cerr)
		}
		if err == nil {
			got, err := os.ReadFile(v.Path)
			if err != nil || !bytes.Equal(got, b) {
				t.Fatalf("the file is another: %v", err)
			}
			break
		}
	}
	if s.gets != pulls+4 {
		t.Errorf("%d objects were fetched in %d pulls of 4 pieces", s.gets, pulls)
	}
	if left, err := os.ReadDir(cold.Dir); err != nil || len(left) != 1 {
		t.Errorf("%v, %v are left", left, err)
	}
}

// TestDamaged: what is not as it was pushed is refused, and no image comes of it.
func TestDamaged(t *testing.T) {
	path, b := written(t)
	s, r := newShelf()
	if err := push(t.Context(), r, path, b); err != nil {
		t.Fatal(err)
	}
	for name, whole := range maps.Clone(s.Objects) {
		flipped := bytes.Clone(whole)
		flipped[len(flipped)/2] ^= 1
		for what, now := range map[string][]byte{"a flipped bit": flipped, "cut": whole[:len(whole)-2], "empty": {}, "missing": nil} {
			s.Objects[name] = now
			if what == "missing" {
				delete(s.Objects, name)
			}
			cold := image.Cold{Dir: filepath.Join(t.TempDir(), "images")}
			_, err := r.Pull(t.Context(), id, cold, nil, noBar)
			_, cerr := cold.Get(id)
			if err == nil || !errors.Is(cerr, image.ErrNotFound) {
				t.Errorf("%s of %s: %v, %v", what, name, err, cerr)
			}
		}
		s.Objects[name] = whole
	}
}

// TestPullAtOnce: many pull one image, and it is fetched once.
func TestPullAtOnce(t *testing.T) {
	path, b := written(t)
	s, r := newShelf()
	if err := push(t.Context(), r, path, b); err != nil {
		t.Fatal(err)
	}
	cold := image.Cold{Dir: filepath.Join(t.TempDir(), "images")}
	s.gets = 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := r.Pull(t.Context(), id, cold, nil, noBar); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if s.gets > 4+8 {
		t.Errorf("%d objects were fetched", s.gets)
	}
}

func TestOf(t *testing.T) {
	for place, want := range map[string]string{"s3://b": "s3://b/" + id, "s3://b/p/": "s3://b/p/" + id, "s3://b/p?region=x": "s3://b/p/" + id + "?region=x"} {
		url := Images{URL: place}.Of(id)
		if url != want {
			t.Errorf("%s: %s", place, url)
		}
		if _, got, err := image.SplitURL(url); err != nil || got != id {
			t.Errorf("%s: %s, %v", url, got, err)
		}
	}
}

// BenchmarkPull pulls 250 MB from memory; its other half writes the same bytes to the same disk.
func BenchmarkPull(b *testing.B) {
	data := make([]byte, 250<<20)
	r := rand.NewChaCha8([32]byte{7})
	_, _ = r.Read(data)
	path := filepath.Join(b.TempDir(), "file")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		b.Fatal(err)
	}
	_, images := newShelf()
	if err := push(b.Context(), images, path, data); err != nil {
		b.Fatal(err)
	}
	b.Run("pull", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			cold := image.Cold{Dir: b.TempDir()}
			v, err := images.Pull(b.Context(), id, cold, nil, noBar)
			if err != nil {
				b.Fatal(err)
			}
			_ = os.Remove(v.Path)
		}
	})
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			f, err := os.Create(path)
			if err == nil {
				_, err = f.Write(data)
			}
			if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestPushAgain: an image of which a piece is gone, or the manifest is damaged, is pushed again.
func TestPushAgain(t *testing.T) {
	path, b := written(t)
	for what, harm := range map[string]func(*shelf, *Manifest){
		"a piece is gone":         func(s *shelf, m *Manifest) { delete(s.Objects, m.pieceName(2)) },
		"a piece is cut":          func(s *shelf, m *Manifest) { s.Objects[m.pieceName(1)] = []byte("x") },
		"the manifest is garbage": func(s *shelf, _ *Manifest) { s.Objects[id+"/"+manifestName] = []byte("{") },
	} {
		s, r := newShelf()
		if err := push(t.Context(), r, path, b); err != nil {
			t.Fatal(err)
		}
		m, err := r.Manifest(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		there, err := r.pieces(t.Context(), id)
		if err != nil || !m.whole(there) {
			t.Fatalf("%s: before: %v", what, err)
		}
		harm(s, m)
		if there, err = r.pieces(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if m, err := r.Manifest(t.Context(), id); err == nil && m.whole(there) {
			t.Errorf("%s: it is taken for whole", what)
		}
		if err := push(t.Context(), r, path, b); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Pull(t.Context(), id, image.Cold{Dir: filepath.Join(t.TempDir(), "images")}, nil, noBar); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestStalled: a pull from a service that moves nothing any more ends, and goes on later.
func TestStalled(t *testing.T) {
	path, b := written(t)
	s, r := newShelf()
	if err := push(t.Context(), r, path, b); err != nil {
		t.Fatal(err)
	}
	stuck := &stuckAfter{shelf: s, pieces: 1}
	cold := image.Cold{Dir: filepath.Join(t.TempDir(), "images")}
	if _, err := (Images{Store: stuck, URL: r.URL, Patience: 200 * time.Millisecond}).Pull(t.Context(), id, cold, nil, noBar); !errors.Is(err, ErrStalled) {
		t.Errorf("%v", err)
	}
	if _, err := r.Pull(t.Context(), id, cold, nil, noBar); err != nil {
		t.Error(err)
	}
}

// stuckAfter answers for the manifest and some pieces, and then no more.
type stuckAfter struct {
	*shelf

	mu     sync.Mutex
	pieces int
}

func (s *stuckAfter) Get(ctx context.Context, name string) ([]byte, error) {
	s.mu.Lock()
	stuck := false
	if name != id+"/"+manifestName {
		s.pieces--
		stuck = s.pieces < 0
	}
	s.mu.Unlock()
	if stuck {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.shelf.Get(ctx, name)
}
