package volume

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFreesImages: nobody is told to remove images from a volume that has none.
func TestFreesImages(t *testing.T) {
	dir := t.TempDir()
	for _, step := range []struct {
		make string
		want bool
	}{{"instances", false}, {"images", false}, {"images/x", true}} {
		if err := os.Mkdir(filepath.Join(dir, step.make), 0o700); err != nil {
			t.Fatal(err)
		}
		if got := FreesImages(dir) != ""; got != step.want {
			t.Errorf("with %s: %v", step.make, got)
		}
		for _, by := range []Bound{ByMemory, ByLimit} {
			e := &NoRoomError{Kind: Tmpfs, Dir: dir, Usage: Usage{Bound: by}}
			if got := strings.Contains(e.hint(), "image rm"); got != step.want {
				t.Errorf("with %s, bound by %s: %s", step.make, by, e.hint())
			}
		}
	}
}
