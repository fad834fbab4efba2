package runner

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/host"
)

// filesIn are the files below a directory and what is in them.
func filesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	return files
}

// TestBandwidthFiles: what is written for each version of control groups, and taken back.
func TestBandwidthFiles(t *testing.T) {
	const root, one = "sys/fs/cgroup", "sys/fs/cgroup/blkio"
	const read, write = "blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"
	t.Run("version 2", func(t *testing.T) {
		h := partitioned(t, map[string]string{root + "/cgroup.procs": "", root + "/cgroup.subtree_control": "io memory\n"})
		th, err := NewBandwidth(h, "/of-nobody", 1e6)
		if err != nil {
			t.Fatal(err)
		}
		if err := th.Add(4711); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"io.max": "8:2 rbps=1000000 wbps=1000000", "cgroup.procs": "4711"}
		if got := filesIn(t, filepath.Dir(th.Procs())); !maps.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
	t.Run("version 1", func(t *testing.T) {
		h := partitioned(t, map[string]string{one + "/" + read: "", one + "/" + write: ""})
		lifted := map[string]string{read: "8:2 0", write: "8:2 0"}
		for _, killed := range []bool{false, true} {
			th, err := NewBandwidth(h, "/of-nobody", 1e6)
			if err != nil {
				t.Fatal(err)
			}
			if err := th.Add(4711); err != nil || th.Procs() != "" {
				t.Errorf("there is a group %q, %v", th.Procs(), err)
			}
			want := map[string]string{read: "8:2 1000000", write: "8:2 1000000"}
			if got := filesIn(t, rooted(h, one)); !maps.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			lift := th.Remove
			if killed {
				lift = func() error { return LiftBandwidth(h, "8:2") }
			}
			if err := errors.Join(lift(), lift()); err != nil {
				t.Error(err)
			}
			if got := filesIn(t, rooted(h, one)); !maps.Equal(got, lifted) {
				t.Errorf("%q, want %q", got, lifted)
			}
		}
	})
}

// TestMemoryLimitFiles: what is written for each version of control groups.
func TestMemoryLimitFiles(t *testing.T) {
	for root, tc := range map[string]struct{ files, want map[string]string }{
		"/sys/fs/cgroup": {
			map[string]string{"sys/fs/cgroup/cgroup.procs": "", "sys/fs/cgroup/cgroup.subtree_control": "memory\n"},
			map[string]string{"memory.max": "7", "memory.swap.max": "8"},
		},
		"/sys/fs/cgroup/memory": {map[string]string{"sys/fs/cgroup/memory/cgroup.procs": ""}, map[string]string{"memory.limit_in_bytes": "7"}},
	} {
		h := partitioned(t, tc.files)
		th, err := NewMemoryLimit(h, 7, 8)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(th.Procs())
		if got := filesIn(t, dir); !maps.Equal(got, tc.want) || filepath.Dir(dir) != rooted(h, root) {
			t.Errorf("%s has %q, want %q below %s", dir, got, tc.want, root)
		}
		// The kernel's files are as they were written last.
		for name, limit := range tc.want {
			if limit != "7" {
				continue
			}
			if err := th.Limited(func() error {
				if got := filesIn(t, dir)[name]; got != limit {
					t.Errorf("%s is %q meanwhile", name, got)
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
			if got := filesIn(t, dir)[name]; got != "max" && got != "-1" {
				t.Errorf("%s is %q afterwards", name, got)
			}
			if err := errors.Join(os.WriteFile(filepath.Join(dir, name), []byte(limit), 0), LiftMemoryLimits(h, os.Getpid())); err != nil {
				t.Error(err)
			}
			if got := filesIn(t, dir)[name]; got != "max" && got != "-1" {
				t.Errorf("%s is %q when its process was killed", name, got)
			}
		}
		if left, err := Throttles(h, os.Getpid()); err != nil || len(left) != 1 {
			t.Errorf("those of this process: %q, %v", left, err)
		}
	}
}

// TestUnlimited: where a limit cannot be had the error says why.
func TestUnlimited(t *testing.T) {
	group := map[string]string{"sys/fs/cgroup/cgroup.procs": "", "sys/fs/cgroup/cgroup.subtree_control": "io\n"}
	_, band := NewBandwidth(partitioned(t, group), "/of-nobody", 1)
	_, none := NewBandwidth(partitioned(t, nil), "/of-nobody", 1)
	_, device := NewBandwidth(machineWith(t, map[string]string{"proc/self/mountinfo": "20 1 0:2 / / rw - overlay overlay rw\n"}), "/", 1)
	_, memory := NewMemoryLimit(host.Host{Root: t.TempDir()}, 1, 1)
	for want, err := range map[string]error{"+memory > ": band, "limit I/O": none, "no block device": device, "limit memory": memory} {
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one for the reason %q", err, want)
		}
	}
}
