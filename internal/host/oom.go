package host

import (
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// OOM counts what the kernel did for want of memory.
type OOM struct {
	// Kills is how many processes it killed in this process's control group, or on the machine where
	// groups do not count; -1 if that is not known.
	Kills int64
	// Full says of each control group with a limit, this process's and its parents', how often that
	// was reached.
	Full []FullCgroup
}

// FullCgroup is how often a control group reached its limit.
type FullCgroup struct {
	Path  string
	Limit int64
	Times int64
}

// OOM reads the counts.
//
// In version 2 memory.events counts what happened in a group and below it, and memory.events.local
// how often its own limit was reached; in version 1 memory.oom_control counts the processes of the
// group itself, and memory.failcnt the allocations that the limit stood in the way of, most of
// which the kernel then found room for.
func (h Host) OOM() (OOM, error) {
	o := OOM{Kills: -1}
	err := h.eachCgroup(func(kind hierarchy, dir string, own bool) error {
		if own { // on hybrid machines only one of the two has the file
			o.Kills = max(o.Kills, h.readLine(path.Join(dir, kind.events), "oom_kill"))
		}
		c, err := h.readGroup(kind, dir)
		if err != nil || c.Limit == 0 {
			return err
		}
		times := h.readLine(path.Join(dir, kind.full), kind.fullLine)
		if times < 0 { // before Linux 5.2 version 2 has no count of the group's own
			times = h.readLine(path.Join(dir, kind.events), kind.fullLine)
		}
		o.Full = append(o.Full, FullCgroup{Path: c.Path, Limit: c.Limit, Times: times})
		return nil
	})
	if err != nil {
		return OOM{}, err
	}
	if o.Kills < 0 {
		o.Kills = h.readLine("/proc/vmstat", "oom_kill")
	}
	return o, nil
}

// Since tells what happened since an earlier count: whether the kernel killed a process for want of
// memory, and which control group had reached its limit: none if it was the machine.
func (o OOM) Since(before OOM) (killed bool, by FullCgroup) {
	if o.Kills < 0 || before.Kills < 0 || o.Kills <= before.Kills {
		return false, FullCgroup{}
	}
	for i, g := range o.Full { // from the group itself up
		if i < len(before.Full) && before.Full[i].Path == g.Path && g.Times > before.Full[i].Times {
			return true, g
		}
	}
	return true, FullCgroup{}
}

// readLine reads the number of a line of a file, or the one number that the file is for the name "";
// -1 if it is not there.
func (h Host) readLine(file, name string) int64 {
	b, err := sys.ReadFile(h.path(file))
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		value := ""
		switch {
		case len(f) == 1 && name == "":
			value = f[0]
		case len(f) > 1 && f[0] == name: // a unit may follow
			value = f[1]
		}
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return n
		}
	}
	return -1
}

// eachCgroup calls each for the control groups that count this process's memory: its own first, then
// its parents as far as they can be seen.
func (h Host) eachCgroup(each func(kind hierarchy, dir string, own bool) error) error {
	b, err := sys.ReadFile(h.path("/proc/self/cgroup"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	mounts, err := h.mountsFor(string(b))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		kind, mount, group := mounts.of(line)
		if mount == nil {
			continue
		}
		for rel, own := mount.below(group), true; ; rel, own = path.Dir(rel), false {
			if err := each(kind, path.Join(mount.point, rel), own); err != nil {
				return err
			}
			if rel == "/" {
				break
			}
		}
	}
	return nil
}
