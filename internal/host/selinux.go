package host

import (
	"path/filepath"
	"strings"
	"syscall"
)

// maxLabel is the room for a SELinux label; real ones have 40 to 60 bytes.
const maxLabel = 1024

// SELinuxEnforcing reports whether the kernel enforces a SELinux policy.
func (h Host) SELinuxEnforcing() bool { return h.line("/sys/fs/selinux/enforce") == "1" }

// SELinuxType returns the type of the label of the file at path ("mysqld_exec_t"),
// or "" if it has none.
func (h Host) SELinuxType(path string) string {
	label := make([]byte, maxLabel)
	n, err := syscall.Getxattr(h.path(path), "security.selinux", label)
	if err != nil {
		return ""
	}
	parts := strings.Split(strings.TrimRight(string(label[:n]), "\x00"), ":")
	if len(parts) < 3 {
		return ""
	}
	return parts[2]
}

// SELinuxContexts is the file that has the labels of paths in the policy of this machine; selinux_config(5).
func (h Host) SELinuxContexts() string {
	const dir = "/etc/selinux"
	policy := "targeted"
	for line := range strings.Lines(h.text(dir + "/config")) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "SELINUXTYPE="); ok {
			policy = strings.TrimSpace(value)
		}
	}
	return h.path(filepath.Join(dir, policy, "contexts/files/file_contexts"))
}
