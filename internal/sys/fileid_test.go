package sys_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// TestFileID tells files from each other, whatever their names.
func TestFileID(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	f, err := os.Create(a)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := errors.Join(os.WriteFile(b, nil, 0o600), os.Symlink(a, filepath.Join(dir, "link")), os.Link(a, filepath.Join(dir, "hard"))); err != nil {
		t.Fatal(err)
	}
	open, links, err := sys.OpenID(f)
	if err != nil || links != 2 {
		t.Errorf("%d links, %v", links, err)
	}
	for name, same := range map[string]bool{"a": true, "hard": true, "b": false, "link": false} {
		id, err := sys.LinkID(filepath.Join(dir, name))
		if err != nil || (id == open) != same {
			t.Errorf("%s: %+v, %v; the file is %+v", name, id, err, open)
		}
	}
	if err := os.Remove(a); err != nil {
		t.Fatal(err)
	}
	if _, links, err = sys.OpenID(f); err != nil || links != 1 {
		t.Errorf("%d links, %v", links, err)
	}
	if _, err := sys.LinkID(a); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
}
