package volumetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// foreign is an owner that root gives some files of the fixture.
const foreign = 12345

// WriteFixture makes a directory with one of everything that a clone must keep.
func WriteFixture(t *testing.T, root string) {
	t.Helper()
	f := fixture{t, root}
	f.dir("", 0o755)
	f.dir("empty", 0o700)
	f.dir("mysql", 0o2750)
	f.dir("tmp", 0o1777)
	f.dir("deep/er/still", 0o711)

	f.write("ibdata1", 0o660, 3<<20, 0, 4096, 1<<20, 64<<10, 3<<20-4096, 4096)
	f.write("holes-at-both-ends", 0o640, 1<<20, 512<<10, 4096)
	f.write("all-hole", 0o600, 2<<20)
	f.write("short-tail", 0o600, 300<<10+17, 0, 300<<10+17)
	f.write("mysql/user.MAI", 0o660, 8192, 0, 8192)
	f.write("mysql/odd.frm", 0o4755, 977, 0, 977)
	f.write("deep/er/still/read-only", 0o400, 5000, 0, 5000)
	f.write("zero", 0o644, 0)
	for i := range 40 {
		f.write(fmt.Sprintf("mysql/t%02d.MAD", i), 0o660, 16<<10, 0, 16<<10)
	}
	f.do(os.Link(f.path("ibdata1"), f.path("deep/ibdata1-again")))
	f.do(os.Link(f.path("mysql/user.MAI"), f.path("mysql/user.MAI.link")))
	f.do(os.Symlink("../ibdata1", f.path("mysql/link")))
	f.do(os.Symlink("/nowhere/at all", f.path("dangling")))

	// Extended attributes: not in every tmpfs.
	if err := unix.Setxattr(f.path("mysql/user.MAI"), "user.ramaria", []byte("yes"), 0); err != nil {
		t.Logf("SKIPPED: user attributes: %v", err)
	}
	if os.Geteuid() == 0 {
		f.do(os.Lchown(f.path("mysql/user.MAI"), foreign, foreign))
		f.do(os.Lchown(f.path("dangling"), foreign, foreign))
		f.do(os.Lchown(f.path("deep/er"), foreign, foreign))
		// A change of owner clears setuid: again.
		f.do(os.Lchown(f.path("mysql/odd.frm"), foreign, foreign))
		f.do(syscall.Chmod(f.path("mysql/odd.frm"), 0o4755))
	} else {
		t.Log("SKIPPED: foreign owners: not root")
	}
	f.do(syscall.Chmod(f.path("deep/er/still"), 0o555))

	// Old times to the nanosecond, inner things before their directories.
	for i, rel := range []string{"ibdata1", "all-hole", "mysql/user.MAI", "mysql/link", "dangling", "zero",
		"deep/er/still", "deep/er", "deep", "mysql", "empty", ""} {
		at := time.Unix(1_500_000_000+int64(i), 123_456_789+int64(i))
		ts := unix.NsecToTimespec(at.UnixNano())
		f.do(unix.UtimesNanoAt(unix.AT_FDCWD, f.path(rel), []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW))
	}
}

type fixture struct {
	t    *testing.T
	root string
}

func (f fixture) path(rel string) string { return filepath.Join(f.root, rel) }

func (f fixture) do(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatalf("make fixture: %v", err)
	}
}

func (f fixture) dir(rel string, mode uint32) {
	f.t.Helper()
	f.do(os.MkdirAll(f.path(rel), 0o755))
	f.do(syscall.Chmod(f.path(rel), mode))
}

// write makes a file of the given size with random data at pairs of offset and length.
func (f fixture) write(rel string, mode uint32, size int64, data ...int64) {
	f.t.Helper()
	file, err := os.OpenFile(f.path(rel), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	f.do(err)
	defer file.Close()
	f.do(file.Truncate(size))
	rng := rand.NewChaCha8([32]byte{byte(size), byte(len(rel))})
	for i := 0; i < len(data); i += 2 {
		b := make([]byte, data[i+1])
		_, err := rng.Read(b)
		f.do(err)
		_, err = file.WriteAt(b, data[i])
		f.do(err)
	}
	f.do(syscall.Chmod(f.path(rel), mode))
}

// WriteDatadir makes a tree of the shape of a fresh MariaDB data directory: about
// 130 files and 25 MB, nearly all of it in a few large files that hold mostly zeros
// but no holes.
func WriteDatadir(tb testing.TB, root string) {
	tb.Helper()
	do := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatalf("make data directory: %v", err)
		}
	}
	put := func(name string, size int) {
		do(os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700))
		b := make([]byte, size)
		copy(b, bytes.Repeat([]byte("ramaria "), min(size, 64<<10+size/16)/8))
		do(os.WriteFile(filepath.Join(root, name), b, 0o660))
	}
	put("ibdata1", 12<<20)
	put("ib_logfile0", 8<<20)
	for i := range 3 {
		put(fmt.Sprintf("undo%03d", i+1), 1<<20)
	}
	put("aria_log.00000001", 16<<10)
	put("aria_log_control", 56)
	for i := range 8 {
		put(fmt.Sprintf("mysql/stats%d.ibd", i), 112<<10)
	}
	for i := range 30 {
		put(fmt.Sprintf("mysql/t%02d.frm", i), 2<<10)
		put(fmt.Sprintf("mysql/t%02d.MAI", i), 8<<10)
		put(fmt.Sprintf("mysql/t%02d.MAD", i), 8<<10)
	}
	for i := range 25 {
		put(fmt.Sprintf("sys/v%02d.frm", i), 2<<10)
	}
}
