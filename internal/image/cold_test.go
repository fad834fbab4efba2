package image

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/software"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

const coldID = "00000000000000aa"

// coldStore is a store with a cache; what it says comes into the buffer.
func coldStore(t *testing.T) (*Store, *bytes.Buffer) {
	t.Helper()
	s, said := newStore(t), &bytes.Buffer{}
	s.Places = host.Places{Cache: filepath.Join(t.TempDir(), "cache")}
	s.Talk = said
	return s, said
}

// putData makes an image of files of all sorts.
func putData(t *testing.T, s *Store) {
	t.Helper()
	b := newBuild(t, s, coldID)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(b.dataDir(), name) }
	for _, dir := range []string{"empty", "shop", "closed"} {
		must(os.Mkdir(at(dir), 0o700))
	}
	text := bytes.Repeat([]byte("the quick brown fox\n"), 5000)
	must(os.WriteFile(at("ibdata1"), text, 0o660))
	must(os.WriteFile(at("shop/none"), nil, 0o600))
	must(os.WriteFile(at("shop/a b\nc\\d\xff.frm"), []byte("x"), 0o640))
	must(os.WriteFile(at("closed/t"), text, 0o400))
	must(os.WriteFile(at("zeros"), make([]byte, 100<<10+7), 0o600)) // held, not a hole
	f, err := os.OpenFile(at("holes"), os.O_CREATE|os.O_WRONLY, 0o600)
	must(err)
	for _, off := range []int64{4096 + 1, 3 << 20, 9<<20 - 3} {
		_, err := f.WriteAt([]byte("island"), off)
		must(err)
	}
	must(errors.Join(f.Truncate(12<<20+5), f.Close()))
	old := time.Unix(1e9, 123456789)
	must(os.Chtimes(at("ibdata1"), old, old))
	must(os.Chmod(at("shop"), 0o750))
	must(os.Chmod(at("closed"), 0o500))
	t.Cleanup(func() { // also where it was restored; for those who are not root
		for _, dir := range []string{s.imageDir(coldID), s.buildDir(coldID)} {
			_ = os.Chmod(filepath.Join(dir, "data", "closed"), 0o700)
		}
	})
	b.image.Size, err = sys.DiskUsage(b.dataDir())
	must(err)
	l, err := b.publish()
	must(err)
	l.Release()
}

// shape is what a file is, besides its directory's time.
type shape struct {
	Mode    fs.FileMode
	Size    int64
	Content string
	Time    time.Time
	UID     uint32
}

// shapes returns all below and of dir.
func shapes(t *testing.T, dir string) map[string]shape {
	t.Helper()
	out := map[string]shape{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		s := shape{Mode: fi.Mode(), UID: fi.Sys().(*syscall.Stat_t).Uid}
		if !d.IsDir() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			s.Size, s.Content, s.Time = fi.Size(), string(b), fi.ModTime()
		}
		rel, err := filepath.Rel(dir, path)
		out[rel] = s
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// saveAndForget saves the image and removes the hot one.
func saveAndForget(t *testing.T, s *Store) *Saved {
	t.Helper()
	v, err := s.Save(t.Context(), coldID)
	if err == nil {
		err = s.Remove(t.Context(), coldID)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// nothingLeft fails if there is a hot image, or anything half made.
func nothingLeft(t *testing.T, s *Store) {
	t.Helper()
	for _, dir := range []string{s.dir(), ColdIn(s.Places).Dir} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), savedSuffix) {
				t.Errorf("left behind: %s/%s", dir, e.Name())
			}
		}
	}
}

func TestSaveAndRestore(t *testing.T) {
	s, said := coldStore(t)
	putData(t, s)
	data := filepath.Join(s.imageDir(coldID), "data")
	want := shapes(t, data)
	m, err := read(s.imageDir(coldID))
	if err != nil {
		t.Fatal(err)
	}
	v := saveAndForget(t, s)
	if fi, err := os.Stat(v.Path); err != nil || fi.Mode() != 0o600 || fi.Size() != v.Size || v.Size > 20<<10 {
		t.Errorf("the file: %v, %v, said to have %d bytes", fi, err, v.Size)
	}
	nothingLeft(t, s)
	l, err := s.Get(t.Context(), coldID[:8]+coldID[8:12], mariadb(10, 11, 2))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if diff := cmp.Diff(want, shapes(t, data)); diff != "" {
		t.Error(diff)
	}
	if l.DataDir() != data || !l.Created.Equal(m.Created) || l.Origin != m.Origin || l.Version != m.Version {
		t.Errorf("restored %+v, saved %+v", l.Image, m)
	}
	// zeros took 100 KB, and are holes now.
	used, err := sys.DiskUsage(data)
	if err != nil || used != l.Size || used > m.Size-100<<10 {
		t.Errorf("it takes %d, says %d, took %d: %v", used, l.Size, m.Size, err)
	}
	if got := said.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "restored image "+coldID+" from "+v.Path+" (") {
		t.Errorf("said %q", got)
	}
	if err := s.Remove(t.Context(), coldID); !errors.Is(err, errInUse) {
		t.Errorf("restored, it is not leased: %v", err)
	}
	if _, err := s.Save(t.Context(), coldID); err != nil {
		t.Errorf("saved again: %v", err)
	}
	if got := said.String(); strings.Count(got, "\n") != 2 {
		t.Errorf("saved again, it said %q", got)
	}
}

