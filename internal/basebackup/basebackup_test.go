package basebackup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/archive/archivetest"
	"github.com/ramaria-db/ramaria/internal/basebackup"
	"github.com/ramaria-db/ramaria/internal/sys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var testID = [16]byte{1, 2, 3}

const (
	page          = basebackup.PageSize
	headerAndHead = 44 + 24 // of a file, and of its first block
)

// noise is n bytes that hardly compress.
func noise(seed uint64, n int) []byte {
	b := make([]byte, n+8)
	rng := rand.New(rand.NewPCG(seed, 5))
	for i := 0; i < n; i += 8 {
		v := rng.Uint64() & 0x0f0f0f0fffffffff // a little
		for k := range 8 {
			b[i+k] = byte(v >> (8 * k))
		}
	}
	return b[:n]
}

func put(t testing.TB, dir, name string, b []byte) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o750), os.WriteFile(name, b, 0o640)); err != nil {
		t.Fatal(err)
	}
}

// tree is what there is in a directory: each file's mode, time and contents.
func tree(t testing.TB, dir string, skip func(string) bool) map[string]string {
	t.Helper()
	m := map[string]string{}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if err != nil || rel == "." {
			return err
		}
		if skip != nil && skip(rel) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		m[rel] = fmt.Sprint(fi.Mode(), fi.ModTime().UnixNano())
		if !d.IsDir() {
			b, err := os.ReadFile(path)
			m[rel] += fmt.Sprintf(" %d %x", len(b), crc32.ChecksumIEEE(b))
			return err
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return m
}

func write(t testing.TB, d archive.Disk, id uint32, dir string, prev *basebackup.Index, skip func(string) bool) (*basebackup.Index, basebackup.Written) {
	t.Helper()
	x, w, err := basebackup.Write(t.Context(), d, testID, id, dir, prev, skip)
	if err != nil {
		t.Fatal(err)
	}
	return x, w
}

// same restores a base as the disk has it, and compares it with a directory.
func same(t testing.TB, d archive.Disk, id uint32, want map[string]string) {
	t.Helper()
	x, err := basebackup.ReadIndex(d, testID, id)
	if err != nil {
		t.Fatal(err)
	}
	to, last := t.TempDir(), int64(0)
	progress := func(done int64) {
		if done <= last {
			t.Errorf("progress goes from %d to %d", last, done)
		}
		last = done
	}
	if err := basebackup.Restore(t.Context(), d, x, to, progress); err != nil {
		t.Fatal(err)
	}
	if last != x.Size() {
		t.Errorf("progress ends at %d, and the base has %d bytes", last, x.Size())
	}
	if diff := cmp.Diff(want, tree(t, to, nil)); diff != "" {
		t.Errorf("base %d is not what was written (-want +got):\n%s", id, diff)
	}
	if err := basebackup.Check(t.Context(), d, x, nil); err != nil {
		t.Error(err)
	}
}

// odd is a directory with files of all shapes.
func odd(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, "empty", nil)
	put(t, dir, "one", []byte{7})
	put(t, dir, "page", noise(1, page))
	put(t, dir, "page+1", noise(2, page+1))
	put(t, dir, "page-1", noise(3, page-1))
	put(t, dir, "large.ibd", noise(4, 150*page+77))
	put(t, dir, "zeros", make([]byte, 5*page+9))
	put(t, dir, "shop/sub/deep.ibd", noise(5, 3*page))
	put(t, dir, "shop/odd \xff name\n", []byte("it has one"))
	if err := os.MkdirAll(filepath.Join(dir, "none/in/it"), 0o711); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "holes.ibd"))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{3*page + 100, 40 * page, 400*page - 10} {
		if _, err := f.WriteAt(noise(uint64(at), 300), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(f.Truncate(900*page+5), f.Chmod(0o400), f.Close()); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2001, 2, 3, 4, 5, 6, 789, time.UTC)
	for _, name := range []string{"none/in", "one", "shop/sub/deep.ibd"} {
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRoundTrip(t *testing.T) {
	dir, d := odd(t), archive.OSDisk{Dir: t.TempDir()}
	x, w := write(t, d, 1, dir, nil, nil)
	same(t, d, 1, tree(t, dir, nil))
	if w.Pages != w.Changed || w.Pages != 1+1+2+1+151+3+1+2+2 {
		t.Errorf("%+v", w)
	}
	if got := x.Packs(); !slices.Equal(got, []uint32{1}) {
		t.Errorf("its packs are %v", got)
	}
	size := int64(0)
	for _, name := range []string{"000001.pack", "000001.index"} {
		fi, err := os.Stat(filepath.Join(d.Dir, "base", name))
		if err != nil {
			t.Fatal(err)
		}
		size += fi.Size()
	}
	if size != w.Bytes {
		t.Errorf("%d bytes are there, and %d were written", size, w.Bytes)
	}
	// Holes are holes again.
	to := t.TempDir()
	if err := basebackup.Restore(t.Context(), d, x, to, nil); err != nil {
		t.Fatal(err)
	}
	used, err := sys.DiskUsage(filepath.Join(to, "holes.ibd"))
	if err != nil || used > 20*page {
		t.Errorf("the file with holes takes %d bytes, %v", used, err)
	}
	if err := basebackup.Restore(t.Context(), d, x, to, nil); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("into a directory with files: %v", err)
	}
}

// TestNothing: a directory without a file is a base too.
func TestNothing(t *testing.T) {
	d := archivetest.New(1)
	x, w := write(t, d, 3, t.TempDir(), nil, nil)
	same(t, d, 3, map[string]string{})
	if len(x.Packs()) != 0 || w.Pages != 0 || x.Size() != 0 || x.Worn() {
		t.Errorf("%v %+v", x, w)
	}
}

func TestSkip(t *testing.T) {
	dir, d := odd(t), archivetest.New(1)
	skip := func(rel string) bool { return rel == "large.ibd" || rel == "shop/sub" || rel == "none" }
	write(t, d, 1, dir, nil, skip)
	same(t, d, 1, tree(t, dir, skip))
}

// TestIncrement: only what has changed is written, and the base before stays what it was.
func TestIncrement(t *testing.T) {
	dir, d := odd(t), archivetest.New(1)
	put(t, dir, "big.ibd", noise(9, 2000*page))
	first := tree(t, dir, nil)
	one, full := write(t, d, 1, dir, nil, nil)

	big, err := os.OpenFile(filepath.Join(dir, "big.ibd"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer big.Close()
	for i := range int64(20) {
		if _, err := big.WriteAt([]byte("changed"), i*97*page+i*31); err != nil {
			t.Fatal(err)
		}
	}
	second := tree(t, dir, nil)
	two, w := write(t, d, 2, dir, one, nil)
	if w.Changed != 20 || w.Pages != full.Pages || w.Bytes > full.Bytes/20 {
		t.Errorf("1 %% of the pages: %+v, all of them: %+v", w, full)
	}

	// Growing, shrinking, zeros, a new file, one that is gone, one in another's place.
	for _, err := range []error{
		big.Truncate(1500*page + 5), os.Remove(filepath.Join(dir, "page")), os.Truncate(filepath.Join(dir, "page+1"), page),
		os.Truncate(filepath.Join(dir, "page-1"), 3*page), os.Remove(filepath.Join(dir, "one")), os.Mkdir(filepath.Join(dir, "one"), 0o700),
		os.Rename(filepath.Join(dir, "shop"), filepath.Join(dir, "store")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := big.WriteAt(make([]byte, 8*page), 100*page); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "zeros", noise(10, 9*page))
	put(t, dir, "new/t.ibd", noise(11, 7*page))
	third := tree(t, dir, nil)
	three, w := write(t, d, 3, dir, two, nil)
	// The page where big.ibd ends now, and those of the new names; what page+1 and page-1 have, filled up
	// with zeros, is the same as before.
	if want := int64(1 + 9 + 7 + 4); w.Changed != want {
		t.Errorf("%d pages were written, want %d", w.Changed, want)
	}
	if got := three.Packs(); !slices.Equal(got, []uint32{1, 2, 3}) {
		t.Errorf("its packs are %v", got)
	}
	// Nothing at all.
	four, w := write(t, d, 4, dir, three, nil)
	if w.Changed != 0 || !slices.Equal(four.Packs(), []uint32{1, 2, 3}) {
		t.Errorf("nothing has changed: %+v, %v", w, four.Packs())
	}
	for id, want := range []map[string]string{first, second, third, third} {
		same(t, d, uint32(id+1), want)
	}
	// The index that was read serves as well as that which was written.
	read, err := basebackup.ReadIndex(d, testID, 4)
	if err != nil {
		t.Fatal(err)
	}
	if _, w := write(t, d, 5, dir, read, nil); w.Changed != 0 {
		t.Errorf("%+v", w)
	}
}

func TestWorn(t *testing.T) {
	dir, d := t.TempDir(), archivetest.New(1)
	put(t, dir, "t.ibd", noise(1, 100*page))
	var x *basebackup.Index
	for id := range uint32(8) {
		if x != nil && x.Worn() {
			t.Errorf("after %d bases, with packs %v", id, x.Packs())
		}
		put(t, dir, fmt.Sprint(id), noise(uint64(id), page))
		x, _ = write(t, d, id+1, dir, x, nil)
	}
	if !x.Worn() {
		t.Errorf("packs %v", x.Packs())
	}
	x, _ = write(t, d, 20, dir, nil, nil)
	put(t, dir, "t.ibd", slices.Concat(noise(2, 60*page), noise(1, 100*page)[60*page:]))
	x, _ = write(t, d, 21, dir, x, nil)
	if x.Worn() {
		t.Errorf("with 168 pages, of which it needs 108")
	}
	put(t, dir, "t.ibd", nil)
	if x, _ = write(t, d, 22, dir, x, nil); !x.Worn() {
		t.Errorf("with 168 pages, of which it needs 8")
	}
}

func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		make func(path string) error
		want error
	}{
		"link":            {func(path string) error { return os.Symlink("/etc/passwd", path) }, sys.ErrNotPlain},
		"link to a place": {func(path string) error { return os.Symlink("/etc", path) }, sys.ErrNotPlain},
		"link to nowhere": {func(path string) error { return os.Symlink("/nowhere", path) }, sys.ErrNotPlain},
		"fifo":            {func(path string) error { return syscall.Mkfifo(path, 0o600) }, sys.ErrNotPlain},
	} {
		t.Run(name, func(t *testing.T) {
			dir, d := odd(t), archivetest.New(1)
			if err := tc.make(filepath.Join(dir, "shop", "wrong")); err != nil {
				t.Fatal(err)
			}
			_, _, err := basebackup.Write(t.Context(), d, testID, 1, dir, nil, nil)
			if !errors.Is(err, tc.want) || !strings.Contains(fmt.Sprint(err), "shop/wrong") {
				t.Errorf("got %v", err)
			}
			if names, _ := d.Names("base"); len(names) > 0 {
				t.Errorf("%v are left", names)
			}
		})
	}
	dir, d := t.TempDir(), archivetest.New(1)
	put(t, dir, "sparse", nil)
	if err := os.Truncate(filepath.Join(dir, "sparse"), 4<<40+1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := basebackup.Write(t.Context(), d, testID, 1, dir, nil, nil); err == nil || !strings.Contains(err.Error(), "sparse: it has 4398046511105 bytes") {
		t.Errorf("a sparse file of 4 TB: %v", err)
	}
	for _, id := range []uint32{0, 3, 4} {
		x, _ := write(t, d, 4, t.TempDir(), nil, nil)
		if _, _, err := basebackup.Write(t.Context(), d, testID, id, t.TempDir(), x, nil); err == nil {
			t.Errorf("base %d after base 4 was written", id)
		}
	}
}

// TestDamage flips a bit anywhere in pack and index: it is found, and the place is told.
func TestDamage(t *testing.T) {
	dir := odd(t)
	var d *archivetest.Model
	fresh := func() {
		d = archivetest.New(1)
		one, _ := write(t, d, 1, dir, nil, nil)
		put(t, dir, "page", noise(30, page))
		write(t, d, 2, dir, one, nil)
		put(t, dir, "page", noise(1, page))
	}
	fresh()
	check := func(id uint32) error {
		x, err := basebackup.ReadIndex(d, testID, id)
		if err != nil {
			return err
		}
		return basebackup.Check(t.Context(), d, x, nil)
	}
	restore := func(id uint32) error {
		x, err := basebackup.ReadIndex(d, testID, id)
		if err != nil {
			return err
		}
		to := t.TempDir()
		defer os.RemoveAll(to)
		return basebackup.Restore(t.Context(), d, x, to, nil)
	}
	for id := uint32(1); id <= 2; id++ {
		if err := check(id); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		file string
		id   uint32
	}{{"base/000001.pack", 1}, {"base/000001.pack", 2}, {"base/000002.pack", 2}, {"base/000001.index", 1}, {"base/000002.index", 2}} {
		f, err := d.Open(tc.file)
		if err != nil {
			t.Fatal(err)
		}
		size, _ := f.Size()
		var places []int64
		for at := range size { // all of the header and of the first head, and places everywhere
			if at < headerAndHead || at%max(1, size/100) == 0 || at == size-1 {
				places = append(places, at)
			}
		}
		for n, at := range places {
			d.Flip(tc.file, at)
			var damaged *archive.DamagedError
			if err := check(tc.id); !errors.As(err, &damaged) || damaged.File != tc.file || damaged.Offset > at || damaged.Reason == "" {
				t.Fatalf("%s, byte %d: %v", tc.file, at, err)
			}
			if n%8 == 0 {
				if err := restore(tc.id); !errors.As(err, &damaged) || damaged.File != tc.file {
					t.Fatalf("%s, byte %d: restored, %v", tc.file, at, err)
				}
			}
			d.Flip(tc.file, at)
		}
		// Cut off, and longer.
		b := make([]byte, size)
		if _, err := f.ReadAt(b, 0); err != nil {
			t.Fatal(err)
		}
		for _, other := range [][]byte{nil, b[:20], b[:50], b[:size/2], b[:size-1], append(slices.Clone(b), 0)} {
			f, err := d.Create(tc.file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt(other, 0); err != nil {
				t.Fatal(err)
			}
			var damaged *archive.DamagedError
			if err := check(tc.id); !errors.As(err, &damaged) || damaged.File != tc.file {
				t.Fatalf("%s with %d bytes: %v", tc.file, len(other), err)
			}
		}
		if err := d.Remove(tc.file); err != nil {
			t.Fatal(err)
		}
		var damaged *archive.DamagedError
		if err := check(tc.id); !errors.As(err, &damaged) || damaged.File != tc.file {
			t.Errorf("%s is missing: %v", tc.file, err)
		}
		fresh()
	}
}

// TestOtherPack: a whole pack, but not the one that the index is for.
func TestOtherPack(t *testing.T) {
	dir, d, other := odd(t), archivetest.New(1), archivetest.New(2)
	x, _ := write(t, d, 1, dir, nil, nil)
	put(t, dir, "page", bytes.Repeat([]byte{'x'}, page))
	write(t, other, 1, dir, nil, nil)
	put(t, dir, "page", bytes.Repeat([]byte{'y'}, page))
	write(t, d, 2, dir, nil, nil)
	for _, from := range []struct {
		d    archive.Disk
		name string
	}{{other, "base/000001.pack"}, {d, "base/000002.pack"}} {
		f, err := from.d.Open(from.name)
		if err != nil {
			t.Fatal(err)
		}
		size, _ := f.Size()
		b := make([]byte, size)
		if _, err := f.ReadAt(b, 0); err != nil {
			t.Fatal(err)
		}
		to, err := d.Create("base/000001.pack")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := to.WriteAt(b, 0); err != nil {
			t.Fatal(err)
		}
		var damaged *archive.DamagedError
		if err := basebackup.Restore(t.Context(), d, x, t.TempDir(), nil); !errors.As(err, &damaged) {
			t.Errorf("%s: %v", from.name, err)
		}
	}
	if _, err := basebackup.ReadIndex(d, [16]byte{9}, 1); err == nil {
		t.Error("an index of another archive was read")
	}
}

// TestRemove: packs that a kept base needs stay, and all else goes.
func TestRemove(t *testing.T) {
	dir, d := odd(t), archivetest.New(1)
	var x []*basebackup.Index
	var trees []map[string]string
	for id := range uint32(4) {
		put(t, dir, "page", noise(uint64(id), page))
		var prev *basebackup.Index
		if id > 0 && id < 3 {
			prev = x[id-1]
		}
		trees = append(trees, tree(t, dir, nil))
		is, _ := write(t, d, id+1, dir, prev, nil)
		x = append(x, is)
	}
	for _, name := range []string{"000009.pack.new", "000008.pack", "000007.index.new"} { // of runs that were cut off
		if _, err := d.Create("base/" + name); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		keep []int
		want []string
	}{
		{[]int{0, 2, 3}, []string{"000001.index", "000001.pack", "000003.index", "000003.pack", "000004.index", "000004.pack"}},
		{[]int{2, 3}, []string{"000001.pack", "000003.index", "000003.pack", "000004.index", "000004.pack"}},
		{[]int{3}, []string{"000004.index", "000004.pack"}},
		{nil, nil},
	} {
		var keep []*basebackup.Index
		for _, i := range step.keep {
			keep = append(keep, x[i])
		}
		if err := basebackup.Remove(d, keep); err != nil {
			t.Fatal(err)
		}
		names, _ := d.Names("base")
		if !slices.Equal(names, step.want) {
			t.Errorf("with %v kept there are %v, want %v", step.keep, names, step.want)
		}
		for _, i := range step.keep {
			same(t, d, uint32(i+1), trees[i])
		}
	}
	if err := basebackup.Remove(archivetest.New(1), nil); err != nil {
		t.Errorf("from an archive without bases: %v", err)
	}
}

// TestCancel ends all three at any moment.
func TestCancel(t *testing.T) {
	dir, d := odd(t), archivetest.New(1)
	put(t, dir, "big.ibd", noise(9, 1000*page))
	x, _ := write(t, d, 1, dir, nil, nil)
	for name, f := range map[string]func(ctx context.Context, n int, cancel func()) error{
		"write": func(ctx context.Context, n int, cancel func()) error {
			_, _, err := basebackup.Write(ctx, d, testID, 2, dir, nil, func(string) bool {
				if n--; n == 0 {
					cancel()
				}
				return false
			})
			return err
		},
		"restore": func(ctx context.Context, n int, cancel func()) error {
			return basebackup.Restore(ctx, d, x, t.TempDir(), func(int64) {
				if n--; n == 0 {
					cancel()
				}
			})
		},
		"check": func(ctx context.Context, n int, cancel func()) error {
			return basebackup.Check(ctx, d, x, func(int64) {
				if n--; n == 0 {
					cancel()
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			for n := range 6 {
				ctx, cancel := context.WithCancel(t.Context())
				if n == 0 {
					cancel()
				}
				if err := f(ctx, n, cancel); !errors.Is(err, context.Canceled) {
					t.Errorf("ended at %d: %v", n, err)
				}
				cancel()
			}
		})
	}
	if names, _ := d.Names("base"); !slices.Equal(names, []string{"000001.index", "000001.pack"}) {
		t.Errorf("there are %v", names)
	}
}
