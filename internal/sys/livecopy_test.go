package sys

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// rest waits until nothing that has changed before is too young to be passed over.
func rest() { time.Sleep(restTime + 100*time.Millisecond) }

// readLive describes a tree, a line for each name; holes only where they are kept.
func readLive(t *testing.T, root string, holes bool) []string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err := errors.Join(err, unix.Lstat(path, &st)); err != nil {
			return err
		}
		line := fmt.Sprintf("%s %o %d:%d %d.%d", strings.TrimPrefix(path, root), st.Mode, st.Uid, st.Gid, st.Mtim.Sec, st.Mtim.Nsec)
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFLNK:
			target, err := os.Readlink(path)
			lines = append(lines, line+" "+target)
			return err
		case unix.S_IFREG:
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			b := make([]byte, st.Size)
			if err := readFull(f, b); err != nil {
				return err
			}
			line += fmt.Sprintf(" %d %x", st.Size, sha256.Sum256(b))
			const page = 4096 // the last one may be zeros in one, and a hole in the other
			for off := int64(0); holes && off < st.Size/page*page; {
				start, end, err := NextData(int(f.Fd()), off, st.Size/page*page)
				if err != nil {
					return err
				}
				line += fmt.Sprintf(" %d-%d", start, end)
				off = end
			}
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func readFull(f *os.File, b []byte) error {
	n, err := f.ReadAt(b, 0)
	if n == len(b) {
		return nil
	}
	return err
}

// sameCopies compares a LiveCopy of a source with what CopyTree makes of it.
func sameCopies(t *testing.T, src, live string, holes bool) string {
	t.Helper()
	plain := live + ".plain"
	if err := CopyTree(t.Context(), src, plain, nil); err != nil {
		t.Fatal(err)
	}
	return cmp.Diff(readLive(t, plain, holes), readLive(t, live, holes))
}

