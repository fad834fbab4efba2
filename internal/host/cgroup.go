package host

import (
	"errors"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// Cgroup is the control group, among those that this process is in and their
// parents, which leaves the least memory.
type Cgroup struct {
	// Path is its directory, for people; empty when no limit was found.
	Path string
	// Limit is in bytes; 0 means none.
	Limit int64
	// First says that the group is of version 1.
	First bool
	// Used counts against Limit, in bytes, without the inactive file cache, which
	// the kernel drops when it must. Files in tmpfs are in Used: they cannot be dropped.
	Used int64
}

// Free is what may still be used before the kernel kills, or throttles, something.
func (c Cgroup) Free() int64 { return max(0, c.Limit-c.Used) }

// unlimited is where limits stop being limits: version 1 says "none" with the
// largest multiple of the page size.
const unlimited = math.MaxInt64 / 2

// hierarchy is where one version of control groups keeps its numbers.
type hierarchy struct {
	limits   []string // files; the least counts
	usage    string
	inactive string // line of memory.stat
	// events is the file that counts kills, and full with its line the one that counts how often the
	// limit was reached.
	events, full, fullLine string
	first                  bool // version 1
}

// Kernel: Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst. Over
// memory.high a group is not killed but slowed down until it is of no use.
var (
	cgroup1 = hierarchy{[]string{"memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_inactive_file", "memory.oom_control", "memory.failcnt", "", true}
	cgroup2 = hierarchy{[]string{"memory.max", "memory.high"}, "memory.current", "inactive_file", "memory.events", "memory.events.local", "oom", false}
)

// cgroupMemory finds the group with the least left. On hybrid machines a process
// is in groups of both versions, and only one of the two counts memory: the files
// of the other are not there.
func (h Host) cgroupMemory() (tightest Cgroup, err error) {
	err = h.eachCgroup(func(kind hierarchy, dir string, _ bool) error {
		c, err := h.readGroup(kind, dir)
		if err == nil && c.Limit > 0 && (tightest.Limit == 0 || c.Free() < tightest.Free()) {
			tightest = c
		}
		return err
	})
	return tightest, err
}

// readGroup returns a zero Cgroup for a directory without a limit, and for one
// that is not there: in a container the group's name may be one of the host's.
func (h Host) readGroup(kind hierarchy, dir string) (Cgroup, error) {
	limit := int64(unlimited)
	for _, name := range kind.limits {
		n, err := h.readNumber(path.Join(dir, name))
		if err != nil {
			return Cgroup{}, err
		}
		limit = min(limit, n)
	}
	if limit >= unlimited {
		return Cgroup{}, nil
	}
	used, err := h.readNumber(path.Join(dir, kind.usage))
	if err != nil {
		return Cgroup{}, err
	}
	if used >= unlimited { // no such file: nothing is known
		used = 0
	}
	stat, err := sys.ReadFile(h.path(path.Join(dir, "memory.stat")))
	if err != nil && !missing(err) {
		return Cgroup{}, err
	}
	for line := range strings.Lines(string(stat)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == kind.inactive {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				used -= n
			}
		}
	}
	// A limit of 0 is a limit; in Cgroup 0 means none.
	return Cgroup{Path: dir, Limit: max(1, limit), First: kind.first, Used: max(0, used)}, nil
}

// readNumber reads a file with one number; "max", too large a number and no file
// at all are unlimited.
func (h Host) readNumber(file string) (int64, error) {
	b, err := sys.ReadFile(h.path(file))
	if missing(err) {
		return unlimited, nil
	}
	if err != nil {
		return 0, err
	}
	if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil {
		return min(n, unlimited), nil
	}
	return unlimited, nil
}

// missing says that a file is not there; ENODEV is what the kernel says when the
// group was removed after the file was opened.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV)
}

// cgroupMount is a mounted hierarchy: its directory root is visible at point.
type cgroupMount struct{ root, point string }

// below returns the path of group under the mount point: in a container the mount
// may show only its own part of the tree, or the name may lie outside ("/..").
func (m cgroupMount) below(group string) string {
	group = "/" + strings.TrimPrefix(group, "/")
	if strings.HasPrefix(group, "/..") {
		return "/"
	}
	if m.root == "/" {
		return path.Clean(group)
	}
	if rest, ok := strings.CutPrefix(group, m.root); ok && (rest == "" || rest[0] == '/') {
		return path.Clean("/" + rest)
	}
	return "/"
}

type cgroupMounts struct{ v1, v2 *cgroupMount }

// mountsAge is how long what was found in mountinfo counts as new, unless the process is moved to
// another group: the file has a line for each mount of the machine, and a supervisor asks for its
// memory each second.
const mountsAge = 10 * time.Second

// knownMounts are where the hierarchies of this process were found last, for the groups that it was
// in then.
var knownMounts struct {
	sync.Mutex
	root, groups string
	mounts       cgroupMounts
	until        time.Time
}

// mountsFor is cgroupMounts for a process in groups, as /proc/self/cgroup has them.
func (h Host) mountsFor(groups string) (cgroupMounts, error) {
	k := &knownMounts
	k.Lock()
	defer k.Unlock()
	if k.root == h.Root && k.groups == groups && time.Now().Before(k.until) {
		return k.mounts, nil
	}
	found, err := h.cgroupMounts()
	if err != nil {
		return found, err
	}
	k.root, k.groups, k.mounts, k.until = h.Root, groups, found, time.Now().Add(mountsAge)
	return found, nil
}

// of returns the hierarchy that a line of /proc/self/cgroup is about, and the group in it; no mount if
// it counts no memory.
func (m cgroupMounts) of(line string) (hierarchy, *cgroupMount, string) {
	// hierarchy-ID:controllers:path
	const parts = 3
	f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", parts)
	switch {
	case len(f) != parts:
	case f[0] == "0" && f[1] == "":
		return cgroup2, m.v2, f[2]
	case slices.Contains(strings.Split(f[1], ","), "memory"):
		return cgroup1, m.v1, f[2]
	}
	return hierarchy{}, nil, ""
}

// cgroupMounts finds the memory hierarchy of version 1 and that of version 2.
// Format: proc_pid_mountinfo(5).
func (h Host) cgroupMounts() (cgroupMounts, error) {
	var found cgroupMounts
	b, err := sys.ReadFile(h.path("/proc/self/mountinfo"))
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return found, err
	}
	for line := range strings.Lines(string(b)) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 {
			continue
		}
		m := &cgroupMount{root: sys.UnescapePath(l[3]), point: sys.UnescapePath(l[4])}
		switch {
		case r[0] == "cgroup2" && found.v2 == nil:
			found.v2 = m
		case r[0] == "cgroup" && found.v1 == nil && slices.Contains(strings.Split(r[2], ","), "memory"):
			found.v1 = m
		}
	}
	return found, nil
}
