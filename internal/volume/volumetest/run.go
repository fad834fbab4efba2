// Package volumetest is the conformance suite of volumes: whatever its kind, a
// volume that passes Run keeps what volume.Volume promises. The comparison that
// it rests on has negative controls of its own.
package volumetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/volume"
)

// Run runs the suite. open gives an empty volume of the kind in question and has it
// removed at the end of the test. The test binary must call Main from TestMain.
func Run(t *testing.T, open func(t *testing.T) volume.Volume) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, v volume.Volume)
	}{
		{"Layout", testLayout},
		{"CloneKeepsEverything", testClone},
		{"CloneIsIndependent", testIndependent},
		{"CloneRefuses", testCloneRefuses},
		{"CloneConcurrently", testConcurrent},
		{"CloneCancelled", testCancelled},
		{"Usage", testUsage},
		{"CheckRoom", testCheckRoom},
		{"Remove", testRemove},
		{"RemoveRefuses", testRemoveRefuses},
		{"SweepSparesTheLiving", testSweep},
		{"CloseTwice", testClose},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := open(t)
			c.test(t, v)
			noLeftovers(t, v)
		})
	}
}

// RunFull is the part of the suite that needs a volume on a file system with less
// than 64 MB free.
func RunFull(t *testing.T, v volume.Volume) {
	src := filepath.Join(v.Dir(), "images", "big")
	must(t, os.Mkdir(src, 0o700))
	u, err := v.Usage()
	must(t, err)
	if u.Free > 64<<20 {
		t.Fatalf("the volume has %d bytes free: too large for this test", u.Free)
	}
	for i := range 3 { // together two thirds of what is there
		must(t, os.WriteFile(filepath.Join(src, fmt.Sprint(i)), make([]byte, u.Free*2/9), 0o600))
	}
	dst := filepath.Join(v.Dir(), "instances", "a")
	err = v.Clone(t.Context(), src, dst)
	var full *volume.NoRoomError
	if !errors.As(err, &full) {
		t.Fatalf("clone into a full volume: got %v, want a NoRoomError", err)
	}
	if full.Need <= full.Free || full.Bound != volume.ByFilesystem || !strings.Contains(err.Error(), "\nhint: ") {
		t.Errorf("the error does not explain itself: %+v\n%v", full, err)
	}
	if _, err := os.Lstat(dst); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a half made clone is there: %v", err)
	}
	noLeftovers(t, v)
	must(t, v.Remove(t.Context(), filepath.Join(src, "0")))
	must(t, v.Remove(t.Context(), filepath.Join(src, "1")))
	must(t, v.Clone(t.Context(), src, dst)) // there is room again
}

func testLayout(t *testing.T, v volume.Volume) {
	want := fs.FileMode(0o700)
	if os.Geteuid() == 0 {
		want = 0o711
	}
	if !filepath.IsAbs(v.Dir()) {
		t.Errorf("Dir %s is not absolute", v.Dir())
	}
	for _, d := range []string{"", "images", "instances"} {
		fi, err := os.Lstat(filepath.Join(v.Dir(), d))
		must(t, err)
		if !fi.IsDir() || fi.Mode().Perm() != want {
			t.Errorf("%s is %v, want a directory with mode %o", d, fi.Mode(), want)
		}
	}
}

func testClone(t *testing.T, v volume.Volume) {
	src, dst := filepath.Join(v.Dir(), "images", "src"), filepath.Join(v.Dir(), "instances", "dst")
	WriteFixture(t, src)
	want := ReadTree(t, src)
	must(t, v.Clone(t.Context(), src, dst))
	if d := Diff(want, ReadTree(t, dst)); d != "" {
		t.Errorf("the clone differs (-source +clone):\n%s", d)
	}
	if d := Diff(want, ReadTree(t, src)); d != "" {
		t.Errorf("cloning changed the source:\n%s", d)
	}

	// From outside the volume, and a closed top directory.
	outside := filepath.Join(t.TempDir(), "outside")
	WriteFixture(t, outside)
	must(t, os.Chmod(outside, 0o555))
	want = ReadTree(t, outside)
	dst += "2"
	must(t, v.Clone(t.Context(), outside, dst))
	if d := Diff(blur(want), blur(ReadTree(t, dst))); d != "" {
		t.Errorf("the clone from outside differs (-source +clone):\n%s", d)
	}
	must(t, v.Remove(t.Context(), dst))
	must(t, os.Chmod(outside, 0o755))
	must(t, os.Chmod(filepath.Join(outside, "deep/er/still"), 0o755))
}

// blur leaves out what another file system may do in another way.
func blur(tree Tree) Tree {
	for name, e := range tree {
		e.Attrs, e.Data = "", ""
		tree[name] = e
	}
	return tree
}

