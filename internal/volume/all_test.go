package volume_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/volume"
)

// TestMountedDestroyedIsFound: a zram device that a process holds when its volume is taken away by
// force is found, whichever home asks, until a command has taken it away too.
func TestMountedDestroyedIsFound(t *testing.T) {
	p := mountedPlaces(t)
	v := openKind(t, p, volume.Spec{Kind: volume.Zram, Size: smallSize})
	of := p
	of.Mounts = filepath.Join(filepath.Dir(p.Mounts), "another-home")
	another := &volume.Opener{Places: of}
	found := func() *volume.Found {
		t.Helper()
		all, err := another.All()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			if f.Dir == v.Dir() {
				return &f
			}
		}
		return nil
	}
	holder, err := os.Open(filepath.Join(v.Dir(), "images"))
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if err := v.Destroy(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	f := found()
	if f == nil || f.Kind != volume.Zram || f.Mounted || f.Ours || f.Lives {
		t.Fatalf("found %+v", f)
	}
	if err := another.Release(t.Context(), *f, true); err != nil || found() == nil {
		t.Errorf("in use: %v, found %+v", err, found())
	}
	holder.Close()
	for end := time.Now().Add(4 * time.Minute); found() != nil && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err := another.Release(t.Context(), *f, true); err != nil {
			t.Fatal(err)
		}
	}
	if f := found(); f != nil {
		t.Errorf("released: found %+v", f)
	}
}
