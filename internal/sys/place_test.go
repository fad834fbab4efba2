package sys

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// mountAt mounts a tmpfs of a name until the test ends.
func mountAt(t *testing.T, dir, source string) {
	t.Helper()
	m, err := NewMount("tmpfs", "source="+source)
	if errors.Is(err, unix.EPERM) {
		t.Skipf("SKIPPED, UNTESTED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(dir, 0o700), m.Attach(dir), m.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestPlace: what is unmounted is what was looked at, when another directory has taken the parent's name meanwhile; by its
// path it would be the other one.
func TestPlace(t *testing.T) {
	top := t.TempDir()
	mine, others := filepath.Join(top, "mine"), filepath.Join(top, "others")
	mountAt(t, filepath.Join(mine, "place"), "first")
	mountAt(t, filepath.Join(others, "place"), "second")
	t.Cleanup(func() {
		for _, dir := range []string{mine, others, filepath.Join(top, "moved")} {
			if err := Unmount(filepath.Join(dir, "place"), true); err != nil {
				t.Error(err)
			}
		}
	})
	path := filepath.Join(mine, "place")
	p, err := OpenPlace(path)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if source, err := p.Source(); source != "first" || err != nil {
		t.Fatalf("%q, %v", source, err)
	}
	if err := errors.Join(os.Rename(mine, filepath.Join(top, "moved")), os.Rename(others, mine)); err != nil {
		t.Fatal(err)
	}
	if source, err := MountedFrom(path); source != "second" || err != nil {
		t.Fatalf("by its path: %q, %v", source, err)
	}
	file, err := os.Create(filepath.Join(top, "moved", "place", "file"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Unmount(false); !errors.Is(err, unix.EBUSY) {
		t.Errorf("unmount what is in use: %v", err)
	}
	if err := errors.Join(file.Close(), p.Unmount(false)); err != nil {
		t.Fatal(err)
	}
	if source, err := p.Source(); source != "" || err != nil {
		t.Errorf("%q is there still, %v", source, err)
	}
	if source, err := MountedFrom(path); source != "second" || err != nil {
		t.Errorf("of the other: %q, %v", source, err)
	}
	if source, err := MountedFrom(filepath.Join(top, "none", "place")); source != "" || err != nil {
		t.Errorf("nowhere: %q, %v", source, err)
	}
	if err := os.Symlink(path, filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	if source, err := MountedFrom(filepath.Join(top, "link")); source != "" || err != nil {
		t.Errorf("through a link: %q, %v", source, err)
	}
}
