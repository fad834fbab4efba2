package durable

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// TestCreateAgain: what is left of an archive that never got its manifest is in no one's way.
func TestCreateAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "archive")
	a, err := Create(t.Context(), dir, "shop")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.save(func(*archive.Manifest) {}); err != nil {
		t.Fatal(err)
	}
	// As a power cut leaves it that takes the second name of the manifest back.
	if err := errors.Join(a.Close(), os.Rename(filepath.Join(dir, "manifest.json"), filepath.Join(dir, "manifest.json.new"))); err != nil {
		t.Fatal(err)
	}
	if a, err = Create(t.Context(), dir, "shop"); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
