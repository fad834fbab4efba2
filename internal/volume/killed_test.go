package volume_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// kills is how many makers are killed, per kind: 60, or 24 in a quick run, of which some ten
// leave a volume.
func kills() int {
	if os.Getenv("RAMARIA_TEST_QUICK") == "1" {
		return 24
	}
	return 60
}

// loopsOver lists the loop devices over files with "ramaria" for a name in no place
// that can be seen: those of volumes.
func loopsOver(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	names, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		b, err := os.ReadFile(n)
		// The number tells the uses of one device apart (sysfs-block).
		use, seqErr := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(n)), "diskseq"))
		if err == nil && seqErr == nil && strings.HasPrefix(string(b), "/ramaria") {
			out[n+" "+strings.TrimSpace(string(use))] = true
		}
	}
	return out
}

func zramDevices(t *testing.T) map[int]bool {
	t.Helper()
	numbers, err := sys.ZramDevices()
	if err != nil {
		t.Fatal(err)
	}
	out := map[int]bool{}
	for _, n := range numbers {
		out[n] = true
	}
	return out
}

// gone waits for the things that are there now, and were not before, to vanish: other
// tests on this machine make such things too, and remove them after a while.
func gone[K comparable](t *testing.T, what string, before map[K]bool, look func(t *testing.T) map[K]bool) {
	t.Helper()
	const patience = 3 * time.Minute
	now := look(t)
	var left []K
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		left = nil
		still := look(t)
		for k := range now {
			if !before[k] && still[k] {
				left = append(left, k)
			}
		}
		if len(left) == 0 {
			return
		}
	}
	t.Errorf("left: %s %v", what, left)
}

