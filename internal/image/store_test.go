package image

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// newStore returns a store with a volume of its own on disk.
func newStore(t *testing.T) *Store {
	t.Helper()
	dir := t.TempDir()
	v, err := (&volume.Opener{Places: host.Places{Disk: filepath.Join(dir, "v")}}).Open(t.Context(), volume.Spec{Kind: volume.Disk})
	if err != nil {
		t.Fatal(err)
	}
	return &Store{Volume: v, Memo: memo.Store{Dir: filepath.Join(dir, "memo")}, UID: os.Geteuid()}
}

// newBuild returns the build of an image that needs only to be published.
func newBuild(t *testing.T, s *Store, id string) *build {
	t.Helper()
	b := &build{
		Store: s, plan: &plan{id: id, Recipe: Recipe{Server: mariadb(10, 11, 14)}}, dir: s.buildDir(id), run: filepath.Join(s.buildDir(id), "run"),
		image: &Image{Format: Format, ID: id, Flavour: server.MariaDB, Version: server.Version{Major: 10, Minor: 11, Patch: 14}},
	}
	if err := os.MkdirAll(b.dataDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	return b
}

func putImage(t *testing.T, s *Store, id string) {
	t.Helper()
	l, err := newBuild(t, s, id).publish()
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
}

// TestPublishedIsLeased: between building and cloning the image cannot be removed.
func TestPublishedIsLeased(t *testing.T) {
	s := newStore(t)
	const id = "00000000000000aa"
	l, err := newBuild(t, s, id).publish()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.DataDir()); err != nil || l.DataDir() != filepath.Join(s.imageDir(id), "data") {
		t.Errorf("the lease is of %s: %v", l.DataDir(), err)
	}
	if err := s.Remove(t.Context(), id); !errors.Is(err, errInUse) {
		t.Errorf("removed before it was cloned: %v", err)
	}
	l.Release()
	if err := s.Remove(t.Context(), id); err != nil {
		t.Errorf("after its release: %v", err)
	}
	if _, err := s.Get(t.Context(), id, nil); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "\nhint: ") {
		t.Errorf("removed: got %v", err)
	}
}

// TestCreatedIsPast: also in the second half of a second.
func TestCreatedIsPast(t *testing.T) {
	s := newStore(t)
	if half := 500 * time.Millisecond; time.Now().Nanosecond() < int(half) {
		time.Sleep(half + 10*time.Millisecond - time.Duration(time.Now().Nanosecond()))
	}
	l, err := newBuild(t, s, "00000000000000aa").publish()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if now := time.Now(); l.Created.After(now) || now.Sub(l.Created) > 10*time.Second {
		t.Errorf("created at %s, it is %s", l.Created, now)
	}
}

// TestRemoveLooksAgain: an instance that was made while Remove waited for the lock
// keeps its image.
func TestRemoveLooksAgain(t *testing.T) {
	s := newStore(t)
	const id = "00000000000000aa"
	putImage(t, s, id)
	asked := 0
	s.InUse = func(string) bool {
		asked++
		return asked > 1
	}
	if err := s.Remove(t.Context(), id); !errors.Is(err, errInUse) {
		t.Errorf("got %v", err)
	}
	if _, err := s.find(id); err != nil {
		t.Errorf("the image of an instance is gone: %v", err)
	}
	asked = 0
	s.Limit = 1
	if err := s.evict(t.Context(), 2); err != nil {
		t.Error(err)
	}
	if _, err := s.find(id); err != nil {
		t.Errorf("the image of an instance was evicted: %v", err)
	}
}

// TestLeaseWaits: one who asks for an image while another looks whether to remove
// it gets it, and does not build it again.
func TestLeaseWaits(t *testing.T) {
	s := newStore(t)
	const id = "00000000000000aa"
	putImage(t, s, id)
	lock, err := sys.TryLock(filepath.Join(s.imageDir(id), "used"), sys.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { lock.Unlock() })
	l, err := s.lease(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
}

// TestImagePrefix: how much of an id was typed makes no other image.
func TestImagePrefix(t *testing.T) {
	s := newStore(t)
	const id = "abcdef0123456789"
	putImage(t, s, id)
	a := filepath.Join(tree(t, map[string]string{"a.sql": "SELECT 1;"}), "a.sql")
	ids := map[string]bool{}
	for _, from := range []string{id, id[:6], id[:15]} {
		r, err := s.fullID(Recipe{Server: mariadb(10, 11, 14), From: ParseSources([]string{from, a})})
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.resolve(t.Context(), s.Memo)
		if err != nil {
			t.Fatal(err)
		}
		ids[p.id] = true
		b := newBuild(t, s, p.id)
		b.plan = p
		if err := os.WriteFile(filepath.Join(s.imageDir(id), "image.json"), []byte(`{"format":1,"id":"`+id+`","size":1000000}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if need, err := b.estimate(t.Context()); err != nil || need != baseRoom+1000000+9 {
			t.Errorf("%s: estimated %d, %v", from, need, err)
		}
	}
	if len(ids) != 1 {
		t.Errorf("%d images of one recipe", len(ids))
	}
	if _, err := s.fullID(Recipe{From: ParseSources([]string{"fedcba"})}); !errors.Is(err, ErrNotFound) {
		t.Errorf("no such image: got %v", err)
	}
	if l, err := s.Ensure(t.Context(), Recipe{Server: mariadb(10, 11, 14), From: ParseSources([]string{id})}); err == nil {
		l.Release()
		t.Error("an image of no flavour suits MariaDB")
	}
}

// TestMade: what a recipe would make is compared with what an instance was made of.
func TestMade(t *testing.T) {
	const id = "abcdef0123456789"
	a := filepath.Join(tree(t, map[string]string{"a.sql": "SELECT 1;"}), "a.sql")
	for _, c := range []struct {
		name string
		from []string
		id   string
		want bool
		err  bool
	}{
		{name: "the beginning of an id", from: []string{id[:6]}, id: id, want: true},
		{name: "an id", from: []string{id}, id: id, want: true},
		{name: "another", from: []string{"abcde0"}, id: id},
		{name: "a dump", from: []string{a}, id: id},
		{name: "loaded into an image", from: []string{id, a}, id: id},
		{name: "cannot be told", from: []string{id[:6], a}, id: id, err: true},
	} {
		got, err := Recipe{Server: mariadb(10, 11, 14), From: ParseSources(c.from)}.Made(t.Context(), memo.Store{Dir: t.TempDir()}, c.id)
		if got != c.want || (err != nil) != c.err {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}
