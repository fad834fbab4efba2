package sys

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// untrusted is a directory as a server can make it: with links that lead out, and a FIFO.
func untrusted(t *testing.T) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "files-")
	if err != nil {
		t.Skip("SKIPPED: no /dev/shm to write to")
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	outside := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "shop", "orders.ibd"), filepath.Join(dir, "shop", "deep", "x"), filepath.Join(dir, "ibdata1"), filepath.Join(outside, "big")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"link": filepath.Join(outside, "big"), "linked": outside} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(dir, "shop", "fifo.ibd"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFiles(t *testing.T) {
	got := map[string]int64{}
	if err := Files(untrusted(t), func(sub, name string, bytes int64) { got[sub+"|"+name] = bytes }); err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"|ibdata1": 1 << 20, "shop|orders.ibd": 1 << 20, "shop|fifo.ibd": 0, "|link": 0, "|linked": 0}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestSwappedOut: what a server puts in the place of a file is neither waited for nor followed. The
// script swap has pages that are swapped out.
func TestSwappedOut(t *testing.T) {
	switch bytes, err := SwappedOut(untrusted(t)); {
	case errors.Is(err, ErrNoCachestat):
		t.Skip("SKIPPED: the kernel is older than 6.5")
	case err != nil || bytes != 0:
		t.Errorf("%d bytes, %v", bytes, err)
	}
}
