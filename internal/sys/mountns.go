package sys

import (
	"fmt"
	"os"
	"path/filepath"
)

// MountNamespace names the mount namespace of this process: what is mounted is another
// matter in each (mount_namespaces(7)).
func MountNamespace() (string, error) {
	name, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return "", fmt.Errorf("tell the mount namespace: %w", err)
	}
	return name, nil
}

// firstPIDNamespace is that of the machine (PROC_PID_INIT_INO, linux/proc_ns.h), from which
// alone all processes can be seen.
const firstPIDNamespace = "pid:[4026531836]"

// MountNamespaceDead reports whether no process lives in a mount namespace any more. It is
// false where that cannot be told.
func MountNamespaceDead(name string) bool {
	if here, err := os.Readlink("/proc/self/ns/pid"); err != nil || here != firstPIDNamespace || os.Geteuid() != 0 {
		return false
	}
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	for _, p := range procs {
		if c := p.Name()[0]; c < '0' || c > '9' {
			continue
		}
		ns, err := os.Readlink(filepath.Join("/proc", p.Name(), "ns/mnt"))
		if ns == name || os.IsPermission(err) {
			return false
		}
	}
	return true
}
