package sys

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestSyncTree: what is no file of the tree is passed over, and nothing is followed.
func TestSyncTree(t *testing.T) {
	dir := t.TempDir()
	err := errors.Join(os.Mkdir(filepath.Join(dir, "a"), 0o700), os.WriteFile(filepath.Join(dir, "a/b"), []byte("x"), 0o400), os.Symlink("/nonexistent", filepath.Join(dir, "link")))
	if err != nil {
		t.Fatal(err)
	}
	if err := SyncTree(dir); err != nil {
		t.Error(err)
	}
	if err := SyncTree(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
