package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ramaria-db/ramaria/internal/volume"
)

// TestStanding: an error is told as the removal of the volume only when the volume was removed.
func TestStanding(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	remove := func(t *testing.T, dir string) {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		ctx     context.Context
		before  func(*testing.T, string)
		after   func(*testing.T, string)
		removed bool
	}{
		"it stands":      {ctx: t.Context()},
		"it was removed": {ctx: t.Context(), after: remove, removed: true},
		"another stands there": {ctx: t.Context(), removed: true, after: func(t *testing.T, dir string) {
			// Beside the old one, so that the two cannot share an inode number.
			if err := errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700)); err != nil {
				t.Fatal(err)
			}
		}},
		"removed before it was looked at": {ctx: t.Context(), before: remove, removed: true},
		"interrupted":                     {ctx: over, after: remove},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "xfs")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if c.before != nil {
				c.before(t, dir)
			}
			s := stand(volume.XFS, dir)
			if c.after != nil {
				c.after(t, dir)
			}
			if err := s.explain(c.ctx, nil); err != nil {
				t.Errorf("of no error: %v", err)
			}
			cause := errors.New("open file: no such file or directory")
			if err := s.explain(c.ctx, cause); errors.Is(err, ErrVolumeRemoved) != c.removed || errors.Is(err, cause) == c.removed {
				t.Errorf("got %v", err)
			}
		})
	}
}
