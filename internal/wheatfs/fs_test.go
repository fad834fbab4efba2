package wheatfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/posixtest"

	"github.com/ramaria-db/ramaria/internal/host"
)

// The test binary is also what the tests start: the daemon, and a keeper.
const (
	roleEnv  = "RAMARIA_TEST_WHEATFS"
	keepEnv  = "RAMARIA_TEST_WHEATFS_KEEP" // place, disk and directory of notes
	isDaemon = "daemon"
	isKeeper = "keeper"
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleEnv)
	err := os.Setenv(roleEnv, isDaemon) // for what is started
	switch {
	case err != nil:
	case role == "":
		os.Exit(m.Run())
	case role == isDaemon:
		err = Serve(os.Stdin, os.Stdout)
	case role == isKeeper:
		err = keeper()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func need(t testing.TB) {
	t.Helper()
	if err := Check(); err != nil {
		t.Skipf("SKIPPED, UNTESTED: %v", err)
	}
}

// options are those of a small one.
func options(disk string) Options {
	return Options{RAM: 32 * mb, Size: 256 * mb, Disk: disk, Argv: []string{"/proc/self/exe"}, Mode: 0o700, Programs: true}
}

// newFS mounts a file system at a directory of the test's.
func newFS(t testing.TB, o Options) (*FS, string) {
	t.Helper()
	need(t)
	f, err := Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := f.Attach(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(false); err != nil {
			t.Error(err)
			_ = f.Close(true)
		}
		if err := f.Err(); err != nil {
			t.Error(err)
		}
	})
	return f, dir
}

// until waits for something.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("%s: not within five minutes", what)
}

// TestWaitsForItself: it is refused where the kernel could wait for the daemon to get it memory.
func TestWaitsForItself(t *testing.T) {
	for _, c := range []struct {
		group    host.Cgroup
		mayFlush bool
		refused  bool
	}{
		{host.Cgroup{First: true}, false, false},
		{host.Cgroup{Limit: 1 << 30}, false, false},
		{host.Cgroup{Limit: 1 << 30, First: true}, true, false},
		{host.Cgroup{Limit: 1 << 30, First: true}, false, true},
	} {
		if err := waitsForItself(c.group, c.mayFlush); errors.Is(err, ErrUnfit) != c.refused {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestPosix is the suite of go-fuse for file systems.
func TestPosix(t *testing.T) {
	_, dir := newFS(t, options(t.TempDir()))
	for name, test := range posixtest.All {
		// One expects that locks are held by a daemon: those of one process do not exclude each other. The other wants
		// attributes larger than ext4 has.
		if name == "FcntlFlockLocksFile" || name == "XAttrLarge" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			sub := filepath.Join(dir, name)
			if err := os.Mkdir(sub, 0o700); err != nil {
				t.Fatal(err)
			}
			test(t, sub)
		})
	}
}

// TestBoundary: a file that outgrows the RAM is whole, lies where it should, and leaves both when it is removed, also
// if it has no name any more.
func TestBoundary(t *testing.T) {
	f, dir := newFS(t, options(t.TempDir()))
	data := make([]byte, 100*mb)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	file, err := os.Create(filepath.Join(dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := file.Sync(); err != nil {
		t.Fatal(err)
	}
	until(t, "both RAM and disk are used", func() bool { return f.Report().RAM > 31*mb && f.Report().Disk > 60*mb })
	if err := os.Remove(file.Name()); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(data))
	if err := dropCache(file); err != nil {
		t.Fatal(err)
	}
	if _, err := file.ReadAt(got, 0); err != nil || !bytes.Equal(got, data) {
		t.Errorf("it differs, or %v", err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	// The block maps of the file system stay.
	until(t, "RAM and disk are free", func() bool { return f.Report().RAM < mb && f.Report().Disk < mb })
}

// fill makes a block like no other.
func fill(b []byte, n int64) {
	copy(b, bytes.Repeat(fmt.Appendf(nil, "%016d", n), len(b)/16))
}
