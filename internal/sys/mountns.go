package sys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

// MayBeMountedIn reports whether something may be mounted on a directory in a mount namespace: it
// is false if no process lives there any more, or none of them sees it, and true where that
// cannot be told. Namespaces of which no process is left give their names to new ones, so that
// a name alone says little. The path there may begin in another way than here.
func MayBeMountedIn(name, dir string) bool {
	if here, err := os.Readlink("/proc/self/ns/pid"); err != nil || here != firstPIDNamespace || os.Geteuid() != 0 {
		return true
	}
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return true
	}
	for _, p := range procs {
		if c := p.Name()[0]; c < '0' || c > '9' {
			continue
		}
		proc := filepath.Join("/proc", p.Name())
		ns, err := os.Readlink(filepath.Join(proc, "ns/mnt"))
		if (ns == name || os.IsPermission(err)) && sees(proc, dir) {
			return true
		}
	}
	return false
}

// sees reports whether a process may see something mounted on a directory. It is false for one
// that has ended.
func sees(proc, dir string) bool {
	list, err := os.ReadFile(filepath.Join(proc, "mountinfo"))
	if err != nil {
		return !os.IsNotExist(err) && !errors.Is(err, syscall.ESRCH) && !errors.Is(err, syscall.EINVAL)
	}
	if root, err := os.Readlink(filepath.Join(proc, "root")); err == nil && root != "/" {
		return true // its list is not the whole
	}
	return isMounted(string(list), func(on string) bool { return strings.HasSuffix(on, escapedPath(inParent(dir))) })
}

// inParent is the end of a path: the name, and that of the directory in which it is.
func inParent(path string) string {
	return filepath.Join("/", filepath.Base(filepath.Dir(path)), filepath.Base(path))
}
