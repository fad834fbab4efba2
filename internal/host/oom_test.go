package host

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOOM(t *testing.T) {
	const mb = 1 << 20
	v1, v2 := "sys/fs/cgroup/memory/", "sys/fs/cgroup/"
	hybrid := v1Mount + strings.Replace(v2Mount, "/sys/fs/cgroup", "/sys/fs/cgroup/unified", 1)
	for _, c := range []struct {
		name          string
		before, after map[string]string // what files are, and what they are changed to
		killed        bool
		by            FullCgroup
	}{
		{
			name: "version 2, at the parent's limit",
			before: map[string]string{"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": v2Mount, "proc/vmstat": "oom_kill 3\n",
				v2 + "a/b/memory.max": "max\n", v2 + "a/b/memory.events": "low 0\noom 0\noom_kill 1\n",
				v2 + "a/memory.max": "104857600\n", v2 + "a/memory.events.local": "max 5\noom 1\noom_kill 0\n"},
			after:  map[string]string{v2 + "a/b/memory.events": "low 0\noom 0\noom_kill 2\n", v2 + "a/memory.events.local": "max 9\noom 2\noom_kill 0\n"},
			killed: true, by: FullCgroup{Path: "/sys/fs/cgroup/a", Limit: 100 * mb, Times: 2},
		},
		{
			name: "version 2, no count of the group's own",
			before: map[string]string{"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2Mount,
				v2 + "a/memory.max": "104857600\n", v2 + "a/memory.events": "oom 0\noom_kill 0\n"},
			after:  map[string]string{v2 + "a/memory.events": "oom 1\noom_kill 1\n"},
			killed: true, by: FullCgroup{Path: "/sys/fs/cgroup/a", Limit: 100 * mb, Times: 1},
		},
		{
			name: "version 2, the machine, though there is a limit",
			before: map[string]string{"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2Mount,
				v2 + "a/memory.max": "104857600\n", v2 + "a/memory.events": "oom_kill 0\n", v2 + "a/memory.events.local": "oom 0\n"},
			after:  map[string]string{v2 + "a/memory.events": "oom_kill 1\n"},
			killed: true,
		},
		{
			name: "another process's group",
			before: map[string]string{"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2Mount, "proc/vmstat": "oom_kill 3\n",
				v2 + "a/memory.max": "104857600\n", v2 + "a/memory.events": "oom_kill 0\n", v2 + "a/memory.events.local": "oom 0\n"},
			after: map[string]string{"proc/vmstat": "oom_kill 4\n"},
		},
		{
			name: "version 1, beside version 2",
			before: map[string]string{"proc/self/cgroup": "4:memory:/a\n0::/a\n", "proc/self/mountinfo": hybrid,
				v1 + "a/memory.limit_in_bytes": "104857600\n", v1 + "a/memory.failcnt": "7\n", v1 + "a/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n"},
			after:  map[string]string{v1 + "a/memory.failcnt": "8\n", v1 + "a/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"},
			killed: true, by: FullCgroup{Path: "/sys/fs/cgroup/memory/a", Limit: 100 * mb, Times: 8},
		},
		{
			name:   "no groups",
			before: map[string]string{"proc/vmstat": "pgfree 1\noom_kill 3\n"},
			after:  map[string]string{"proc/vmstat": "pgfree 2\noom_kill 4\n"},
			killed: true,
		},
		{name: "an old kernel", before: map[string]string{"proc/vmstat": "pgfree 1\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, err := tree(t, c.before).OOM()
			if err != nil {
				t.Fatal(err)
			}
			if killed, _ := before.Since(before); killed {
				t.Error("nothing has happened, and it counts as a kill")
			}
			for name, content := range c.after {
				c.before[name] = content
			}
			after, err := tree(t, c.before).OOM()
			if err != nil {
				t.Fatal(err)
			}
			killed, by := after.Since(before)
			if d := cmp.Diff(c.by, by); killed != c.killed || d != "" {
				t.Errorf("killed %v, want %v, by (-want +got)\n%s", killed, c.killed, d)
			}
		})
	}
}
