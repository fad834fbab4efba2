package wheatfs

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

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
		if source, err := sys.MountedFrom(place); source != "" || err != nil {
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
					source, _ := sys.MountedFrom(is.Place)
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
