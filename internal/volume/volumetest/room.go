package volumetest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ramaria-db/ramaria/internal/volume"
)

// freeingTime is how long a file system may take to free what was removed.
const freeingTime = 5 * time.Second

func testUsage(t *testing.T, v volume.Volume) {
	const size = 4 << 20
	before, err := v.Usage()
	must(t, err)
	if before.Size <= 0 || before.Free <= 0 || before.Bound == "" {
		t.Errorf("usage of an empty volume: %+v", before)
	}
	file := filepath.Join(v.Dir(), "images", "file")
	must(t, os.WriteFile(file, make([]byte, size), 0o600))
	must(t, os.Link(file, file+"2"))            // counts once
	must(t, os.WriteFile(file+"3", nil, 0o600)) // a hole counts nothing
	must(t, os.Truncate(file+"3", 100<<20))
	after, err := v.Usage()
	must(t, err)
	if grown := after.Used - before.Used; grown < size || grown > size+size/8 {
		t.Errorf("writing %d bytes grew Used by %d", size, grown)
	}
	for _, f := range []string{file, file + "2", file + "3"} {
		must(t, v.Remove(t.Context(), f))
	}
	// XFS frees the blocks of removed files beside the removal.
	for deadline := time.Now().Add(freeingTime); ; time.Sleep(10 * time.Millisecond) {
		end, err := v.Usage()
		must(t, err)
		if end.Used <= before.Used+size/8 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after removal Used is %d, before it was %d", end.Used, before.Used)
		}
	}
}

func testCheckRoom(t *testing.T, v volume.Volume) {
	u, err := v.Usage()
	must(t, err)
	must(t, volume.CheckRoom(v, u.Free/2, "half"))
	err = volume.CheckRoom(v, 2*u.Free, "twice the room")
	var full *volume.NoRoomError
	if !errors.As(err, &full) {
		t.Fatalf("got %v, want a NoRoomError", err)
	}
	for _, want := range []string{"twice the room", volume.FormatBytes(2 * u.Free), "bound by", "\nhint: "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func testRemove(t *testing.T, v volume.Volume) {
	tree := filepath.Join(v.Dir(), "instances", "a")
	WriteFixture(t, tree) // it holds directories closed to writing
	must(t, os.Chmod(tree, 0o555))
	away := filepath.Join(t.TempDir(), "kept")
	must(t, os.WriteFile(away, nil, 0o600))
	link := filepath.Join(v.Dir(), "instances", "link")
	must(t, os.Symlink(filepath.Dir(away), link))
	for range 2 { // idempotent
		must(t, v.Remove(t.Context(), tree))
		must(t, v.Remove(t.Context(), link))
	}
	must(t, v.Remove(t.Context(), filepath.Join(tree, "not", "there")))
	for _, p := range []string{tree, link} {
		if _, err := os.Lstat(p); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", p, err)
		}
	}
	if _, err := os.Lstat(away); err != nil {
		t.Errorf("removing a link reached what it points to: %v", err)
	}
}

func testRemoveRefuses(t *testing.T, v volume.Volume) {
	away := t.TempDir()
	kept := filepath.Join(away, "kept")
	must(t, os.WriteFile(kept, nil, 0o600))
	must(t, os.Symlink(away, filepath.Join(v.Dir(), "instances", "way-out")))
	for _, path := range []string{
		kept,
		v.Dir(),
		v.Dir() + "/",
		v.Dir() + "/instances/../..",
		v.Dir() + "x",
		filepath.Join(v.Dir(), "instances", "way-out", "kept"),
		"images",
		"",
		"/",
	} {
		if err := v.Remove(t.Context(), path); err == nil {
			t.Errorf("removing %q was not refused", path)
		}
	}
	if _, err := os.Lstat(kept); err != nil {
		t.Errorf("a file outside was removed: %v", err)
	}
}

func testClose(t *testing.T, v volume.Volume) {
	must(t, v.Close())
	must(t, v.Close())
	if _, err := os.Lstat(v.Dir()); err != nil {
		t.Errorf("closing removed the data: %v", err)
	}
}

func makeFIFO(t *testing.T, path string) {
	t.Helper()
	must(t, unix.Mkfifo(path, 0o600))
}