func testIndependent(t *testing.T, v volume.Volume) {
	src, dst := filepath.Join(v.Dir(), "images", "src"), filepath.Join(v.Dir(), "instances", "dst")
	WriteFixture(t, src)
	want := ReadTree(t, src)
	must(t, v.Clone(t.Context(), src, dst))
	must(t, os.WriteFile(filepath.Join(dst, "ibdata1"), []byte("changed"), 0o600))
	f, err := os.OpenFile(filepath.Join(dst, "all-hole"), os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("x"), 100_000)
	must(t, errors.Join(err, f.Close()))
	must(t, os.Remove(filepath.Join(dst, "zero")))
	if d := Diff(want, ReadTree(t, src)); d != "" {
		t.Errorf("a change of the clone reached the source:\n%s", d)
	}
}

func testCloneRefuses(t *testing.T, v volume.Volume) {
	src := filepath.Join(v.Dir(), "images", "src")
	must(t, os.Mkdir(src, 0o700))
	must(t, os.Mkdir(filepath.Join(v.Dir(), "instances", "taken"), 0o700))
	away := t.TempDir()
	must(t, os.Symlink(away, filepath.Join(v.Dir(), "instances", "way-out")))
	fifo := filepath.Join(v.Dir(), "images", "fifo")
	must(t, os.Mkdir(fifo, 0o700))
	makeFIFO(t, filepath.Join(fifo, "x"))
	for _, c := range []struct {
		name, src, dst string
		want           error // nil: any
	}{
		{"existing target", src, filepath.Join(v.Dir(), "instances", "taken"), fs.ErrExist},
		{"missing source", src + "x", filepath.Join(v.Dir(), "instances", "a"), fs.ErrNotExist},
		{"missing parent", src, filepath.Join(v.Dir(), "instances", "a", "b"), fs.ErrNotExist},
		{"target outside", src, filepath.Join(away, "a"), nil},
		{"target outside by dots", src, v.Dir() + "/instances/../../a", nil},
		{"target outside by a link", src, filepath.Join(v.Dir(), "instances", "way-out", "a"), nil},
		{"target is the volume", src, v.Dir(), nil},
		{"relative target", src, "a", nil},
		{"source holds the volume", filepath.Dir(v.Dir()), filepath.Join(v.Dir(), "instances", "a"), nil},
		{"source with a FIFO", fifo, filepath.Join(v.Dir(), "instances", "a"), nil},
	} {
		err := v.Clone(t.Context(), c.src, c.dst)
		if err == nil || (c.want != nil && !errors.Is(err, c.want)) {
			t.Errorf("%s: got error %v, want %v", c.name, err, c.want)
		}
		noLeftovers(t, v)
	}
	if left, _ := os.ReadDir(away); len(left) > 0 {
		t.Errorf("something was written outside: %v", left)
	}
}

func testConcurrent(t *testing.T, v volume.Volume) {
	src := filepath.Join(v.Dir(), "images", "src")
	WriteFixture(t, src)
	want := ReadTree(t, src)
	const n = 6
	var wg sync.WaitGroup
	same := make([]error, n)
	for i := range n {
		wg.Go(func() {
			if err := v.Clone(t.Context(), src, filepath.Join(v.Dir(), "instances", fmt.Sprint(i))); err != nil {
				t.Errorf("clone %d: %v", i, err)
			}
		})
		wg.Go(func() { same[i] = v.Clone(t.Context(), src, filepath.Join(v.Dir(), "instances", "same")) })
	}
	wg.Wait()
	won := 0
	for _, err := range same {
		if err == nil {
			won++
		} else if !errors.Is(err, fs.ErrExist) {
			t.Errorf("the loser of a race for one name got %v", err)
		}
	}
	if won != 1 {
		t.Errorf("%d clones to one name succeeded, want 1", won)
	}
	for _, name := range []string{"0", fmt.Sprint(n - 1), "same"} {
		if d := Diff(want, ReadTree(t, filepath.Join(v.Dir(), "instances", name))); d != "" {
			t.Errorf("clone %s differs:\n%s", name, d)
		}
	}
}

func testCancelled(t *testing.T, v volume.Volume) {
	src := filepath.Join(v.Dir(), "images", "src")
	WriteDatadir(t, src)
	dst := filepath.Join(v.Dir(), "instances", "dst")
	for _, after := range []time.Duration{0, 100 * time.Microsecond, time.Millisecond, 3 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		err := v.Clone(ctx, src, dst)
		cancel()
		if err == nil { // fast machine
			if after == 0 {
				t.Error("a clone was made though the context had ended")
			}
			must(t, v.Remove(t.Context(), dst))
			continue
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: got %v", after, err)
		}
		if _, err := os.Lstat(dst); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after %v: something has the clone's name: %v", after, err)
		}
		noLeftovers(t, v)
	}
}

// noLeftovers checks that nothing but images and instances is in the volume.
func noLeftovers(t *testing.T, v volume.Volume) {
	t.Helper()
	for _, name := range temporary(t, v) {
		t.Errorf("left behind: %s", filepath.Join(v.Dir(), name))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
