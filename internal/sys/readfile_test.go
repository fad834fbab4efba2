package sys

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestReadFile reads what os.ReadFile reads, of any length.
func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, size := range []int{0, 1, leastRead - 1, leastRead, leastRead + 1, 5*leastRead + 7} {
		want := bytes.Repeat([]byte("coral"), size)[:size]
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: got %d, %v", size, len(got), err)
		}
	}
	for _, path := range []string{"/proc/self/mountinfo", "/proc/version"} { // of no size that stat knows
		want, err := os.ReadFile(path)
		if got, gerr := ReadFile(path); err != nil || gerr != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q, %v", path, got, gerr, want, err)
		}
	}
	if _, err := ReadFile(path + ".none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := ReadFile(filepath.Dir(path)); err == nil {
		t.Error("it reads a directory")
	}
}
