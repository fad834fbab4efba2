package sys

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// dirs are a directory in RAM and one on disk.
func dirs(t *testing.T) map[string]string {
	t.Helper()
	shm, err := os.MkdirTemp("/dev/shm", "ramaria-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(shm) })
	return map[string]string{"shm": shm, "disk": t.TempDir()}
}

func TestDigHoles(t *testing.T) {
	block := func(n int, fill byte) []byte { return bytes.Repeat([]byte{fill}, n) }
	for _, c := range []struct {
		name    string
		content []byte
		blocks  int64 // of 4 KB that stay
	}{
		{"empty", nil, 0},
		{"no zeros", block(3*4096, 'x'), 3},
		{"all zeros", block(8*4096, 0), 0},
		{"zeros with a short tail", block(4096+100, 0), 0},
		{"hole in the middle", append(append(block(4096, 'x'), block(5*4096, 0)...), 'y'), 2},
		{"hole at the end", append(block(4096, 'x'), block(5*4096, 0)...), 1},
		{"less than a block", append(append(block(100, 'x'), block(4096, 0)...), block(4096-100, 'x')...), 2},
		{"one zero block across the buffer", append(append(block(copyBuffer-4096, 'x'), block(2*4096, 0)...), block(4096, 'x')...), copyBuffer/4096 - 1 + 1},
	} {
		for fs, dir := range dirs(t) {
			t.Run(c.name+"/"+fs, func(t *testing.T) {
				path := filepath.Join(dir, "f")
				if err := os.WriteFile(path, c.content, 0o600); err != nil {
					t.Fatal(err)
				}
				allocate(t, path)
				before := blocks(t, path)
				freed, err := DigHoles(path)
				if err != nil {
					t.Fatal(err)
				}
				allocate(t, path)
				if got := blocks(t, path); got != c.blocks || freed != (before-got)*4096 {
					t.Errorf("%d blocks of %d are left, want %d; freed %d bytes", got, before, c.blocks, freed)
				}
				if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, c.content) {
					t.Errorf("the content changed (%v)", err)
				}
				if again, err := DigHoles(path); err != nil || again != 0 {
					t.Errorf("digging again: %d, %v", again, err)
				}
			})
		}
	}
}

// allocate makes the file system give blocks to what was written, which on disk
// it otherwise does later.
func allocate(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
}

func blocks(t *testing.T, path string) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512 / 4096
}

// TestDigHolesAllocated has room that was set aside and never written, which
// reads as a hole and is held all the same.
func TestDigHolesAllocated(t *testing.T) {
	for fs, dir := range dirs(t) {
		t.Run(fs, func(t *testing.T) {
			path := filepath.Join(dir, "f")
			if err := os.WriteFile(path, bytes.Repeat([]byte("x"), 4096), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := syscall.Fallocate(int(f.Fd()), 0, 0, 1<<20); err != nil {
				t.Skipf("SKIPPED, UNTESTED: this file system cannot set room aside: %v", err)
			}
			if before := blocks(t, path); before < 256 {
				t.Fatalf("%d blocks were set aside, want 256", before)
			}
			if _, err := DigHoles(path); err != nil {
				t.Fatal(err)
			}
			if got := blocks(t, path); got != 1 {
				t.Errorf("%d blocks are left, want 1", got)
			}
		})
	}
}

func TestDigHolesRefuses(t *testing.T) {
	dir := t.TempDir()
	link, fifo := filepath.Join(dir, "link"), filepath.Join(dir, "fifo")
	if err := errors.Join(os.Symlink("/etc/passwd", link), syscall.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, link, fifo, filepath.Join(dir, "absent")} {
		if _, err := DigHoles(path); err == nil {
			t.Errorf("%s was not refused", path)
		}
	}
}

// TestCopyBytes covers the way for file systems where the kernel cannot copy.
func TestCopyBytes(t *testing.T) {
	dir := t.TempDir()
	want := bytes.Repeat([]byte("0123456789"), 100_000)
	if err := os.WriteFile(filepath.Join(dir, "a"), want, 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := os.Open(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := os.Create(filepath.Join(dir, "b"))
	if err != nil {
		t.Fatal(err)
	}
	defer dst.Close()
	// The second half first; more than there is.
	for _, r := range [][2]int64{{500_000, 2_000_000}, {0, 500_000}} {
		if err := copyBytes(t.Context(), int(dst.Fd()), int(src.Fd()), r[0], r[1]); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(dst.Name()); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the copy differs (%v)", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := copyRange(ctx, int(dst.Fd()), int(src.Fd()), 0, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled copy: %v", err)
	}
}

func TestOwnBlocks(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size = 1 << 20
	if _, err := f.WriteAt([]byte("end"), size-3); err != nil {
		t.Fatal(err)
	}
	if err := OwnBlocks(f); err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Sys().(*syscall.Stat_t).Blocks * 512; got < size || info.Size() != size {
		t.Errorf("%d bytes are there of %d", got, info.Size())
	}
}
