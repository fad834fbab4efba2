package wheatfs

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

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