// TestMountedMakerKilled kills makers, and removers, at moments of all kinds.
func TestMountedMakerKilled(t *testing.T) {
	for _, kind := range []volume.Kind{volume.XFS, volume.Zram} {
		t.Run(string(kind), func(t *testing.T) {
			p := mountedPlaces(t)
			o := &volume.Opener{Places: p}
			loops, zrams := loopsOver(t), zramDevices(t)
			start := time.Now() // how long it takes when no process is killed
			if err := openKind(t, p, volume.Spec{Kind: kind, Size: smallSize}).Destroy(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			once := time.Since(start)
			mounted, records := 0, 0
			kills := kills()
			for i := range kills {
				c := child(t, []string{"open and destroy", "open"}[i%2], kind, p)
				var said bytes.Buffer
				c.Stderr = &said
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(20*time.Millisecond + time.Duration(rand.Int64N(int64(2*once))))
				c.Process.Kill()
				c.Wait()
				if said.Len() > 0 {
					t.Fatalf("the child fails by itself: %s", said.String())
				}
				if _, err := os.Lstat(filepath.Join(p.Mounts, "zram.device")); err == nil {
					records++
				}
				there, err := o.There(kind)
				if err != nil {
					t.Fatal(err)
				}
				if there { // then it is whole
					mounted++
					v := open(t, p, volume.Spec{Kind: kind})
					if _, err := v.Usage(); err != nil {
						t.Error(err)
					}
					if err := v.Destroy(t.Context(), false); err != nil {
						t.Error(err)
					}
				}
				// A program that was begun in the moment of the kill has the lock until it runs.
				var left []os.DirEntry
				for end := time.Now().Add(40 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
					if err = o.Reclaim(t.Context()); err != nil {
						t.Error(err)
					}
					if left, err = os.ReadDir(p.Mounts); err != nil {
						break
					}
				}
				if err == nil {
					t.Errorf("left: %v", left)
				}
			}
			t.Logf("%d of %d left a whole volume, %d the record of a device; one cycle takes %v", mounted, kills, records, once)
			if mounted == 0 || mounted == kills || kind == volume.Zram && records == 0 {
				t.Error("the test tests nothing")
			}
			gone(t, "loop devices", loops, loopsOver)
			gone(t, "zram devices", zrams, zramDevices)
		})
	}
}

// TestMountedHalfARecord reclaims what a maker leaves that is killed while it writes its record.
func TestMountedHalfARecord(t *testing.T) {
	p := mountedPlaces(t)
	o := &volume.Opener{Places: p}
	if err := os.MkdirAll(p.Mounts, 0o711); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"zram.lock", "zram.device.new"} {
		if err := os.WriteFile(filepath.Join(p.Mounts, name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.Reclaim(t.Context()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(p.Mounts); err == nil {
		t.Errorf("left: %v", left)
	}
}

// TestMountedAtOnce makes one volume from many goroutines and processes.
func TestMountedAtOnce(t *testing.T) {
	for _, kind := range mountedKinds {
		t.Run(string(kind), func(t *testing.T) {
			p := mountedPlaces(t)
			o := &volume.Opener{Places: p}
			var wg sync.WaitGroup
			for range 3 {
				c := child(t, "open", kind, p)
				var said bytes.Buffer
				c.Stderr = &said
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				wg.Go(func() {
					if err := c.Wait(); err != nil {
						t.Errorf("a child: %v: %s", err, said.String())
					}
				})
			}
			for range 8 {
				wg.Go(func() {
					if _, err := o.Open(t.Context(), volume.Spec{Kind: kind, Size: smallSize}); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			b, err := os.ReadFile("/proc/self/mountinfo")
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(b), " "+filepath.Join(p.Mounts, string(kind))+" "); n != 1 {
				t.Errorf("it is mounted %d times", n)
			}
			if err := o.At(kind).Destroy(t.Context(), false); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestMountedDestroyRacesOpen opens and destroys at the same time: an opener gets
// a volume or is told that it vanishes, and nothing is ever made in the bare place.
func TestMountedDestroyRacesOpen(t *testing.T) {
	for _, kind := range []volume.Kind{volume.Tmpfs, volume.XFS} {
		t.Run(string(kind), func(t *testing.T) {
			p := mountedPlaces(t)
			o := &volume.Opener{Places: p}
			var wg sync.WaitGroup
			var ended atomic.Bool
			wg.Go(func() {
				for !ended.Load() {
					if err := o.At(kind).Destroy(t.Context(), true); err != nil {
						t.Error(err)
					}
				}
			})
			wg.Go(func() {
				defer ended.Store(true)
				for range 20 {
					if _, err := o.Open(t.Context(), volume.Spec{Kind: kind, Size: smallSize}); err != nil {
						t.Error(err)
					}
				}
			})
			wg.Wait()
			if err := o.At(kind).Destroy(t.Context(), true); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLoopDevicesTaken opens a volume while others take every free loop device.
func TestLoopDevicesTaken(t *testing.T) {
	p := mountedPlaces(t)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 8 {
		wg.Go(func() {
			f, err := os.Create(filepath.Join(t.TempDir(), "file"))
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			if err := f.Truncate(1 << 20); err != nil {
				t.Error(err)
			}
			for {
				select {
				case <-stop:
					return
				default:
				}
				loop, err := sys.LoopDevice(f, 0)
				if err != nil {
					t.Error(err)
					return
				}
				loop.Close()
			}
		})
	}
	for range 10 {
		v := openKind(t, p, volume.Spec{Kind: volume.XFS, Size: smallSize})
		if err := v.Destroy(t.Context(), false); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
}

// TestZramRecords reads records that are not about a device of ours.
func TestZramRecords(t *testing.T) {
	p := mountedPlaces(t)
	boot, err := host.Host{}.BootID()
	if err != nil {
		t.Fatal(err)
	}
	if err := sys.CheckZram(); err != nil {
		t.Skip("SKIPPED: ", err)
	}
	z, err := sys.AddZram() // somebody else's
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := z.Remove(); err != nil {
			t.Error(err)
		}
	}()
	if err := z.SetUp(1<<20, "lzo-rle"); err != nil {
		t.Fatal(err)
	}
	n := strings.TrimPrefix(z.Path(), "/dev/zram")
	for name, content := range map[string]string{
		"of another boot":    `{"boot":"another","device":` + n + `,"size":1048576}`,
		"cut short":          `{"boot":"` + boot + `","dev`,
		"empty":              ``,
		"of another size":    `{"boot":"` + boot + `","device":` + n + `,"size":2097152}`,
		"of no device":       `{"boot":"` + boot + `","device":4711,"size":2097152}`,
		"before it was made": `{"boot":"` + boot + `","others":[],"device":0,"size":0}`,
	} {
		for _, work := range []string{"reclaim", "open"} {
			t.Run(name+"/"+work, func(t *testing.T) {
				if name == "before it was made" {
					// Every device that is not set up would be ours: name them.
					numbers, err := sys.ZramDevices()
					if err != nil {
						t.Fatal(err)
					}
					list := strings.Trim(strings.ReplaceAll(strings.TrimSpace(jsonOf(t, numbers)), " ", ""), "\n")
					content = `{"boot":"` + boot + `","others":` + list + `,"device":0,"size":0}`
				}
				if err := errors.Join(os.MkdirAll(p.Mounts, 0o711), os.WriteFile(filepath.Join(p.Mounts, "zram.device"), []byte(content), 0o600)); err != nil {
					t.Fatal(err)
				}
				o := &volume.Opener{Places: p}
				if work == "reclaim" {
					if err := o.Reclaim(t.Context()); err != nil {
						t.Error(err)
					}
				} else if v, err := o.Open(t.Context(), volume.Spec{Kind: volume.Zram, Size: smallSize}); err != nil {
					t.Error(err)
				} else if err := v.Destroy(t.Context(), false); err != nil {
					t.Error(err)
				}
				if size, err := z.Size(); err != nil || size != 1<<20 {
					t.Errorf("somebody else's device has now size %d (%v)", size, err)
				}
				if _, err := os.Lstat(p.Mounts); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s is still there (%v)", p.Mounts, err)
				}
			})
		}
	}
}
