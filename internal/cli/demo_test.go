package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestNotOnPath(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got := notOnPath(); got != filepath.Dir(self) {
		t.Errorf("not on PATH: got %q, want %q", got, filepath.Dir(self))
	}
	if err := os.WriteFile(filepath.Join(dir, "ramaria"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := notOnPath(); got != "" {
		t.Errorf("on PATH: got %q", got)
	}
}
