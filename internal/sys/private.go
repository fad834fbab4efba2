package sys

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// AttachPrivately is Attach for the calling thread and the processes that it starts from then on:
// no other process sees the file system there, and it is gone with the last of them, however that ends.
// The caller's goroutine must be locked to its thread, and never unlocked (mount_namespaces(7)).
//
// The thread has mounts of its own then, and keeps alive what others unmount, unless the machine
// shares its mounts, as systemd has it. Those that hide reports true of, by their place, are taken
// out of its sight, so that it does not keep them.
func (m *Mount) AttachPrivately(dir string, hide func(place string) bool) error {
	failed := func(err error) error { return fmt.Errorf("mount privately at %s: %w", dir, err) }
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return failed(err)
	}
	// An unmount elsewhere takes effect here too; a mount here shows nowhere else.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return failed(err)
	}
	places, err := mountPoints("/proc/thread-self/mountinfo")
	if err != nil {
		return failed(err)
	}
	for _, place := range slices.Backward(places) { // what lies on another mount comes behind it
		if !hide(place) {
			continue
		}
		if err := Unmount(place, true); err != nil {
			return failed(err)
		}
	}
	return m.Attach(dir)
}

// UnescapePath turns the escapes of proc_pid_mountinfo(5) into what they stand for.
func UnescapePath(path string) string { return unescape.Replace(path) }

var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// mountPoints lists where file systems are mounted, in the order in which that was done.
func mountPoints(list string) (places []string, _ error) {
	b, err := os.ReadFile(list)
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 4 {
			places = append(places, UnescapePath(f[4]))
		}
	}
	return places, nil
}
