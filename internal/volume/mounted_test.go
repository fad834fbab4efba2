package volume_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// smallSize is enough for what most tests do.
const smallSize = 64 << 20

// mountedKinds are the kinds that are file systems of their own.
var mountedKinds = []volume.Kind{volume.Tmpfs, volume.Ramfs, volume.XFS, volume.Zram}

// mountedPlaces are places with mounts, for root.
func mountedPlaces(t *testing.T) host.Places {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: mounting takes root")
	}
	p := places(t)
	p.Mounts = mounts(t)
	t.Cleanup(func() {
		o := &volume.Opener{Places: p}
		for _, k := range mountedKinds {
			if there, err := o.There(k); err != nil || there {
				t.Errorf("volume %s is still there (%v)", k, err)
				_ = o.At(k).Destroy(context.Background(), true)
			}
		}
		if err := reclaimAll(o); err != nil {
			left, _ := filepath.Glob(p.Mounts + "/*")
			t.Error(err)
			t.Errorf("%s is left, with %v", p.Mounts, left)
		}
	})
	return p
}

// reclaimAll takes away what volumes leave behind. A device stays in use for as long as a mount
// namespace lives that somebody made while the volume was mounted: tests beside this one do.
func reclaimAll(o *volume.Opener) error {
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Lstat(o.Places.Mounts); errors.Is(err, os.ErrNotExist) {
			return nil
		} else if time.Now().After(end) {
			return fmt.Errorf("%s stays (%w)", o.Places.Mounts, err)
		}
		if err := o.Reclaim(context.Background()); err != nil {
			return err
		}
	}
}

// openKind opens a volume that lives as long as the test.
func openKind(t *testing.T, p host.Places, spec volume.Spec) volume.Volume {
	t.Helper()
	v := open(t, p, spec)
	t.Cleanup(func() {
		if err := v.Destroy(context.Background(), true); err != nil {
			t.Error(err)
		}
	})
	return v
}

