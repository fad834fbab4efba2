package wheatfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/posixtest"

	"github.com/ramaria-db/ramaria/internal/sys"
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
		t.Skip(err)
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
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("%s: not within 20 s", what)
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

// TestRandomFiles does the same to a file here and to one in memory, across the boundary, with the RAM changing.
func TestRandomFiles(t *testing.T) {
	f, dir := newFS(t, options(t.TempDir()))
	done := make(chan struct{})
	changing := make(chan struct{})
	go func() {
		defer close(changing)
		r := rand.New(rand.NewPCG(1, 1))
		for {
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
			if err := f.SetRAM(r.Int64N(64 * mb)); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for n := range 4 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			x := newTwins(t, dir, rand.New(rand.NewPCG(seed, uint64(n))))
			for end := time.Now().Add(randomTime); time.Now().Before(end) && !t.Failed(); {
				x.step(t)
			}
			x.compare(t, 0, x.size)
		})
	}
	close(done)
	<-changing
	if r := f.Report(); r.Evicted == 0 {
		t.Errorf("%+v: nothing had to move", r)
	}
}

// randomTime is how long each run of TestRandomFiles takes; by hand an hour.
var randomTime = func() time.Duration {
	d, err := time.ParseDuration(os.Getenv("RAMARIA_TEST_WHEATFS_TIME"))
	if err != nil {
		return 2 * time.Second
	}
	return d
}()

// twins are two files that are treated alike.
type twins struct {
	here, there *os.File
	size        int64
	r           *rand.Rand
}

const twinSize = 48 * mb

func newTwins(t *testing.T, dir string, r *rand.Rand) *twins {
	t.Helper()
	x := &twins{r: r}
	var err error
	if x.here, err = os.CreateTemp(dir, ""); err != nil {
		t.Fatal(err)
	}
	if x.there, err = os.CreateTemp("/dev/shm", "ramaria-wheatfs-test-"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, f := range []*os.File{x.here, x.there} {
			if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
				t.Error(err)
			}
		}
	})
	return x
}

// both does something to both files.
func (x *twins) both(t *testing.T, do func(f *os.File) error) {
	t.Helper()
	for _, f := range []*os.File{x.here, x.there} {
		if err := do(f); err != nil {
			t.Error(err)
		}
	}
}

// step does one thing, as fsx(1) does.
func (x *twins) step(t *testing.T) {
	t.Helper()
	off := x.r.Int64N(twinSize)
	n := 1 + x.r.Int64N(min(1<<x.r.IntN(22), twinSize-off))
	switch x.r.IntN(10) {
	case 0:
		x.size = off
		x.both(t, func(f *os.File) error { return f.Truncate(off) })
	case 1:
		x.both(t, func(f *os.File) error { return sys.PunchHole(int(f.Fd()), off, n) })
	case 2, 3:
		x.compare(t, off, n)
	case 4:
		x.both(t, func(f *os.File) error { return f.Sync() })
		if err := dropCache(x.here); err != nil {
			t.Error(err)
		}
	case 5: // as a mapping
		n = min(n, max(x.size-off, 0))
		x.both(t, func(f *os.File) error { return fillMapped(f, off, n, byte(n)) })
	default:
		b := bytes.Repeat([]byte{byte(1 + x.r.IntN(255)), byte(x.r.Uint32()), byte(x.r.Uint32())}, int(n)/3+1)[:n]
		x.size = max(x.size, off+n)
		x.both(t, func(f *os.File) error {
			_, err := f.WriteAt(b, off)
			return err
		})
	}
}

func (x *twins) compare(t *testing.T, off, n int64) {
	t.Helper()
	a, b := make([]byte, n), make([]byte, n)
	k, _ := x.here.ReadAt(a, off) // an early end is seen by the count
	l, _ := x.there.ReadAt(b, off)
	if k != l || !bytes.Equal(a[:k], b[:l]) {
		t.Fatalf("%d bytes at %d: they differ (%d and %d were read)", n, off, k, l)
	}
}

// TestDiskFull: who writes more than RAM and disk have is told so when it writes, and what was written is whole.
func TestDiskFull(t *testing.T) {
	need(t)
	small := t.TempDir() // a disk of its own, 96 MB
	m, err := sys.NewMount("tmpfs", "size=96m")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.Attach(small), m.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sys.Unmount(small, false); err != nil {
			t.Error(err)
		}
	})
	o := options(small)
	o.Size = 512 * mb // more than there is
	f, dir := newFS(t, o)
	file, err := os.Create(filepath.Join(dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	block := make([]byte, mb)
	var written int64
	for err == nil {
		fill(block, written)
		if _, err = file.Write(block); err == nil {
			written += mb
		}
		if written%(8*mb) == 0 {
			time.Sleep(2 * roomInterval) // a disk takes longer
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v after %d MB", err, written>>20)
	}
	if written < 48*mb || written > 128*mb {
		t.Errorf("%d MB were written; there are 32 of RAM and 96 of disk, of which 64 are kept", written>>20)
	}
	if err := file.Sync(); err != nil {
		t.Error(err)
	}
	if err := dropCache(file); err != nil {
		t.Error(err)
	}
	got := make([]byte, mb)
	for at := int64(0); at < written; at += mb {
		fill(block, at)
		if _, err := file.ReadAt(got, at); err != nil || !bytes.Equal(got, block) {
			t.Fatalf("MB %d differs, or %v", at>>20, err)
		}
	}
	if r := f.Report(); r.Error != "" {
		t.Error(r.Error)
	}
}

// fill makes a block like no other.
func fill(b []byte, n int64) {
	copy(b, bytes.Repeat(fmt.Appendf(nil, "%016d", n), len(b)/16))
}

// keeper keeps what keepEnv says.
func keeper() error {
	says := strings.Split(os.Getenv(keepEnv), ":")
	return Mounts{says[2]}.Keep(context.Background(), says[0], options(says[1]), func(Mounted) {
		sys.ReportReady(nil)
	}, func(error) {})
}

// startKeeper starts a keeper of a mount, in a process of its own.
func startKeeper(t *testing.T) (m Mounts, is Mounted, wait func() error) {
	t.Helper()
	need(t)
	place := t.TempDir()
	m = Mounts{t.TempDir()}
	t.Setenv(roleEnv, isKeeper)
	t.Setenv(keepEnv, strings.Join([]string{place, t.TempDir(), m.Dir}, ":"))
	cmd, err := sys.StartDetached(t.Context(), []string{"/proc/self/exe"}, os.Stderr, func() string { return "it died" })
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(roleEnv, isDaemon)
	if is, err = m.At(place); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if source, err := mountedFrom(place); source != "" || err != nil {
			t.Errorf("%s is mounted still, or %v", source, err)
			_ = sys.Unmount(place, true)
		}
	})
	return m, is, cmd.Wait
}

