package image

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server"
)

// lookContext calls look whenever it is asked whether it has ended.
type lookContext struct {
	context.Context
	look func()
}

func (c lookContext) Err() error {
	c.look()
	return c.Context.Err()
}

// owners returns the owners below and of dir, and the mode of dir.
func owners(t *testing.T, dir string) (map[int]bool, fs.FileMode) {
	t.Helper()
	uids := map[int]bool{}
	var mode fs.FileMode
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		if path == dir {
			mode = fi.Mode().Perm()
		}
		uids[int(fi.Sys().(*syscall.Stat_t).Uid)] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return uids, mode
}

// serverAccount is one that root's servers could run under.
func serverAccount(t *testing.T) server.Account {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, UNTESTED: directories of the server's account, since only root has one")
	}
	return server.Account{UID: 64321, GID: 64321}
}

// TestCopyIsOursUntilDone: the server's account can reach nothing while root copies,
// and has all of it afterwards.
func TestCopyIsOursUntilDone(t *testing.T) {
	account := serverAccount(t)
	src := tree(t, map[string]string{"aria_log_control": "", "shop/t.ibd": "x", "shop/deep/": "", "z": ""})
	b := newBuild(t, newStore(t), "00000000000000aa")
	b.Account = account
	if err := errors.Join(os.Chmod(b.dataDir(), 0o777), os.Chown(b.dataDir(), account.UID, account.GID)); err != nil {
		t.Fatal(err)
	}
	looks := 0
	err := b.copyDataDir(lookContext{t.Context(), func() {
		looks++
		if uids, mode := owners(t, b.dataDir()); len(uids) != 1 || !uids[0] || mode != 0o700 {
			t.Errorf("while copying it is of %v, mode %o", uids, mode)
		}
	}}, src)
	if err != nil || looks < 5 {
		t.Fatalf("%d looks, %v", looks, err)
	}
	if uids, mode := owners(t, b.dataDir()); len(uids) != 1 || !uids[account.UID] || mode != 0o700 {
		t.Errorf("afterwards it is of %v, mode %o", uids, mode)
	}
}

// TestCopyIntoSomething: what the account has put there beforehand is not followed.
func TestCopyIntoSomething(t *testing.T) {
	b := newBuild(t, newStore(t), "00000000000000aa")
	victim := t.TempDir()
	if err := os.Symlink(victim, filepath.Join(b.dataDir(), "zz")); err != nil {
		t.Fatal(err)
	}
	err := b.copyDataDir(t.Context(), tree(t, map[string]string{"aria_log_control": "", "shop/t.ibd": "x"}))
	if err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("got %v", err)
	}
}

// TestGiveTreeLinks: a link is given away, not what it leads to.
func TestGiveTreeLinks(t *testing.T) {
	account := serverAccount(t)
	dir, victim := tree(t, map[string]string{"a/b": ""}), tree(t, map[string]string{"secret": ""})
	if err := os.Symlink(filepath.Join(victim, "secret"), filepath.Join(dir, "a", "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(dir, "linkdir")); err != nil {
		t.Fatal(err)
	}
	if err := account.GiveTree(dir); err != nil {
		t.Fatal(err)
	}
	if uids, _ := owners(t, dir); len(uids) != 1 || !uids[account.UID] {
		t.Errorf("given to %v", uids)
	}
	if uids, _ := owners(t, victim); len(uids) != 1 || !uids[0] {
		t.Errorf("what links lead to was given to %v", uids)
	}
}

// TestTrimIsOurs: the account cannot reach its directory while it is trimmed.
func TestTrimIsOurs(t *testing.T) {
	account := serverAccount(t)
	b := newBuild(t, newStore(t), "00000000000000aa")
	b.Account = account
	for _, name := range []string{"ibdata1", "ibtmp1", "undo001"} {
		if err := os.WriteFile(filepath.Join(b.dataDir(), name), make([]byte, 64<<10), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := account.GiveTree(b.dataDir()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(b.dataDir(), 0o777); err != nil {
		t.Fatal(err)
	}
	top := func() (int, fs.FileMode) {
		fi, err := os.Lstat(b.dataDir())
		if err != nil {
			t.Fatal(err)
		}
		return int(fi.Sys().(*syscall.Stat_t).Uid), fi.Mode().Perm()
	}
	looks := 0
	err := b.trim(lookContext{t.Context(), func() {
		looks++
		if uid, mode := top(); uid != 0 || mode != 0o700 {
			t.Errorf("while trimming it is of %d, mode %o", uid, mode)
		}
	}})
	if err != nil || looks < 3 {
		t.Fatalf("%d looks, %v", looks, err)
	}
	if uid, mode := top(); uid != account.UID || mode != 0o700 {
		t.Errorf("afterwards it is of %d, mode %o", uid, mode)
	}
	if _, err := os.Stat(filepath.Join(b.dataDir(), "ibtmp1")); err == nil {
		t.Error("the temporary tablespace stayed")
	}
}

// TestBuildOnAnotherAccounts: a build on the image, or on the data of an instance, of servers that ran under another account
// gives its own account the copy, in which its server works on. What was copied stays the other account's.
func TestBuildOnAnotherAccounts(t *testing.T) {
	account, other := serverAccount(t), server.Account{UID: 64322, GID: 64322}
	files := map[string]string{"aria_log_control": "", "shop/t.ibd": "x"}
	s := newStore(t)
	s.Account = account
	of := func(b *build, from string) {
		t.Helper()
		if uids, _ := owners(t, b.dataDir()); len(uids) != 1 || !uids[account.UID] {
			t.Errorf("the copy is of %v", uids)
		}
		if uids, _ := owners(t, from); len(uids) != 1 || !uids[other.UID] {
			t.Errorf("what was copied is of %v now", uids)
		}
	}

	made := newBuild(t, s, "00000000000000aa")
	for name, text := range files {
		path := filepath.Join(made.dataDir(), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.GiveTree(made.dataDir()); err != nil {
		t.Fatal(err)
	}
	l, err := made.publish()
	if err != nil {
		t.Fatal(err)
	}
	b := newBuild(t, s, "00000000000000bb")
	if err := b.cloneImage(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	of(b, l.DataDir())

	dir := tree(t, files)
	if err := other.GiveTree(dir); err != nil {
		t.Fatal(err)
	}
	b = newBuild(t, s, "00000000000000cc")
	b.inputs = []input{{kind: kindInstance, path: "shop"}}
	if err := b.takeInstance(t.Context(), "shop", InstanceData{Dir: dir, Server: mariadb(10, 11, 14), Clean: true}); err != nil {
		t.Fatal(err)
	}
	of(b, dir)
}
