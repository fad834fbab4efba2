package host

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// Memory is how much there is, in bytes, and what of it this process may use.
type Memory struct {
	// Total and Available are MemTotal and MemAvailable of /proc/meminfo.
	Total, Available int64
	// Cgroup is the tightest control group of this process.
	Cgroup Cgroup
}

// Room returns the bytes that can still be put in RAM: the lesser of what the
// machine has available and what the control group leaves. byCgroup says that it
// is the control group that binds.
func (m Memory) Room() (free int64, byCgroup bool) {
	if m.Cgroup.Limit > 0 && m.Cgroup.Free() < m.Available {
		return m.Cgroup.Free(), true
	}
	return m.Available, false
}

// Memory reads the memory of the machine and of this process's control groups,
// version 1, version 2 or both. A machine without control groups has no limit.
func (h Host) Memory() (Memory, error) {
	m, err := h.meminfo()
	if err != nil {
		return Memory{}, fmt.Errorf("read memory: %w", err)
	}
	if m.Cgroup, err = h.cgroupMemory(); err != nil {
		return Memory{}, fmt.Errorf("read memory limit: %w", err)
	}
	return m, nil
}

func (h Host) meminfo() (Memory, error) {
	path := h.path("/proc/meminfo")
	b, err := sys.ReadFile(path)
	if err != nil {
		return Memory{}, err
	}
	var m Memory
	for _, f := range []struct {
		name string
		to   *int64
	}{{"MemTotal:", &m.Total}, {"MemAvailable:", &m.Available}} {
		_, rest, ok := bytes.Cut(b, []byte(f.name))
		if !ok {
			return Memory{}, fmt.Errorf("parse %s: it has no line %s", path, f.name)
		}
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(string(line), "kB")), 10, 64)
		if err != nil {
			return Memory{}, fmt.Errorf("parse %s: %s %w", path, f.name, err)
		}
		*f.to = kb << 10
	}
	return m, nil
}
