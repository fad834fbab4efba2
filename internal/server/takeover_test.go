package server

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestTakeOver: what was copied of another account's is the account's own, and links are given away, not what they lead to.
func TestTakeOver(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, UNTESTED: files of another account, since only root gives any away")
	}
	account, dir := Account{UID: 64321, GID: 64322}, filepath.Join(t.TempDir(), "data")
	if err := account.TakeOver(dir); err != nil {
		t.Fatalf("without data: %v", err)
	}
	victim := filepath.Join(t.TempDir(), "victim")
	below := filepath.Join(dir, "shop")
	for _, err := range []error{
		os.WriteFile(victim, nil, 0o600), os.MkdirAll(below, 0o700), os.WriteFile(filepath.Join(below, "t.ibd"), nil, 0o600), os.Symlink(victim, filepath.Join(below, "link")),
		os.Lchown(dir, 64000, 64000), os.Lchown(below, 64000, 64000), os.Lchown(filepath.Join(below, "t.ibd"), 64000, 64000),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := account.TakeOver(dir); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]uint32{dir: 64321, below: 64321, filepath.Join(below, "t.ibd"): 64321, filepath.Join(below, "link"): 64321, victim: 0} {
		fi, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if uid := fi.Sys().(*syscall.Stat_t).Uid; uid != want {
			t.Errorf("%s belongs to uid %d, want %d", path, uid, want)
		}
	}
}
