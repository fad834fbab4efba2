package sys

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestCopyTreeLeavesSocketsOut(t *testing.T) {
	dir, err := os.MkdirTemp("", "ramaria-test-") // a short path: it holds a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	src, dst := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := os.Mkdir(src, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(src, "server.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := CopyTree(t.Context(), src, dst, nil); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dst); err != nil || len(left) != 0 {
		t.Errorf("got %v, %v; want an empty directory", left, err)
	}
	if err := CopyTree(t.Context(), src, dst, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("copy onto a directory: got %v", err)
	}
}

func TestMoveBeneath(t *testing.T) {
	root, away := t.TempDir(), t.TempDir()
	for _, d := range []string{"a", "taken", "dir/sub"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(away, filepath.Join(root, "dir", "out")); err != nil {
		t.Fatal(err)
	}
	from := filepath.Join(root, "a")
	for _, rel := range []string{"../x", "/x", "dir/out/x", "dir/none/x", "taken", "dir/../taken"} {
		if err := MoveBeneath(from, root, rel); err == nil {
			t.Errorf("moving to %s was not refused", rel)
		}
	}
	if err := MoveBeneath(from, root, "taken"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("moving onto an empty directory: %v", err)
	}
	if err := MoveBeneath(from, root, "dir/sub/b"); err != nil {
		t.Fatal(err)
	}
	if err := MoveFromBeneath(root, "dir/sub/b", filepath.Join(root, "c")); err != nil {
		t.Fatal(err)
	}
	if err := MoveFromBeneath(root, "dir/out", filepath.Join(root, "link")); err != nil {
		t.Error("a link itself may be moved:", err)
	}
	if _, err := os.Lstat(filepath.Join(root, "c")); err != nil {
		t.Error(err)
	}
}

func TestDiskUsageOfNothing(t *testing.T) {
	if n, err := DiskUsage(filepath.Join(t.TempDir(), "absent")); n != 0 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
}

func TestStatfs(t *testing.T) {
	shm, err := Statfs("/dev/shm")
	if err != nil {
		t.Fatal(err)
	}
	if !shm.RAM || shm.Avail > shm.Size || shm.Size <= 0 {
		t.Errorf("/dev/shm: %+v", shm)
	}
	if _, err := Statfs("/no/such/path"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent path: %v", err)
	}
}

// TestOpenAllFollowsNoLink: a link in the place of a tree that is to be removed, which another user may have put there,
// leads nowhere.
func TestOpenAllFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	victim, tree, link := filepath.Join(dir, "victim"), filepath.Join(dir, "tree"), filepath.Join(dir, "link")
	for _, d := range []string{victim, filepath.Join(victim, "sub"), tree, filepath.Join(tree, "sub")} {
		if err := errors.Join(os.Mkdir(d, 0o700), os.Chmod(d, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink(victim, link), os.Symlink(victim, filepath.Join(tree, "out"))); err != nil {
		t.Fatal(err)
	}
	if err := openAll(link); !errors.Is(err, ErrNotPlain) {
		t.Errorf("a link: %v", err)
	}
	if err := openAll(tree); err != nil {
		t.Errorf("a tree: %v", err)
	}
	for path, want := range map[string]fs.FileMode{victim: 0o755, filepath.Join(victim, "sub"): 0o755, tree: 0o700, filepath.Join(tree, "sub"): 0o700} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v; want %v", path, fi.Mode(), err, want)
		}
	}
}
