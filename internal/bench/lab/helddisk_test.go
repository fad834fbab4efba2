package lab

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/host"
)

// heldLab is a lab on a machine of files with control groups of version 1, whose child that measures says that 1500
// writes a second were made, whatever was asked for.
func heldLab(t *testing.T) (l *Lab, limit string) {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "proc/self/mountinfo"), "20 1 8:0 / / rw - ext4 /dev/sda rw\n")
	write(t, filepath.Join(root, "sys/dev/block/8:0/stat"), "1 2 3 4 5 6 7 8 9 10 11\n")
	write(t, filepath.Join(root, "sys/fs/cgroup/blkio/cgroup.procs"), "")
	child := script(t, `read line && echo '{"plain":1500,"synced":750}'`)
	l = &Lab{Exe: child, Dir: t.TempDir(), Home: t.TempDir(), Host: host.Host{Root: root}}
	if err := l.HoldDisk(t.Context(), []int{3000, 1500, 0}); err != nil {
		t.Fatal(err)
	}
	groups, err := filepath.Glob(filepath.Join(root, "sys/fs/cgroup/blkio/ramaria-bench-*"))
	if err != nil || len(groups) != 1 {
		t.Fatalf("there are the groups %q, %v", groups, err)
	}
	return l, filepath.Join(groups[0], "blkio.throttle.write_iops_device")
}

// TestHeldDiskIsMeasured: what a disk that is held to a rate does not make is not called that rate.
func TestHeldDiskIsMeasured(t *testing.T) {
	l, limit := heldLab(t)
	if made, err := l.Held.Rate(1500); err != nil || made != (runner.WriteRate{Plain: 1500, Synced: 750}) {
		t.Errorf("held to 1500: %+v, %v", made, err)
	}
	_, err := l.Held.Rate(3000)
	if !errors.Is(err, runner.ErrUnavailable) || !strings.Contains(err.Error(), "held to 3000 writes a second, 1500 were made: ") || !strings.Contains(err.Error(), "\nhint: ") {
		t.Errorf("held to 3000: %v", err)
	}
	if err := l.Held.Hold(3000, func() error { return errors.New("it ran") }); !errors.Is(err, runner.ErrUnavailable) {
		t.Errorf("work at 3000: %v", err)
	}
	if _, err := l.Held.Rate(700); !errors.Is(err, runner.ErrUnavailable) {
		t.Errorf("held to what was not measured: %v", err)
	}
	if text, err := os.ReadFile(limit); err != nil || string(text) != "8:0 0" {
		t.Errorf("afterwards the limit is %q, %v", text, err)
	}
}

// TestHeldDiskHolds: the limit is there while work runs, for who was added, and is lifted whatever comes of it.
func TestHeldDiskHolds(t *testing.T) {
	l, limit := heldLab(t)
	has := func(want string) {
		t.Helper()
		if text, err := os.ReadFile(limit); err != nil || string(text) != want {
			t.Errorf("the limit is %q, %v; want %q", text, err, want)
		}
	}
	if err := l.Held.Hold(1500, func() error { return nil }, 4711); err == nil || !strings.Contains(err.Error(), "process 4711 is not held back") {
		t.Errorf("work of a process that is not in the group: %v", err)
	}
	if err := l.Held.throttle.Add(4711); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("failed")
	if err := l.Held.Hold(1500, func() error { has("8:0 1500"); return failed }, 4711); !errors.Is(err, failed) {
		t.Errorf("work that fails: %v", err)
	}
	has("8:0 0")
	if err := l.Held.Hold(0, func() error { has("8:0 0"); return nil }, 4711); err != nil {
		t.Error(err)
	}
}
