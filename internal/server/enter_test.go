package server_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server"
)

// TestKeptOut names the directory that keeps an account out, and none where it may pass.
func TestKeptOut(t *testing.T) {
	t.Parallel()
	top, err := os.MkdirTemp("/tmp", "ramaria-kept-out-") // whose parents all may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	dir := filepath.Join(top, "shut", "below")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{top: 0o755, filepath.Dir(dir): 0o700, dir: 0o755} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	other := server.Account{UID: 60893, GID: 60893}
	if got := other.KeptOut(dir); got != filepath.Dir(dir) {
		t.Errorf("kept out by %q, want %q", got, filepath.Dir(dir))
	}
	if got := (server.Account{UID: os.Getuid(), GID: os.Getgid()}).KeptOut(dir); got != "" {
		t.Errorf("the owner is kept out by %q", got)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		t.Fatal(err)
	}
	if got := other.KeptOut(dir); got != "" {
		t.Errorf("kept out by %q, which all may enter", got)
	}
}
