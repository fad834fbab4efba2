package volume_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// machine is a host with 1 GB of memory, 700 MB of it available, and a control group
// with the given limit in bytes, or "max".
func machine(t *testing.T, limit string) host.Host {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"proc/meminfo":                 "MemTotal: 1048576 kB\nMemAvailable: 716800 kB\n",
		"proc/self/cgroup":             "0::/\n",
		"proc/self/mountinfo":          "31 24 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"sys/fs/cgroup/memory.max":     limit + "\n",
		"sys/fs/cgroup/memory.current": "0\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return host.Host{Root: root}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit string
		shm   func(t *testing.T, p host.Places) string // another place for the shm volume
		want  volume.Kind
		why   string
	}{
		{name: "large", limit: "max", want: volume.Shm, why: "volume shm: in RAM"},
		{name: "small memory limit", limit: fmt.Sprint(128 << 20), want: volume.Disk, why: "docker run --memory"},
		{name: "no shared memory", limit: "max", want: volume.Disk, why: "there is no ",
			shm: func(t *testing.T, p host.Places) string { return filepath.Join(t.TempDir(), "absent", "v") }},
		{name: "Docker's 64 MB", limit: "max", want: volume.Disk, why: "has only 64 MB, less than 256 MB; raise it with docker run --shm-size=2g",
			shm: func(t *testing.T, p host.Places) string { return filepath.Join(smallTmpfs(t, "64m"), "v") }},
		{name: "not in RAM", limit: "max", want: volume.Disk, why: "does not lie in RAM",
			shm: func(t *testing.T, p host.Places) string { return filepath.Join(t.TempDir(), "v") }},
		{name: "not ours", limit: "max", want: volume.Disk, why: "symbolic link",
			shm: func(t *testing.T, p host.Places) string {
				if err := os.Symlink("/", p.Shm); err != nil {
					t.Fatal(err)
				}
				return p.Shm
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := places(t)
			if c.shm != nil {
				p.Shm = c.shm(t, p)
			}
			v, why, err := (&volume.Opener{Host: machine(t, c.limit), Places: p}).Choose(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			if v.Kind() != c.want || !strings.Contains(why, c.why) || strings.Contains(why, "\n") {
				t.Errorf("chose %s: %q; want %s: %q", v.Kind(), why, c.want, c.why)
			}
		})
	}
}

// TestNoRoom shows which bound is named, with its numbers and the way out.
func TestNoRoom(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit string
		spec  volume.Spec
		shm   func(t *testing.T) string
		need  int64
		want  string
	}{
		{name: "limit", limit: "max", spec: volume.Spec{Kind: volume.Shm, Size: 64 << 20}, need: 300 << 20,
			want: "no room for image x in volume shm: it needs 300 MB, free are 64 MB of 64 MB, bound by the volume's size limit\nhint: --volume shm:512M, or"},
		{name: "default limit", limit: "max", spec: volume.Spec{Kind: volume.Shm}, need: 2 << 30,
			want: "free are 512 MB of 512 MB, bound by the volume's size limit\nhint: --volume shm:2G, or"},
		{name: "memory", limit: "max", spec: volume.Spec{Kind: volume.Shm, Size: 4 << 30}, need: 800 << 20,
			want: "free are 700 MB of 4 GB, bound by the memory of this machine\nhint: --volume disk, or"},
		{name: "control group", limit: fmt.Sprint(300 << 20), spec: volume.Spec{Kind: volume.Shm}, need: 600 << 20,
			want: "free are 300 MB of 512 MB, bound by the limit of control group /sys/fs/cgroup: 300 MB\nhint: raise the limit by 300 MB"},
		{name: "file system", limit: "max", spec: volume.Spec{Kind: volume.Shm}, need: 600 << 20,
			shm:  func(t *testing.T) string { return filepath.Join(smallTmpfs(t, "64m"), "v") },
			want: "it needs 600 MB, free are 64 MB of 64 MB, bound by the file system of "},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := places(t)
			if c.shm != nil {
				p.Shm = c.shm(t)
			}
			v, err := (&volume.Opener{Host: machine(t, c.limit), Places: p}).Open(t.Context(), c.spec)
			if err != nil {
				t.Fatal(err)
			}
			defer v.Close()
			err = volume.CheckRoom(v, c.need, "image x")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %v", err, c.want)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, spec := range []volume.Spec{{}, {Kind: volume.Auto}, {Kind: "nfs"}, {Kind: volume.XFS}, {Kind: volume.Shm, Size: -1}} {
		if _, err := (&volume.Opener{Places: places(t)}).Open(t.Context(), spec); err == nil {
			t.Errorf("opening %+v was not refused", spec)
		}
	}
}
