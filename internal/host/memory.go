package host

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
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
	b, err := os.ReadFile(path)
	if err != nil {
		return Memory{}, err
	}
	kb := map[string]int64{}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) < 2 || (f[0] != "MemTotal:" && f[0] != "MemAvailable:") {
			continue
		}
		if kb[f[0]], err = strconv.ParseInt(f[1], 10, 64); err != nil {
			return Memory{}, fmt.Errorf("parse %s: %s %w", path, f[0], err)
		}
	}
	for _, name := range []string{"MemTotal:", "MemAvailable:"} {
		if _, ok := kb[name]; !ok {
			return Memory{}, fmt.Errorf("parse %s: it has no line %s", path, name)
		}
	}
	return Memory{Total: kb["MemTotal:"] << 10, Available: kb["MemAvailable:"] << 10}, nil
}