func write(t *testing.T, path string, size int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.CopyN(f, rand.Reader, size)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestMountedGrow(t *testing.T) {
	// A volume that may take more than the machine has left is bound by memory, and other work beside
	// the tests left less than a gigabyte.
	const large = 256 << 20
	for _, kind := range mountedKinds {
		t.Run(string(kind), func(t *testing.T) {
			p := mountedPlaces(t)
			v := openKind(t, p, volume.Spec{Kind: kind, Size: smallSize})
			file := filepath.Join(v.Dir(), "instances", "file")
			write(t, file, 40<<20)
			for _, size := range []int64{smallSize, 160 << 20, 100 << 20, large} {
				open(t, p, volume.Spec{Kind: kind, Size: size})
			}
			u, err := v.Usage()
			if err != nil {
				t.Fatal(err)
			}
			if u.Size != large || u.Used < 40<<20 || u.Used > 44<<20 || u.Free != u.Size-u.Used || u.Bound != volume.ByLimit {
				t.Errorf("after growing to 256 MB: %+v", u)
			}
			write(t, file+"2", 190<<20) // it is true
			open(t, p, volume.Spec{Kind: kind})
			if u, err = v.Usage(); err != nil || u.Size != large {
				t.Errorf("opening it without a size changed the limit: %+v, %v", u, err)
			}
		})
	}
}

func TestMountedGrowBeyondMemory(t *testing.T) {
	for _, kind := range []volume.Kind{volume.XFS, volume.Zram} {
		t.Run(string(kind), func(t *testing.T) {
			p := mountedPlaces(t)
			v := openKind(t, p, volume.Spec{Kind: kind, Size: smallSize})
			_, err := (&volume.Opener{Places: p}).Open(t.Context(), volume.Spec{Kind: kind, Size: 1 << 44})
			if err == nil || !strings.Contains(err.Error(), "\nhint: it can grow to the memory of this machine, not further") {
				t.Errorf("got %v", err)
			}
			if u, err := v.Usage(); err != nil || u.Size != smallSize {
				t.Errorf("it is not what it was: %+v, %v", u, err)
			}
		})
	}
}

// taken returns how much memory the kernel counts for a volume. For XFS that is what
// was written to its loop device less what was discarded, which the device gives back to
// the tmpfs. MemAvailable and Shmem would say it of the whole machine, on which much else
// goes on. A volume that is not there takes nothing: see mountedPlaces.
func taken(t *testing.T, v volume.Volume) int64 {
	t.Helper()
	if there, err := sys.Mounted(v.Dir()); err != nil {
		t.Fatal(err)
	} else if !there {
		return 0
	}
	if v.Kind() != volume.XFS {
		u, err := v.Usage()
		if err != nil {
			t.Fatal(err)
		}
		return u.Memory
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(mounts), " "+v.Dir()+" ")
	_, rest, _ = strings.Cut(rest, " - xfs /dev/")
	device, _, _ := strings.Cut(rest, " ")
	b, err := os.ReadFile(filepath.Join("/sys/block", device, "stat"))
	if err != nil {
		t.Fatal(err)
	}
	// See https://docs.kernel.org/block/stat.html; a sector is 512 bytes.
	f := strings.Fields(string(b))
	var sectors [2]int64
	for i, column := range []int{6, 13} {
		if sectors[i], err = strconv.ParseInt(f[column], 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return (sectors[0] - sectors[1]) * 512
}

// TestMountedGivesMemoryBack fills a volume, empties it, fills it again, removes it.
func TestMountedGivesMemoryBack(t *testing.T) {
	for _, c := range []struct {
		kind volume.Kind
		size int64
	}{{volume.XFS, 1 << 30}, {volume.Zram, 256 << 20}, {volume.Tmpfs, 256 << 20}, {volume.Ramfs, 256 << 20}} {
		t.Run(string(c.kind), func(t *testing.T) {
			v := openKind(t, mountedPlaces(t), volume.Spec{Kind: c.kind, Size: 2 * c.size})
			empty := taken(t, v)
			takes := func(what string, want int64) {
				t.Helper()
				var got int64
				for end := time.Now().Add(4 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) { // XFS frees behind
					if got = taken(t, v) - empty; max(got-want, want-got) < 100<<20 {
						return
					}
				}
				t.Errorf("%s it takes %s of memory, want %s", what, volume.FormatBytes(got), volume.FormatBytes(want))
			}
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			file := filepath.Join(v.Dir(), "instances", "file")
			for range 2 {
				write(t, file, c.size)
				must(sys.SyncFS(v.Dir()))
				takes("full", c.size)
				if u, err := v.Usage(); err != nil || u.Memory < c.size || u.Memory > c.size+c.size/8+128<<20 {
					t.Errorf("usage says that %s of memory are taken (%v)", volume.FormatBytes(u.Memory), err)
				}
				must(v.Remove(t.Context(), file))
				takes("empty again", 0)
			}
			write(t, file, c.size)
			must(v.Destroy(t.Context(), true))
			empty = 0
			takes("removed", 0)
		})
	}
}

// TestMountedFull fills volumes to the last block.
func TestMountedFull(t *testing.T) {
	for _, kind := range mountedKinds {
		t.Run(string(kind), func(t *testing.T) {
			const size = 400 << 20
			v := openKind(t, mountedPlaces(t), volume.Spec{Kind: kind, Size: size})
			src := filepath.Join(t.TempDir(), "src")
			if err := os.Mkdir(src, 0o700); err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				write(t, filepath.Join(src, fmt.Sprint(i)), 50<<20)
			}
			var err error
			made := 0
			for ; err == nil && made < 10; made++ {
				err = v.Clone(t.Context(), src, filepath.Join(v.Dir(), "instances", fmt.Sprint(made)))
			}
			var full *volume.NoRoomError
			if !errors.As(err, &full) || full.Bound != volume.ByLimit {
				t.Fatalf("clone %d: got %+v, %v", made, full, err)
			}
			for _, want := range []string{"in volume " + string(kind), "it needs 150 MB", "\nhint: ramaria volume grow " + string(kind) + " ", "M makes it larger, ", "ramaria down NAME --rm"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
			if made != 3 {
				t.Errorf("%d clones of 150 MB went into 400 MB", made-1)
			}
			left, _ := filepath.Glob(v.Dir() + "/.partial*")
			if len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			err = v.Snapshot(t.Context(), src, filepath.Join(v.Dir(), "instances", "s"), volume.How{})
			if !errors.As(err, &full) {
				t.Errorf("snapshot: %v", err)
			}
		})
	}
}

// TestMountedFailed lets XFS give up, as it does when its device fails.
func TestMountedFailed(t *testing.T) {
	for _, kind := range []volume.Kind{volume.XFS, volume.Zram} {
		t.Run(string(kind), func(t *testing.T) {
			p := mountedPlaces(t)
			v := openKind(t, p, volume.Spec{Kind: kind, Size: smallSize})
			dir, err := os.Open(v.Dir())
			if err != nil {
				t.Fatal(err)
			}
			flags := uint32(2)                             // XFS_FSOP_GOING_FLAGS_NOLOGFLUSH
			const goingDown = 1<<30 | 4<<16 | 'X'<<8 | 125 // XFS_IOC_GOINGDOWN
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, dir.Fd(), goingDown, uintptr(unsafe.Pointer(&flags)))
			if errno == unix.ENOTTY {
				_, _, errno = unix.Syscall(unix.SYS_IOCTL, dir.Fd(), 2<<30|4<<16|'X'<<8|125, uintptr(unsafe.Pointer(&flags)))
			}
			dir.Close()
			if errno != 0 {
				t.Fatalf("shut XFS down: %v", errno)
			}
			want := fmt.Sprintf("its file system has failed: .*\nhint: ramaria volume rm %s --force removes it, and what it holds is lost", kind)
			for what, f := range map[string]func() error{
				"open": func() error {
					_, err := (&volume.Opener{Places: p}).Open(t.Context(), volume.Spec{Kind: kind})
					return err
				},
				"fit":     func() error { return (&volume.Opener{Places: p}).Fit(t.Context(), kind) },
				"destroy": func() error { return v.Destroy(t.Context(), false) },
			} {
				_, after, _ := strings.Cut(want, ".*")
				if err := f(); err == nil || !strings.Contains(err.Error(), "its file system has failed: ") || !strings.HasSuffix(err.Error(), after) {
					t.Errorf("%s: got %v", what, err)
				}
			}
			if err := v.Destroy(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			openKind(t, p, volume.Spec{Kind: kind, Size: smallSize}) // a new one
		})
	}
}

func TestMountedDestroyInUse(t *testing.T) {
	for _, kind := range mountedKinds {
		t.Run(string(kind), func(t *testing.T) {
			p := mountedPlaces(t)
			v := openKind(t, p, volume.Spec{Kind: kind, Size: smallSize})
			file := filepath.Join(v.Dir(), "images", "file")
			refused := func(what, want string) {
				t.Helper()
				err := v.Destroy(t.Context(), false)
				if !errors.Is(err, volume.ErrInUse) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "\nhint: ") {
					t.Errorf("%s: got %v", what, err)
				}
				if b, err := os.ReadFile(file); err != nil || string(b) != "kept" {
					t.Errorf("%s: the volume is not intact: %q, %v", what, b, err)
				}
			}
			if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
				t.Fatal(err)
			}
			instance := filepath.Join(v.Dir(), "instances", "shop")
			if err := os.Mkdir(instance, 0o700); err != nil {
				t.Fatal(err)
			}
			refused("with an instance", "it holds the instances shop\n")
			if err := os.Remove(instance); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			refused("with an open file", fmt.Sprintf("volume.test (process %d) works in ", os.Getpid()))
			f.Close()
			worker := exec.Command("sleep", "60")
			worker.Dir = v.Dir()
			worker.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			if err := worker.Start(); err != nil {
				t.Fatal(err)
			}
			end := func() { worker.Process.Kill(); worker.Wait() }
			defer end()
			refused("with a worker", fmt.Sprintf("sleep (process %d) works in ", worker.Process.Pid))
			if err := v.Destroy(t.Context(), true); err != nil {
				t.Errorf("by force: %v", err)
			}
			if there, err := (&volume.Opener{Places: p}).There(kind); err != nil || there {
				t.Errorf("by force: it is there (%v)", err)
			}
			// A new one does not wait for the worker.
			again := openKind(t, p, volume.Spec{Kind: kind, Size: smallSize})
			if _, err := os.Lstat(filepath.Join(again.Dir(), "images", "file")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the new volume is the old one: %v", err)
			}
			end()
			if err := again.Destroy(t.Context(), false); err != nil {
				t.Error(err)
			}
			if err := (&volume.Opener{Places: p}).Reclaim(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
