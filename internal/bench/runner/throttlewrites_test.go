package runner

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/host"
)

// TestWriteThrottleFiles: what holds writes, and lets go of them, in each version of control groups.
func TestWriteThrottleFiles(t *testing.T) {
	for name, tc := range map[string]struct {
		root             string
		files            map[string]string
		file, held, free string
	}{
		"version 2": {
			"sys/fs/cgroup", map[string]string{"sys/fs/cgroup/cgroup.procs": "", "sys/fs/cgroup/cgroup.subtree_control": "cpuset cpu io memory\n"},
			"io.max", "8:0 wiops=3000", "8:0 wiops=max",
		},
		"version 1": {
			"sys/fs/cgroup/blkio", map[string]string{"sys/fs/cgroup/blkio/cgroup.procs": "", "sys/fs/cgroup/unified/cgroup.procs": ""},
			"blkio.throttle.write_iops_device", "8:0 3000", "8:0 0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := partitioned(t, tc.files)
			th, err := NewWriteThrottle(h, "/of-nobody")
			if err != nil {
				t.Fatal(err)
			}
			if got := filepath.Dir(th.dir); got != rooted(h, tc.root) {
				t.Errorf("the group is in %s", got)
			}
			has := func(want string) {
				t.Helper()
				if text, err := os.ReadFile(filepath.Join(th.dir, tc.file)); err != nil || string(text) != want {
					t.Errorf("%s has %q, %v; want %q", tc.file, text, err, want)
				}
			}
			has(tc.free)
			if err := th.HoldWrites(3000); err != nil {
				t.Error(err)
			}
			has(tc.held)
			if err := th.HoldWrites(0); err != nil {
				t.Error(err)
			}
			has(tc.free)
			os.Remove(filepath.Join(th.dir, tc.file)) // the kernel's files go with the directory
			if err := th.Remove(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWriteThrottleUnavailable: where writes cannot be held the error says why, and what to do.
func TestWriteThrottleUnavailable(t *testing.T) {
	for name, tc := range map[string]struct {
		host   host.Host
		reason string
	}{
		"no control groups": {partitioned(t, nil), "hint: mount their controller"},
		"not handed down":   {partitioned(t, map[string]string{"sys/fs/cgroup/cgroup.procs": "", "sys/fs/cgroup/cgroup.subtree_control": "cpu\n"}), "hint: as root, echo +io"},
		"overlay":           {machineWith(t, map[string]string{"proc/self/mountinfo": "20 1 0:2 / / rw - overlay overlay rw\n"}), "hint: --disk DIR on a disk"},
		"tmpfs":             {machineWith(t, map[string]string{"proc/self/mountinfo": "20 1 0:2 / / rw - tmpfs tmpfs rw\n"}), "hint: --disk DIR on a disk"},
		"network":           {machineWith(t, map[string]string{"proc/self/mountinfo": "20 1 0:44 / / rw - nfs4 server:/export rw\n"}), "hint: --disk DIR on a disk"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewWriteThrottle(tc.host, t.TempDir())
			if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), tc.reason) {
				t.Errorf("error %v, want one for the reason %q", err, tc.reason)
			}
			if left, err := Throttles(tc.host, os.Getpid()); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// realThrottle is one of this machine's, with a process that has a child in it.
func realThrottle(t *testing.T) (th *Throttle, parent, child int) {
	t.Helper()
	th, err := NewWriteThrottle(host.Host{}, "/var/tmp")
	if err != nil {
		t.Skip("SKIPPED, UNTESTED: a control group that holds writes: ", err)
	}
	t.Cleanup(func() {
		if err := th.Remove(); err != nil {
			t.Error(err)
		}
	})
	cmd := exec.Command("sh", "-c", "sleep 600 & echo $!; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 32)
	n, err := out.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	if child, err = strconv.Atoi(strings.TrimSpace(string(b[:n]))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p, err := os.FindProcess(child); err == nil {
			_ = p.Kill()
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return th, cmd.Process.Pid, child
}

// TestThrottleAddsTree: what a process began before it was added is held back, too.
func TestThrottleAddsTree(t *testing.T) {
	th, parent, child := realThrottle(t)
	if err := th.AddTree(host.Host{}, parent); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{parent, child} {
		if is, err := th.Counts(pid); err != nil || !is {
			t.Errorf("process %d is held back: %t, %v", pid, is, err)
		}
	}
	if is, err := th.Counts(os.Getpid()); err != nil || is {
		t.Errorf("this process is held back: %t, %v", is, err)
	}
}

// TestThrottleLetsMembersGo: a group whose members do not end is removed, and they live on in the one above.
func TestThrottleLetsMembersGo(t *testing.T) {
	th, parent, child := realThrottle(t)
	if err := th.AddTree(host.Host{}, parent); err != nil {
		t.Fatal(err)
	}
	if err := th.Remove(); err != nil {
		t.Fatal(err)
	}
	if isThere(th.dir) {
		t.Error("the group is still there")
	}
	above, err := os.ReadFile(filepath.Join(filepath.Dir(th.dir), groupProcs))
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{parent, child} {
		if !slices.Contains(strings.Fields(string(above)), strconv.Itoa(pid)) {
			t.Errorf("process %d is not in the group above", pid)
		}
	}
}