// TestBarIsTalk: a terminal changes nothing, nor does a size that is wrong.
func TestBarIsTalk(t *testing.T) {
	s, _ := coldStore(t)
	s.Terminal = true
	for _, size := range []int64{0, 1, 1 << 30} {
		b := newBuild(t, s, coldID)
		b.image.Size = size
		text := bytes.Repeat([]byte{1}, 3<<20)
		if err := os.WriteFile(filepath.Join(b.dataDir(), "t"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := b.publish()
		if err != nil {
			t.Fatal(err)
		}
		l.Release()
		saveAndForget(t, s)
		if size > 1<<20 {
			continue // it would not fit, perhaps
		}
		if l, err = s.Get(t.Context(), coldID, nil); err != nil {
			t.Fatalf("size %d: %v", size, err)
		}
		if got, err := os.ReadFile(filepath.Join(l.DataDir(), "t")); err != nil || !bytes.Equal(got, text) {
			t.Errorf("size %d: %d bytes, %v", size, len(got), err)
		}
		l.Release()
		if err := errors.Join(s.Remove(t.Context(), coldID), ColdIn(s.Places).Remove(coldID)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRestoredOwner: restored files belong to the account, at no moment to another.
func TestRestoredOwner(t *testing.T) {
	account := serverAccount(t)
	s, _ := coldStore(t)
	putData(t, s)
	saveAndForget(t, s)
	s.Account = account
	l, err := s.Get(t.Context(), coldID, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if uids, mode := owners(t, l.DataDir()); len(uids) != 1 || !uids[account.UID] || mode != 0o700 {
		t.Errorf("it is of %v, mode %o", uids, mode)
	}
}

// TestRestoredByAny: what finds an image finds a saved one.
func TestRestoredByAny(t *testing.T) {
	s, _ := coldStore(t)
	putData(t, s)
	saveAndForget(t, s)
	if r, err := s.fullID(Recipe{From: ParseSources([]string{coldID[:7]})}); err != nil || r.From[0].Name != coldID {
		t.Errorf("full id: %v, %v", r.From, err)
	}
	if _, err := s.Get(t.Context(), coldID, mariadb(11, 4, 1)); err == nil || !strings.Contains(err.Error(), "hint: --server ") {
		t.Errorf("another series: %v", err)
	}
	nothingLeft(t, s)
	if l, err := s.Ensure(t.Context(), Recipe{Server: mariadb(10, 11, 14), From: ParseSources([]string{coldID[:7]})}); err != nil {
		t.Errorf("by its id: %v", err)
	} else {
		l.Release()
	}
	b := newBuild(t, s, "00000000000000ab")
	b.inputs = []input{{kind: kindImage, path: coldID}}
	hot, _ := b.estimate(t.Context())
	if err := s.Remove(t.Context(), coldID); err != nil {
		t.Fatal(err)
	}
	if cold, err := b.estimate(t.Context()); err != nil || cold <= baseRoom || hot <= baseRoom {
		t.Errorf("room for it: hot %d, cold %d, %v", hot, cold, err)
	}
}

// TestRestoreNoRoom: it is known before the first byte.
func TestRestoreNoRoom(t *testing.T) {
	s, _ := coldStore(t)
	putData(t, s)
	saveAndForget(t, s)
	v, err := (&volume.Opener{Places: host.Places{Disk: s.Volume.Dir()}}).Open(t.Context(), volume.Spec{Kind: volume.Disk, Size: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	s.Volume = v
	var full *volume.NoRoomError
	if _, err := s.Get(t.Context(), coldID, nil); !errors.As(err, &full) || full.Need == 0 {
		t.Errorf("got %v", err)
	}
	nothingLeft(t, s)
}

// TestEnsureSaved: a recipe's image is restored, without what building needs.
func TestEnsureSaved(t *testing.T) {
	s, said := coldStore(t)
	putData(t, s)
	v := saveAndForget(t, s)
	p := &plan{id: coldID, Recipe: Recipe{Server: mariadb(10, 11, 14)}, inputs: []input{{kind: kindDump, path: "/nosuch.sql", name: "nosuch.sql"}}}
	l, err := s.buildOnce(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
	if err := s.Remove(t.Context(), coldID); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(v.Path, v.Size/2); err != nil {
		t.Fatal(err)
	}
	said.Reset()
	// This is the build, which has no client.
	if _, err := s.buildOnce(t.Context(), p); !errors.Is(err, server.ErrNoClient) {
		t.Errorf("damaged: %v", err)
	}
	if got := said.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "(it is cut short): building it again; ramaria image rm --saved "+coldID) {
		t.Errorf("said %q", got)
	}
	nothingLeft(t, s)
	if _, err := s.Get(t.Context(), coldID, nil); err == nil || !strings.Contains(err.Error(), v.Path+" is damaged: ") || !strings.HasSuffix(err.Error(), "\nhint: ramaria image rm "+coldID) {
		t.Errorf("by its id: %v", err)
	}
}

// TestSaveDiskFull: the numbers are told, and nothing stays.
func TestSaveDiskFull(t *testing.T) {
	c := Cold{Dir: t.TempDir()}
	err := explainSave(t.Context(), &Image{ID: coldID, Size: 3 << 20}, c, &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
	var full *software.NoRoomError
	if !errors.As(err, &full) || !strings.HasPrefix(err.Error(), "save image "+coldID+", 3 MB before it is compressed: disk full: "+c.Dir+" has ") || !strings.Contains(err.Error(), "\nhint: ") {
		t.Errorf("got %v", err)
	}
	// A file of the limit's size fits, and nothing more.
	s, _ := coldStore(t)
	putData(t, s)
	m, err := read(s.imageDir(coldID))
	if err != nil {
		t.Fatal(err)
	}
	if err := pack(t.Context(), &fullWriter{left: 2000}, m, io.Discard); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %v", err)
	}
}

// fullWriter is a disk that fills up.
type fullWriter struct{ left int }

func (w *fullWriter) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	if w.left -= n; n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}
