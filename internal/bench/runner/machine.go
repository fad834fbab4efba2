package runner

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ramaria-db/ramaria/internal/host"
)

// unknown stands for a fact that this machine does not tell.
const unknown = "unknown"

// Machine is what a reader must know of the machine to judge a figure.
type Machine struct {
	CPU         string      `json:"cpu"`
	Cores       int         `json:"cores"` // that this process may use
	MemoryBytes int64       `json:"memory_bytes"`
	Kernel      string      `json:"kernel"`
	System      string      `json:"system"`
	Directories []Directory `json:"places"` // the word of SchemaVersion 1
}

// Directory is a directory that a scenario uses and the file system that it lies on.
type Directory struct {
	Name       string `json:"name"`
	Path       string `json:"path"`
	Filesystem string `json:"filesystem"` // type and source: "ext4 on /dev/vda"
	// FsyncP50 and FsyncP99 are those of MeasureFsync, in seconds; 0 if not measured.
	FsyncP50 float64 `json:"fsync_p50_s,omitempty"`
	FsyncP99 float64 `json:"fsync_p99_s,omitempty"`
}

// ReadMachine collects the facts. What cannot be read is "unknown" or 0: a missing
// fact is no reason to measure nothing.
func ReadMachine(h host.Host, directories ...Directory) Machine {
	m := Machine{
		CPU:    cpuModel(rooted(h, "/proc/cpuinfo")),
		Cores:  runtime.NumCPU(),
		Kernel: firstLine(rooted(h, "/proc/sys/kernel/osrelease")),
		System: h.OSRelease().Pretty,
	}
	if m.System == "" {
		m.System = unknown
	}
	if mem, err := h.Memory(); err == nil {
		m.MemoryBytes = mem.Total
	}
	for _, p := range directories {
		p.Filesystem = Filesystem(h, p.Path)
		m.Directories = append(m.Directories, p)
	}
	return m
}

// Write writes the facts as the header of a report.
func (m Machine) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "machine: %s, %d cores, %s of memory, Linux %s, %s\n",
		m.CPU, m.Cores, Bytes.Format(float64(m.MemoryBytes)), m.Kernel, m.System)
	for _, p := range m.Directories {
		fmt.Fprintf(&b, "%s: %s, %s", p.Name, p.Path, p.Filesystem)
		if p.FsyncP50 > 0 {
			fmt.Fprintf(&b, ", fsync p50 %s, p99 %s", Seconds.Format(p.FsyncP50), Seconds.Format(p.FsyncP99))
		}
		b.WriteString("\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write machine facts: %w", err)
	}
	return nil
}

func rooted(h host.Host, path string) string { return filepath.Join(h.Root, path) }

func firstLine(path string) string {
	b, err := os.ReadFile(path)
	line, _, _ := strings.Cut(string(b), "\n")
	if err != nil || line == "" {
		return unknown
	}
	return line
}

// cpuModel returns the first "model name"; ARM kernels have none.
func cpuModel(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return unknown
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		key, value, _ := strings.Cut(s.Text(), ":")
		if strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return unknown
}

// Filesystem says what path lies on: "ext4 on /dev/vda", or "unknown".
func Filesystem(h host.Host, path string) string {
	m := mountOf(rooted(h, "/proc/self/mountinfo"), path)
	if m.kind == "" {
		return unknown
	}
	return m.kind + " on " + m.source
}

// mount is a mounted file system.
type mount struct{ number, kind, source string } // "254:0", "ext4", "/dev/vda"

// mountOf finds the mount that path lies on: the last one in proc_pid_mountinfo(5) among
// those with the longest mount point, since later mounts cover earlier ones.
func mountOf(mountinfo, path string) (found mount) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	f, err := os.Open(mountinfo)
	if err != nil {
		return mount{}
	}
	defer f.Close()
	best := ""
	for s := bufio.NewScanner(f); s.Scan(); {
		before, after, ok := strings.Cut(s.Text(), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 2 {
			continue
		}
		point := strings.ReplaceAll(left[4], `\040`, " ")
		if len(point) >= len(best) && covers(point, path) {
			best, found = point, mount{left[2], right[0], right[1]}
		}
	}
	return found
}

func covers(point, path string) bool {
	return point == "/" || path == point || strings.HasPrefix(path, point+"/")
}
