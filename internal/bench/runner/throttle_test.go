package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/host"
)

// partitioned is a machine with a file system on a partition, and more files.
func partitioned(t *testing.T, more map[string]string) host.Host {
	t.Helper()
	files := map[string]string{
		"proc/self/mountinfo":            "20 1 8:2 / / rw - ext4 /dev/sda2 rw\n",
		"sys/dev/block/8:2":              "-> ../../devices/sda/sda2",
		"sys/devices/sda/sda2/stat":      counters,
		"sys/devices/sda/sda2/dev":       "8:2\n",
		"sys/devices/sda/sda2/partition": "2\n",
		"sys/devices/sda/dev":            "8:0\n",
	}
	for path, text := range more {
		files[path] = text
	}
	return machineWith(t, files)
}

// TestThrottleFiles: what is written for each version of control groups.
func TestThrottleFiles(t *testing.T) {
	for _, tc := range []struct {
		name, root string
		files      map[string]string
		want       map[string]string
	}{
		{
			"version 2", "sys/fs/cgroup", map[string]string{"sys/fs/cgroup/cgroup.procs": "", "sys/fs/cgroup/cgroup.subtree_control": "cpuset cpu io memory\n"},
			map[string]string{"io.max": "8:0 riops=100 wiops=100"},
		},
		{
			"version 1", "sys/fs/cgroup/blkio", map[string]string{"sys/fs/cgroup/blkio/cgroup.procs": "", "sys/fs/cgroup/unified/cgroup.procs": ""},
			map[string]string{"blkio.throttle.read_iops_device": "8:0 100", "blkio.throttle.write_iops_device": "8:0 100"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := partitioned(t, tc.files)
			th, err := NewThrottle(h, "/of-nobody", 100)
			if err != nil {
				t.Fatal(err)
			}
			if got := filepath.Dir(th.dir); got != rooted(h, tc.root) {
				t.Errorf("the group is in %s", got)
			}
			if err := th.Add(4711); err != nil {
				t.Fatal(err)
			}
			tc.want["cgroup.procs"] = "4711"
			for name, want := range tc.want {
				if have, err := os.ReadFile(filepath.Join(th.dir, name)); err != nil || string(have) != want {
					t.Errorf("%s has %q, %v; want %q", name, have, err, want)
				}
				os.Remove(filepath.Join(th.dir, name)) // the kernel's files go with the directory
			}
			for range 2 {
				if err := th.Remove(); err != nil {
					t.Error(err)
				}
			}
			if _, err := os.Stat(th.dir); err == nil {
				t.Error("the group is still there")
			}
		})
	}
}

// TestThrottleUnavailable: on a machine, or for a user, that cannot hold a disk back the error says
// why. TestThrottleAsOrdinaryUser runs it once more.
func TestThrottleUnavailable(t *testing.T) {
	machines := map[string]struct {
		host   host.Host
		reason string
	}{
		"no control groups": {partitioned(t, nil), "no control groups that limit I/O"},
		"not handed down":   {partitioned(t, map[string]string{"sys/fs/cgroup/cgroup.procs": "", "sys/fs/cgroup/cgroup.subtree_control": "cpu\n"}), "hint: as root, echo +io"},
		"no device":         {machineWith(t, map[string]string{"proc/self/mountinfo": "20 1 0:2 / / rw - overlay overlay rw\n"}), "no block device"},
	}
	if os.Geteuid() != 0 {
		machines["not root"] = struct {
			host   host.Host
			reason string
		}{host.Host{}, "hold"}
	}
	for name, m := range machines {
		t.Run(name, func(t *testing.T) {
			_, err := NewThrottle(m.host, t.TempDir(), 100)
			if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), m.reason) {
				t.Errorf("error %v, want one for the reason %q", err, m.reason)
			}
			t.Log(err)
			if left, err := Throttles(m.host, os.Getpid()); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