// gone says whether the loop device of one has another file, or none: others take it at once.
func gone(is Mounted) bool {
	file, err := os.ReadFile(filepath.Join("/sys/block", is.Device, "loop/backing_file"))
	return err != nil || strings.TrimSpace(string(file)) != "/"+deviceName || syscall.Kill(is.Daemon, 0) != nil
}

// writeOn writes to a file until it fails or end is closed, and returns why.
func writeOn(file *os.File, end chan struct{}) chan error {
	result := make(chan error, 1)
	go func() {
		b := make([]byte, mb)
		for n := int64(0); ; n++ {
			select {
			case <-end:
				result <- nil
				return
			default:
			}
			_, err := file.WriteAt(b, n%64*mb)
			if err == nil && n%8 == 7 {
				err = file.Sync()
			}
			if err != nil {
				result <- err
				return
			}
		}
	}()
	return result
}

func TestMounts(t *testing.T) {
	m, is, wait := startKeeper(t)
	if _, err := (Mounts{m.Dir}).List(); err != nil {
		t.Error(err)
	}
	err := m.Keep(t.Context(), is.Place, options(t.TempDir()), nil, nil)
	if !errors.Is(err, ErrMounted) {
		t.Errorf("another one at the place: %v", err)
	}
	file, err := os.Create(filepath.Join(is.Place, "f"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Unmount(t.Context(), is.Place, false); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("unmount with an open file: %v", err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	if freed, err := m.Unmount(t.Context(), is.Place, false); err != nil || !freed {
		t.Error(freed, err)
	}
	if err := wait(); err != nil {
		t.Error(err)
	}
	if _, err := m.At(is.Place); !errors.Is(err, ErrNotMounted) {
		t.Error(err)
	}
	if !gone(is) {
		t.Errorf("%s has a file still", is.Device)
	}
	if left, err := os.ReadDir(m.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Error(left, err)
	}
}

// TestKilled kills daemon, keeper or both while a file is written: the writer goes on or fails, and does not hang; nothing is
// left.
func TestKilled(t *testing.T) {
	for _, c := range []struct {
		name           string
		daemon, keeper bool
	}{{"daemon", true, false}, {"keeper", false, true}, {"both", true, true}} {
		t.Run(c.name, func(t *testing.T) {
			m, is, wait := startKeeper(t)
			file, err := os.Create(filepath.Join(is.Place, "f"))
			if err != nil {
				t.Fatal(err)
			}
			end := make(chan struct{})
			result := writeOn(file, end)
			time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond)
			for _, kill := range []struct {
				is  bool
				pid int
			}{{c.keeper, is.Keeper}, {c.daemon, is.Daemon}} {
				if kill.is {
					if err := syscall.Kill(kill.pid, syscall.SIGKILL); err != nil {
						t.Error(err)
					}
				}
			}
			if c.daemon {
				if err := <-result; err == nil {
					t.Error("writes succeed without a daemon")
				}
			} else {
				until(t, "it is taken away from its place", func() bool {
					source, _ := mountedFrom(is.Place)
					return source == ""
				})
				close(end)
				if err := <-result; err != nil {
					t.Errorf("without a keeper: %v", err)
				}
			}
			_ = file.Close() // EIO where the daemon is gone
			if err := wait(); err == nil {
				t.Error("the keeper says that all went well")
			}
			if c.keeper && c.daemon {
				if all, err := m.List(); err != nil || len(all) != 1 || !all[0].Dead {
					t.Errorf("%+v, %v", all, err)
				}
			}
			if err := m.Clean(); err != nil {
				t.Error(err)
			}
			until(t, "the device is gone", func() bool { return gone(is) })
			if all, err := m.List(); err != nil || len(all) > 0 {
				t.Errorf("%+v, %v", all, err)
			}
		})
	}
}

// dropCache has the next reads of a file come from the device.
func dropCache(f *os.File) error {
	const dontNeed = 4 // POSIX_FADV_DONTNEED
	if _, _, errno := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// fillMapped writes to a file by mapping it.
func fillMapped(f *os.File, off, n int64, with byte) error {
	if n == 0 {
		return nil
	}
	page := int64(os.Getpagesize())
	from := off / page * page
	b, err := syscall.Mmap(int(f.Fd()), from, int(off-from+n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return err
	}
	copy(b[off-from:], bytes.Repeat([]byte{with}, int(n)))
	return syscall.Munmap(b)
}
