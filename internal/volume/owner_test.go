package volume_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func owner(t *testing.T, state string, create bool) (volume.Owner, bool) {
	t.Helper()
	w, copied, err := volume.FindOwner(t.Context(), host.Host{}, state, "", create)
	if err != nil {
		t.Fatal(err)
	}
	return w, copied
}

func TestFindOwner(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	if w, copied := owner(t, state, false); w.Registry != "" || copied || w.Lives(host.Host{}) {
		t.Errorf("before there is anything: %+v, copied %v", w, copied)
	}
	var wg sync.WaitGroup
	ids := make(chan string, 8)
	for range cap(ids) {
		wg.Go(func() {
			w, _, err := volume.FindOwner(t.Context(), host.Host{}, state, "", true)
			if err != nil {
				t.Error(err)
			}
			ids <- w.Registry
		})
	}
	wg.Wait()
	w, copied := owner(t, state, false)
	for range cap(ids) {
		if id := <-ids; id != w.Registry || id == "" {
			t.Errorf("got the ids %q and %q", id, w.Registry)
		}
	}
	if copied || !w.Lives(host.Host{}) {
		t.Errorf("copied %v, lives %v", copied, w.Lives(host.Host{}))
	}
	moved := filepath.Join(dir, "moved")
	if err := os.Rename(state, moved); err != nil {
		t.Fatal(err)
	}
	if again, copied := owner(t, moved, false); again.Registry != w.Registry || copied {
		t.Errorf("moved: %+v, copied %v", again, copied)
	}
	if w.Lives(host.Host{}) {
		t.Error("it lives where it is not any more")
	}
	clone := filepath.Join(dir, "copy")
	if err := os.CopyFS(clone, os.DirFS(moved)); err != nil {
		t.Fatal(err)
	}
	if c, copied := owner(t, clone, false); c.Registry != "" || !copied {
		t.Errorf("copied: %+v, copied %v", c, copied)
	}
	if c, copied := owner(t, clone, true); c.Registry == "" || c.Registry == w.Registry || !copied {
		t.Errorf("copied, and to be used: %+v, copied %v", c, copied)
	}
	if c, copied := owner(t, clone, true); c.Registry == "" || copied {
		t.Errorf("the copy from then on: %+v, copied %v", c, copied)
	}
	// After a reboot nothing is in memory, and another file system may have the numbers.
	root := t.TempDir()
	boot := filepath.Join(root, "proc/sys/kernel/random")
	if err := os.MkdirAll(boot, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(boot, "boot_id"), []byte("another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, _, err := volume.FindOwner(t.Context(), host.Host{Root: root}, moved, "", false); err != nil || r.Registry != "" {
		t.Errorf("after a reboot: %+v, %v", r, err)
	}
	if err := os.WriteFile(filepath.Join(moved, "registry.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if d, _ := owner(t, moved, true); d.Registry == "" || d.Registry == w.Registry {
		t.Errorf("damaged: %+v", d)
	}
}

// TestOwners opens the volumes of two registries at one place, many times at once.
func TestOwners(t *testing.T) {
	p := places(t)
	kinds := []volume.Kind{volume.Shm}
	if os.Geteuid() == 0 {
		p.Mounts = mounts(t)
		kinds = append(kinds, volume.Tmpfs)
	}
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			openers := []*volume.Opener{
				{Places: p, Owner: volume.Owner{Format: 1, Registry: "a", State: "/a"}},
				{Places: p, Owner: volume.Owner{Format: 1, Registry: "b", State: "/b"}},
			}
			var wg sync.WaitGroup
			dirs := make([]sync.Map, len(openers))
			for i, o := range openers {
				for range 10 {
					wg.Go(func() {
						v, err := o.Open(t.Context(), volume.Spec{Kind: kind, Size: smallSize})
						if err != nil {
							t.Error(err)
							return
						}
						dirs[i].Store(v.Dir(), true)
					})
				}
			}
			wg.Wait()
			seen := map[string]bool{}
			for i, o := range openers {
				dirs[i].Range(func(dir, _ any) bool {
					if seen[dir.(string)] {
						t.Errorf("two registries have %s", dir)
					}
					seen[dir.(string)] = true
					if w, err := volume.ReadOwner(dir.(string)); err != nil || w != o.Owner || !o.Ours(kind, dir.(string)) {
						t.Errorf("%s belongs to %+v (%v), not to %+v", dir, w, err, o.Owner)
					}
					return true
				})
			}
			if len(seen) != len(openers) {
				t.Errorf("the volumes are %v", seen)
			}
			// A user who has made no volume sees none of them, and removes none.
			none := &volume.Opener{Places: p}
			if there, err := none.There(kind); there || err != nil {
				t.Errorf("it is there for others: %v", err)
			}
			for _, o := range openers {
				if err := o.At(kind).Destroy(t.Context(), true); err != nil {
					t.Error(err)
				}
			}
			for dir := range seen {
				if there, err := sys.Mounted(dir); there || err != nil {
					t.Errorf("%s is still mounted (%v)", dir, err)
				}
			}
		})
	}
}

// TestOwnerOfOthers: another user has put something in the place of a volume before it is made;
// Ramaria neither waits for it nor follows it.
func TestOwnerOfOthers(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"fifo":    func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"link":    func(path string) error { return os.Symlink("/dev/zero", path) },
		"dir":     func(path string) error { return os.Mkdir(path, 0o755) },
		"garbage": func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"endless": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<50))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := places(t)
			if err := os.Mkdir(p.Shm, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := put(filepath.Join(p.Shm, ".owner.json")); err != nil {
				t.Fatal(err)
			}
			o := &volume.Opener{Places: p, Owner: volume.Owner{Format: 1, Registry: "a", State: "/a"}}
			done := make(chan error)
			go func() {
				v, err := o.Open(context.Background(), volume.Spec{Kind: volume.Shm, Size: smallSize})
				if err == nil && v.Dir() == p.Shm {
					err = errors.New("it took the place")
				}
				done <- err
			}()
			select {
			case err := <-done:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Error("it waits for a minute by now")
			}
		})
	}
}
