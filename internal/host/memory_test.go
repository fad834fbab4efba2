package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	mb      = 1 << 20
	meminfo = "MemTotal:       1048576 kB\nMemFree:         100000 kB\nMemAvailable:    524288 kB\nSwapTotal: 0 kB\n"
	v1Mount = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
	v2Mount = "31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	none1   = "9223372036854771712\n"
)

// tree writes the files below a new root.
func tree(t *testing.T, files map[string]string) Host {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Host{Root: root}
}

func TestMemory(t *testing.T) {
	const v1, v2 = "sys/fs/cgroup/memory/", "sys/fs/cgroup/"
	for _, c := range []struct {
		name     string
		files    map[string]string
		want     Cgroup
		room     int64
		byCgroup bool
	}{
		{name: "no control groups", room: 512 * mb},
		{
			name: "version 2, no limit",
			files: map[string]string{"proc/self/cgroup": "0::/user.slice/a\n", "proc/self/mountinfo": v2Mount,
				v2 + "user.slice/a/memory.max": "max\n", v2 + "user.slice/a/memory.current": "5000\n"},
			room: 512 * mb,
		},
		{
			name: "version 2, inactive files can be dropped, shmem not",
			files: map[string]string{"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2Mount,
				v2 + "a/memory.max": "268435456\n", v2 + "a/memory.high": "max\n", v2 + "a/memory.current": "104857600\n",
				v2 + "a/memory.stat": "anon 1048576\nfile 94371840\nshmem 52428800\ninactive_file 41943040\nactive_file 0\n"},
			want: Cgroup{Path: "/sys/fs/cgroup/a", Limit: 256 * mb, Used: 60 * mb}, room: 196 * mb, byCgroup: true,
		},
		{
			name: "version 2, memory.high binds",
			files: map[string]string{"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2Mount,
				v2 + "a/memory.max": "268435456\n", v2 + "a/memory.high": "134217728\n", v2 + "a/memory.current": "0\n"},
			want: Cgroup{Path: "/sys/fs/cgroup/a", Limit: 128 * mb}, room: 128 * mb, byCgroup: true,
		},
		{
			name: "version 2, the parent has less left than the child",
			files: map[string]string{"proc/self/cgroup": "0::/p/c\n", "proc/self/mountinfo": v2Mount,
				v2 + "p/memory.max": "314572800\n", v2 + "p/memory.current": "304087040\n",
				v2 + "p/c/memory.max": "104857600\n", v2 + "p/c/memory.current": "10485760\n"},
			want: Cgroup{Path: "/sys/fs/cgroup/p", Limit: 300 * mb, Used: 290 * mb}, room: 10 * mb, byCgroup: true,
		},
		{
			name: "version 2, container: the group is / and has files",
			files: map[string]string{"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2Mount,
				v2 + "memory.max": "67108864\n", v2 + "memory.current": "1048576\n"},
			want: Cgroup{Path: "/sys/fs/cgroup", Limit: 64 * mb, Used: mb}, room: 63 * mb, byCgroup: true,
		},
		{
			name: "version 2, the name lies outside what is mounted",
			files: map[string]string{"proc/self/cgroup": "0::/../other\n", "proc/self/mountinfo": v2Mount,
				v2 + "memory.max": "67108864\n", v2 + "memory.current": "1048576\n"},
			want: Cgroup{Path: "/sys/fs/cgroup", Limit: 64 * mb, Used: mb}, room: 63 * mb, byCgroup: true,
		},
		{
			name: "version 2, a limit above what the machine has",
			files: map[string]string{"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2Mount,
				v2 + "a/memory.max": "10737418240\n", v2 + "a/memory.current": "1048576\n"},
			want: Cgroup{Path: "/sys/fs/cgroup/a", Limit: 10240 * mb, Used: mb}, room: 512 * mb,
		},
		{
			name: "version 2, over its limit",
			files: map[string]string{"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2Mount,
				v2 + "a/memory.max": "0\n", v2 + "a/memory.current": "1048576\n"},
			want: Cgroup{Path: "/sys/fs/cgroup/a", Limit: 1, Used: mb}, byCgroup: true,
		},
		{
			name: "version 1, no limit anywhere",
			files: map[string]string{"proc/self/cgroup": "9:name=systemd:/\n4:memory:/a\n0::/\n", "proc/self/mountinfo": v1Mount,
				v1 + "a/memory.limit_in_bytes": none1, v1 + "memory.limit_in_bytes": none1},
			room: 512 * mb,
		},
		{
			name: "version 1, controllers mounted together, limit on the parent",
			files: map[string]string{"proc/self/cgroup": "4:cpu,memory:/p/c\n", "proc/self/mountinfo": strings.Replace(v1Mount, "rw,memory", "rw,cpu,memory", 1),
				v1 + "p/c/memory.limit_in_bytes": none1,
				v1 + "p/memory.limit_in_bytes":   "104857600\n", v1 + "p/memory.usage_in_bytes": "52428800\n",
				v1 + "p/memory.stat": "inactive_file 1\ntotal_shmem 10485760\ntotal_inactive_file 20971520\n"},
			want: Cgroup{First: true, Path: "/sys/fs/cgroup/memory/p", Limit: 100 * mb, Used: 30 * mb}, room: 70 * mb, byCgroup: true,
		},
		{
			name: "version 1, container that shows only its part of the tree",
			files: map[string]string{"proc/self/cgroup": "4:memory:/docker/abc\n",
				"proc/self/mountinfo":        strings.Replace(v1Mount, " / ", " /docker/abc ", 1),
				v1 + "memory.limit_in_bytes": "104857600\n", v1 + "memory.usage_in_bytes": "0\n"},
			want: Cgroup{First: true, Path: "/sys/fs/cgroup/memory", Limit: 100 * mb}, room: 100 * mb, byCgroup: true,
		},
		{
			name: "version 1, the host's name in a container",
			files: map[string]string{"proc/self/cgroup": "4:memory:/docker/abc\n", "proc/self/mountinfo": v1Mount,
				v1 + "memory.limit_in_bytes": "104857600\n", v1 + "memory.usage_in_bytes": "0\n"},
			want: Cgroup{First: true, Path: "/sys/fs/cgroup/memory", Limit: 100 * mb}, room: 100 * mb, byCgroup: true,
		},
		{
			name: "hybrid: memory is in version 1",
			files: map[string]string{"proc/self/cgroup": "4:memory:/a\n0::/a\n",
				"proc/self/mountinfo":          v1Mount + strings.Replace(v2Mount, "/sys/fs/cgroup", "/sys/fs/cgroup/unified", 1),
				v1 + "a/memory.limit_in_bytes": "104857600\n", v1 + "a/memory.usage_in_bytes": "1048576\n",
				v2 + "unified/a/cgroup.procs": "1\n"},
			want: Cgroup{First: true, Path: "/sys/fs/cgroup/memory/a", Limit: 100 * mb, Used: mb}, room: 99 * mb, byCgroup: true,
		},
		{
			name: "a mount point with a space",
			files: map[string]string{"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": strings.Replace(v2Mount, "/sys/fs/cgroup", `/my\040groups`, 1),
				"my groups/memory.max": "67108864\n", "my groups/memory.current": "0\n"},
			want: Cgroup{Path: "/my groups", Limit: 64 * mb}, room: 64 * mb, byCgroup: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"proc/meminfo": meminfo}
			for k, v := range c.files {
				files[k] = v
			}
			m, err := tree(t, files).Memory()
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(Memory{Total: 1024 * mb, Available: 512 * mb, Cgroup: c.want}, m); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if room, by := m.Room(); room != c.room || by != c.byCgroup {
				t.Errorf("room %d by control group %v, want %d %v", room, by, c.room, c.byCgroup)
			}
		})
	}
}

func TestMemoryErrors(t *testing.T) {
	for _, c := range []struct{ name, meminfo, want string }{
		{"absent", "", "no such file"},
		{"old kernel", "MemTotal: 1 kB\n", "MemAvailable"},
		{"not a number", "MemTotal: x kB\n", "MemTotal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{}
			if c.meminfo != "" {
				files["proc/meminfo"] = c.meminfo
			}
			if _, err := tree(t, files).Memory(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// TestMemoryHere reads this machine.
func TestMemoryHere(t *testing.T) {
	m, err := Host{}.Memory()
	if err != nil {
		t.Fatal(err)
	}
	if room, _ := m.Room(); m.Available <= 0 || m.Available > m.Total || room > m.Available {
		t.Errorf("%+v", m)
	}
}
