package engine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// TestReapSweeps: every command removes what a killed one was throwing away, and leaves alone what one that lives throws
// away. A volume that is not there is no error.
func TestReapSweeps(t *testing.T) {
	dir := t.TempDir()
	e := &Engine{Host: host.Host{Root: "/"}, Places: host.Places{State: filepath.Join(dir, "state"), Disk: filepath.Join(dir, "disk"), Shm: filepath.Join(dir, "shm")}}
	v, err := e.Opener().Open(t.Context(), volume.Spec{Kind: volume.Disk})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	dead, living := filepath.Join(v.Dir(), ".trash-DEAD"), filepath.Join(v.Dir(), ".trash-LIVING")
	for _, path := range []string{dead, living} {
		if err := os.MkdirAll(filepath.Join(path, "data"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+".lock", nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := sys.TryLock(living+".lock", sys.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	if err := e.reap(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(v.Dir(), ".trash-*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 2 || left[0] != living || left[1] != living+".lock" {
		t.Errorf("left: %v", left)
	}
	if _, err := os.Lstat(e.Places.Shm); !os.IsNotExist(err) {
		t.Errorf("the other volume: %v", err)
	}
}
