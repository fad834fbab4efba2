package host

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// SlowWrites says why writing to the disk under a directory is slow, as far as the kernel tells: it rotates, it is
// mounted so that each write waits, or the control group of this process may write so many bytes a second and no more.
// It returns "" for none of these, and where it cannot tell.
func (h Host) SlowWrites(dir string) string {
	number, err := sys.DeviceOf(dir)
	if err != nil {
		return ""
	}
	if h.mountedSync(number) {
		return "it is mounted sync"
	}
	device, err := filepath.EvalSymlinks(h.path("/sys/dev/block/" + number))
	if err != nil {
		return ""
	}
	if _, err := os.Stat(filepath.Join(device, "queue")); err != nil { // a partition
		device = filepath.Dir(device)
	}
	// Disks of virtual machines say that they rotate, whatever they lie on.
	if h.says(filepath.Join(device, "queue/rotational"), "1") && h.says(filepath.Join(device, "device/vendor"), "ATA") {
		return "it rotates"
	}
	whole, err := os.ReadFile(filepath.Join(device, "dev"))
	if err != nil {
		return ""
	}
	return h.throttled(strings.TrimSpace(string(whole)))
}

// says reports whether a file has this content.
func (h Host) says(file, text string) bool {
	b, err := os.ReadFile(file)
	return err == nil && strings.TrimSpace(string(b)) == text
}

// mountedSync looks for a device in /proc/self/mountinfo: proc_pid_mountinfo(5).
func (h Host) mountedSync(number string) bool {
	b, err := os.ReadFile(h.path("/proc/self/mountinfo"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 6 || f[2] != number {
			continue
		}
		_, rest, _ := strings.Cut(line, " - ")
		g := strings.Fields(rest)
		options := f[5]
		if len(g) > 2 {
			options += "," + g[2]
		}
		if strings.Contains(","+options+",", ",sync,") {
			return true
		}
	}
	return false
}

// throttled reads the limits of this process's control group, and of those above it, on a block device.
func (h Host) throttled(number string) string {
	b, err := os.ReadFile(h.path("/proc/self/cgroup"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		group, is := strings.CutPrefix(strings.TrimSpace(line), "0::")
		for ; is && group != "/" && group != "."; group = filepath.Dir(group) {
			text, err := os.ReadFile(h.path(filepath.Join("/sys/fs/cgroup", group, "io.max")))
			if err != nil {
				continue
			}
			for limit := range strings.Lines(string(text)) {
				f := strings.Fields(limit)
				for _, field := range f {
					if value, is := strings.CutPrefix(field, "wbps="); is && f[0] == number && value != "max" {
						return "its control group may write " + value + " bytes a second"
					}
				}
			}
		}
	}
	return ""
}
