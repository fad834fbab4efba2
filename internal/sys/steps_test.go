package sys

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestDrainTree: large files are left with little, and what has another name, or lies elsewhere, is left alone.
func TestDrainTree(t *testing.T) {
	const size = 100 << 20
	dir := dirs(t)["shm"]
	top, elsewhere := filepath.Join(dir, "top"), filepath.Join(dir, "elsewhere")
	if err := errors.Join(os.MkdirAll(filepath.Join(top, "a/b"), 0o700), os.Mkdir(elsewhere, 0o700)); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"a/large": false, "a/b/large": false, "a/small": true, "a/two": true, "../elsewhere/large": true}
	for name := range want {
		length := int64(size)
		if name == "a/small" {
			length = firstStep
		}
		if err := errors.Join(os.WriteFile(filepath.Join(top, name), nil, 0o600), os.Truncate(filepath.Join(top, name), length)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(
		os.Link(filepath.Join(top, "a/two"), filepath.Join(dir, "second")),
		os.Symlink("../elsewhere", filepath.Join(top, "link")),
		os.Symlink("../../elsewhere/large", filepath.Join(top, "a/link")),
	); err != nil {
		t.Fatal(err)
	}
	if err := DrainTree(t.Context(), top); !errors.Is(err, ErrNotPlain) {
		t.Errorf("links: %v", err)
	}
	for name, kept := range want {
		fi, err := os.Stat(filepath.Join(top, name))
		if err != nil {
			t.Fatal(err)
		}
		if is := fi.Size() == size || name == "a/small" && fi.Size() == firstStep; is != kept || !kept && fi.Size() > mostStep {
			t.Errorf("%s has %d bytes", name, fi.Size())
		}
	}
}

// TestSteps: they become shorter while they take long, and longer while they do not, and others have as much time.
func TestSteps(t *testing.T) {
	for _, c := range []struct {
		step, want int64
		took       time.Duration
	}{
		{16 << 20, 8 << 20, 10 * time.Millisecond},
		{leastStep, leastStep, 10 * time.Millisecond},
		{16 << 20, 16 << 20, 2 * time.Millisecond},
		{16 << 20, 32 << 20, 0},
		{mostStep, mostStep, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			if got := restAfter(c.step, began.Add(-c.took)); got != c.want {
				t.Errorf("%d bytes in %s: the next %d, want %d", c.step, c.took, got, c.want)
			}
			if rest := time.Since(began); rest != c.took {
				t.Errorf("a rest of %s after %s", rest, c.took)
			}
		})
	}
}
