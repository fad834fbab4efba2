package sys

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// HasOpen reports whether the process pid has the file at path open. The number of a
// process means another one, or none, in another PID namespace, such as a container's,
// while a file that both can see is the same. Where it may not be looked, as at another user's process, it is false:
// who acts on such a number must know.
func HasOpen(pid int, path string) bool {
	var want unix.Stat_t
	if unix.Stat(path, &want) != nil {
		return false
	}
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	open, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, fd := range open {
		var st unix.Stat_t
		if unix.Stat(filepath.Join(dir, fd.Name()), &st) == nil && st.Dev == want.Dev && st.Ino == want.Ino {
			return true
		}
	}
	return false
}
