package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCanonical: two spellings of one home have one volume.
func TestCanonical(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, spelling := range []string{real, link, "real", "./link/", "link/../real"} {
		got, err := Canonical(spelling)
		if err != nil || got != real {
			t.Errorf("%s: got %q, %v, want %q", spelling, got, err, real)
		}
	}
	if got, err := Canonical("link/not/there"); err != nil || got != filepath.Join(real, "not/there") {
		t.Errorf("a home that is not there yet: got %q, %v", got, err)
	}
	a, errA := FindPlaces(real, 1000, os.Getenv)
	b, errB := FindPlaces(link, 1000, os.Getenv)
	if errA != nil || errB != nil || a != b {
		t.Errorf("places differ: %v %v, %v %v", a, errA, b, errB)
	}
}

func TestFindPlaces(t *testing.T) {
	env := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }
	for _, c := range []struct {
		name string
		uid  int
		env  map[string]string
		want Places
	}{
		{"root", 0, nil, Places{"/var/cache/ramaria", "/var/lib/ramaria", "/dev/shm/ramaria-0", "/var/lib/ramaria/volumes/disk", "/run/ramaria/volumes"}},
		{"user", 1000, map[string]string{"HOME": "/h"}, Places{"/h/.cache/ramaria", "/h/.local/state/ramaria", "/dev/shm/ramaria-1000", "/h/.local/state/ramaria/volumes/disk", ""}},
		{"xdg", 1000, map[string]string{"HOME": "/h", "XDG_CACHE_HOME": "/c", "XDG_STATE_HOME": "relative"}, Places{"/c/ramaria", "/h/.local/state/ramaria", "/dev/shm/ramaria-1000", "/h/.local/state/ramaria/volumes/disk", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := FindPlaces("", c.uid, env(c.env))
			if err != nil || got != c.want {
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			}
		})
	}
}

// TestPlacesAreNotRelative: they would be others in each directory.
func TestPlacesAreNotRelative(t *testing.T) {
	_, err := FindPlaces("", 1000, func(name string) string { return map[string]string{"HOME": "rel"}[name] })
	if err == nil || !strings.Contains(err.Error(), "\nhint: ") {
		t.Errorf("HOME=rel: got %v, want an error with a hint", err)
	}
}

func TestRunDir(t *testing.T) {
	if got := RunDir("/dev/shm/x/instances/main", 0, "a"); got != "/dev/shm/x/instances/main/run" {
		t.Errorf("a short path: got %s", got)
	}
	long := RunDir("/a/very/long/path/that/goes/on/and/on/for/more/than/one/hundred/characters/in/all/instances/main", 7, "a")
	if len(long)+len("/server.sock") > 100 || filepath.Dir(long) != "/tmp" {
		t.Errorf("a long path: got %s", long)
	}
}
