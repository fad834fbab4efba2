package volume_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/volume"
	"github.com/ramaria-db/ramaria/internal/volume/volumetest"
)

// TestOutside: a directory on another file system is a target of snapshots, that of a full one says
// so, and it keeps what it has.
func TestOutside(t *testing.T) {
	v := open(t, places(t), volume.Spec{Kind: volume.Shm})
	src := filepath.Join(v.Dir(), "images", "src")
	volumetest.WriteFixture(t, src)
	o, parent := volume.Opener{}, smallTmpfs(t, "12m")
	to, err := o.Outside(filepath.Join(parent, "archive"))
	if err != nil {
		t.Fatal(err)
	}
	if volume.SharesWith(to, src) {
		t.Error("it says that it shares blocks with another file system")
	}
	dst := filepath.Join(to.Dir(), "a")
	if err := to.Snapshot(t.Context(), src, dst, volume.How{}); err != nil {
		t.Fatal(err)
	}
	if d := volumetest.Diff(volumetest.ReadTree(t, src), volumetest.ReadTree(t, dst)); d != "" {
		t.Errorf("the copy differs (-source +copy):\n%s", d)
	}
	if err := to.Snapshot(t.Context(), src, dst, volume.How{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("to a name that is there: %v", err)
	}
	for _, beyond := range []string{filepath.Join(parent, "b"), filepath.Join(v.Dir(), "instances", "b")} {
		if err := to.Snapshot(t.Context(), src, beyond, volume.How{}); err == nil {
			t.Errorf("it made %s, which is not below it", beyond)
		}
	}
	if err := o.In(volume.Spec{Kind: volume.Shm}, v.Dir()).Snapshot(t.Context(), dst, filepath.Join(v.Dir(), "instances", "back"), volume.How{}); err != nil {
		t.Errorf("back into the volume: %v", err)
	}

	big := filepath.Join(v.Dir(), "images", "big")
	if err := errors.Join(os.Mkdir(big, 0o700), os.WriteFile(filepath.Join(big, "file"), make([]byte, 20<<20), 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"copied": to.Snapshot(t.Context(), big, filepath.Join(to.Dir(), "big"), volume.How{}),
		"asked":  volume.CheckCopy(to, big, 20<<20, 0, "big"),
	} {
		var full *volume.NoRoomError
		if !errors.As(err, &full) || full.Need < 20<<20 || !strings.Contains(err.Error(), "no room for big in directory "+to.Dir()) || !strings.Contains(err.Error(), "\nhint: ") {
			t.Errorf("%s, what does not fit: %v", name, err)
		}
	}
	names, err := filepath.Glob(filepath.Join(to.Dir(), "*"))
	if hidden, herr := filepath.Glob(filepath.Join(to.Dir(), ".*")); err != nil || herr != nil || len(names) != 1 || len(hidden) > 0 {
		t.Errorf("there are %q and %q (%v, %v)", names, hidden, err, herr)
	}
	if err := to.Remove(t.Context(), dst); err != nil {
		t.Error(err)
	}
}