func rounds(t *testing.T, l *LiveCopy, n int) {
	t.Helper()
	for range n {
		if err := l.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// liveSource makes a directory with two files that are at rest, and its copy's name.
func liveSource(t *testing.T) (src, dst string) {
	t.Helper()
	dir := dirs(t)["shm"]
	src = filepath.Join(dir, "src")
	if err := os.MkdirAll(filepath.Join(src, "db"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"db/x", "db/y"} {
		writeLive(t, filepath.Join(src, name), "one")
	}
	return src, filepath.Join(dir, "dst")
}

func writeLive(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLiveCopyRestedFile: a file at rest is not copied again, which the test can see by
// a copy that it has spoilt, and one that is written to is, even if its modification
// time says otherwise.
func TestLiveCopyRestedFile(t *testing.T) {
	t.Parallel() // it rests
	src, dst := liveSource(t)
	x, y := filepath.Join(src, "db/x"), filepath.Join(src, "db/y")
	rest()
	live := NewLiveCopy(src, dst, nil)
	rounds(t, live, 1)
	writeLive(t, filepath.Join(dst, "db/y"), "spoilt")
	fi, err := os.Stat(x)
	if err != nil {
		t.Fatal(err)
	}
	writeLive(t, x, "two")
	if err := os.Chtimes(x, fi.ModTime(), fi.ModTime()); err != nil {
		t.Fatal(err)
	}
	rounds(t, live, 1)
	if b, err := os.ReadFile(filepath.Join(dst, "db/x")); err != nil || string(b) != "two" {
		t.Errorf("a file that was at rest changed, and its copy is %q (%v)", b, err)
	}
	if b, err := os.ReadFile(filepath.Join(dst, "db/y")); err != nil || string(b) != "spoilt" {
		t.Errorf("a file at rest was copied again (%v)", err)
	}
	// So the comparison of the other tests catches a copy that is wrong.
	if diff := sameCopies(t, src, dst, true); !strings.Contains(diff, "/db/y") {
		t.Errorf("a spoilt copy was not found:\n%s", diff)
	}
	// A young file is copied again whatever its times say.
	writeLive(t, y, "new")
	rounds(t, live, 1)
	writeLive(t, filepath.Join(dst, "db/y"), "spoilt")
	rounds(t, live, 1)
	if b, err := os.ReadFile(filepath.Join(dst, "db/y")); err != nil || string(b) != "new" {
		t.Errorf("the copy of a young file is %q (%v)", b, err)
	}
}

// TestLiveCopyBetween changes files at one point of a round: just before a name is looked
// at, when the names of its directory have been read already.
func TestLiveCopyBetween(t *testing.T) {
	t.Parallel() // it rests
	tests := map[string][]func(src string) error{
		"vanishes and comes again": {
			nil,
			func(src string) error { return os.Remove(filepath.Join(src, "db/x")) },
			func(src string) error { return os.WriteFile(filepath.Join(src, "db/x"), []byte("again"), 0o600) },
		},
		"directory vanishes and comes again": {
			nil,
			func(src string) error { return os.Rename(filepath.Join(src, "db"), filepath.Join(src, "../away")) },
			func(src string) error { return os.Rename(filepath.Join(src, "../away"), filepath.Join(src, "db")) },
		},
		"directory vanishes before the first look": {
			func(src string) error { return os.Rename(filepath.Join(src, "db"), filepath.Join(src, "../away")) },
			func(src string) error { return os.Rename(filepath.Join(src, "../away"), filepath.Join(src, "db")) },
			nil,
		},
		"directory becomes another, and is itself again": {
			nil,
			func(src string) error {
				return errors.Join(os.Rename(filepath.Join(src, "db"), filepath.Join(src, "../away")), os.Mkdir(filepath.Join(src, "db"), 0o700))
			},
			func(src string) error {
				return errors.Join(os.Remove(filepath.Join(src, "db")), os.Rename(filepath.Join(src, "../away"), filepath.Join(src, "db")))
			},
		},
	}
	srcs, dsts := map[string]string{}, map[string]string{}
	for name := range tests {
		srcs[name], dsts[name] = liveSource(t)
	}
	rest()
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			src, dst := srcs[name], dsts[name]
			round := 0
			live := NewLiveCopy(src, dst, func(rel string, _ fs.FileMode) (bool, error) {
				at := "db"
				if strings.HasPrefix(name, "vanishes") {
					at = "db/x"
				}
				// It comes again between two rounds, below.
				if rel == at && round < len(steps)-1 && steps[round] != nil {
					if err := steps[round](src); err != nil {
						t.Error(err)
					}
				}
				return false, nil
			})
			for ; round < len(steps); round++ {
				if round == len(steps)-1 && steps[round] != nil {
					if err := steps[round](src); err != nil {
						t.Fatal(err)
					}
				}
				rounds(t, live, 1)
			}
			if err := live.Done(); err != nil {
				t.Fatal(err)
			}
			if diff := sameCopies(t, src, dst, true); diff != "" {
				t.Errorf("(-CopyTree +LiveCopy):\n%s", diff)
			}
		})
	}
}

// TestLiveCopySameInode gives the number of a file to a directory, and the reverse, as
// XFS does.
func TestLiveCopySameInode(t *testing.T) {
	src, dst := liveSource(t)
	live := NewLiveCopy(src, dst, nil)
	rounds(t, live, 1)
	x := filepath.Join(src, "db/x")
	for _, create := range []func() error{
		func() error { return os.Mkdir(x, 0o700) },
		func() error { return os.WriteFile(x, []byte("file"), 0o600) },
		func() error { return os.Symlink("y", x) },
		func() error { return os.Mkdir(x, 0o700) },
	} {
		if err := errors.Join(os.Remove(x), create()); err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Lstat(x, &st); err != nil {
			t.Fatal(err)
		}
		was := live.seen["db/x"]
		was.ino = st.Ino
		live.seen["db/x"] = was
		rounds(t, live, 1)
	}
	if err := live.Done(); err != nil {
		t.Fatal(err)
	}
	if diff := sameCopies(t, src, dst, true); diff != "" {
		t.Errorf("(-CopyTree +LiveCopy):\n%s", diff)
	}
}

func TestLiveCopyRefuses(t *testing.T) {
	src, dst := liveSource(t)
	live := NewLiveCopy(src, dst, nil)
	rounds(t, live, 1)
	if err := os.Link(filepath.Join(src, "db/x"), filepath.Join(src, "db/z")); err != nil {
		t.Fatal(err)
	}
	if err := live.Round(t.Context()); !errors.Is(err, ErrHardLinks) {
		t.Errorf("a file with two names: %v", err)
	}
	if err := errors.Join(os.Remove(filepath.Join(src, "db/z")), syscall.Mkfifo(filepath.Join(src, "db/z"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := live.Round(t.Context()); !errors.Is(err, errOddFile) {
		t.Errorf("a FIFO: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := live.Round(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestLiveCopyClosed copies, as an ordinary user, what the owner may not write to.
func TestLiveCopyClosed(t *testing.T) {
	if os.Geteuid() == 0 {
		const nobody = 65534
		self := filepath.Join(dirs(t)["shm"], "sys.test")
		if out, err := exec.Command("sh", "-c", `cp /proc/$PPID/exe "$0" && chmod 755 "$0" "${0%/*}"`, self).CombinedOutput(); err != nil {
			t.Fatalf("copy the tests: %v: %s", err, out)
		}
		cmd := exec.Command(self, "-test.v", "-test.run=^TestLiveCopyClosed$")
		cmd.Dir, cmd.Env = "/", append(os.Environ(), "TMPDIR=/tmp", "HOME=/")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: TestLiveCopyClosed")) {
			t.Errorf("as uid %d: %v\n%s", nobody, err, out)
		}
		return
	}
	src, dst := liveSource(t)
	x, db := filepath.Join(src, "db/x"), filepath.Join(src, "db")
	if err := errors.Join(os.Chmod(x, 0o400), os.Chmod(db, 0o500)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(db, 0o700) //nolint:errcheck // for the removal, which would fail
	live := NewLiveCopy(src, dst, nil)
	rounds(t, live, 2)
	if err := errors.Join(os.Chmod(db, 0o700), os.Remove(filepath.Join(db, "y")), os.Chmod(db, 0o500)); err != nil {
		t.Fatal(err)
	}
	rounds(t, live, 1)
	if err := live.Done(); err != nil {
		t.Fatal(err)
	}
	if diff := sameCopies(t, src, dst, true); diff != "" {
		t.Errorf("(-CopyTree +LiveCopy):\n%s", diff)
	}
	for _, made := range []string{dst, dst + ".plain"} {
		if err := RemoveTree(made); err != nil {
			t.Error(err)
		}
	}
}
