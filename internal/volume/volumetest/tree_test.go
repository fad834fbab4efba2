package volumetest

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// TestDiffCatches is the negative control of the suite: each way to be unfaithful
// must show in Diff.
func TestDiffCatches(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(root string) error
		root  bool
	}{
		{"a byte", keepingTimes("ibdata1", func(p string) error {
			return writeAt(p, []byte("!"), 1<<20)
		}), false},
		{"holes filled", keepingTimes("all-hole", func(p string) error {
			return os.WriteFile(p, make([]byte, 2<<20), 0o600)
		}), false},
		{"holes in a file with data filled", keepingTimes("ibdata1", func(p string) error {
			return writeAt(p, make([]byte, 4096), 512<<10)
		}), false},
		{"cut tail", keepingTimes("all-hole", func(p string) error { return os.Truncate(p, 1<<20) }), false},
		{"mtime of a file, one ns", func(r string) error { return shift(r, "zero", time.Nanosecond) }, false},
		{"mtime of a directory", func(r string) error { return shift(r, "mysql", time.Second) }, false},
		{"mtime of the top", func(r string) error { return shift(r, "", time.Nanosecond) }, false},
		{"mtime of a link", func(r string) error { return shift(r, "dangling", time.Nanosecond) }, false},
		{"mode", func(r string) error { return os.Chmod(filepath.Join(r, "ibdata1"), 0o600) }, false},
		{"setgid lost", func(r string) error { return syscall.Chmod(filepath.Join(r, "mysql"), 0o750) }, false},
		{"sticky lost", func(r string) error { return syscall.Chmod(filepath.Join(r, "tmp"), 0o777) }, false},
		{"setuid lost", func(r string) error { return syscall.Chmod(filepath.Join(r, "mysql/odd.frm"), 0o755) }, false},
		{"hard link broken", keepingTimes("mysql", func(p string) error {
			link := filepath.Join(p, "user.MAI.link")
			b, err := os.ReadFile(link)
			if err == nil {
				err = os.Remove(link)
			}
			if err == nil {
				err = os.WriteFile(link, b, 0o660)
			}
			return err
		}), false},
		{"link followed", keepingTimes("mysql", func(p string) error {
			if err := os.Remove(filepath.Join(p, "link")); err != nil {
				return err
			}
			return os.Link(filepath.Join(p, "../ibdata1"), filepath.Join(p, "link"))
		}), false},
		{"link to elsewhere", keepingTimes("", func(p string) error {
			if err := os.Remove(filepath.Join(p, "dangling")); err != nil {
				return err
			}
			return os.Symlink("elsewhere", filepath.Join(p, "dangling"))
		}), false},
		{"empty directory missing", keepingTimes("", func(p string) error { return os.Remove(filepath.Join(p, "empty")) }), false},
		{"file missing", keepingTimes("", func(p string) error { return os.Remove(filepath.Join(p, "zero")) }), false},
		{"file too many", keepingTimes("empty", func(p string) error { return os.WriteFile(filepath.Join(p, "x"), nil, 0o600) }), false},
		{"attribute lost", func(r string) error { return unix.Removexattr(filepath.Join(r, "mysql/user.MAI"), "user.ramaria") }, false},
		{"owner lost", func(r string) error { return os.Lchown(filepath.Join(r, "dangling"), 0, 0) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.root && os.Geteuid() != 0 {
				t.Skip("SKIPPED: takes root")
			}
			dir := t.TempDir()
			src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
			t.Cleanup(func() { must(t, errors.Join(sys.RemoveTree(src), sys.RemoveTree(dst))) })
			WriteFixture(t, src)
			must(t, sys.CopyTree(t.Context(), src, dst, nil))
			want := ReadTree(t, src)
			if d := Diff(want, ReadTree(t, dst)); d != "" {
				t.Fatalf("a good copy differs:\n%s", d)
			}
			if err := c.spoil(dst); err != nil {
				t.Skipf("SKIPPED: cannot spoil the copy: %v", err)
			}
			if Diff(want, ReadTree(t, dst)) == "" {
				t.Error("the spoilt copy passes for good")
			}
		})
	}
}

// keepingTimes spoils the file at rel and puts its times back, so that it is not
// they that give it away.
func keepingTimes(rel string, spoil func(path string) error) func(root string) error {
	return func(root string) error {
		path := filepath.Join(root, rel)
		fi, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if err := spoil(path); err != nil {
			return err
		}
		return os.Chtimes(path, fi.ModTime(), fi.ModTime())
	}
}

func shift(root, rel string, by time.Duration) error {
	path := filepath.Join(root, rel)
	fi, err := os.Lstat(path)
	if err != nil {
		return err
	}
	ts := unix.NsecToTimespec(fi.ModTime().Add(by).UnixNano())
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
}

func writeAt(path string, b []byte, off int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(b, off)
	return err
}
