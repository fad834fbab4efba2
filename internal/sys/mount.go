package sys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Mount is a file system that is mounted and has no place yet: only this process can
// reach it, and it vanishes with the process unless Attach gives it a place. What it
// is made on vanishes with it. So its maker may be killed at any moment and
// leaves nothing (fsmount(2), Linux 5.2).
type Mount struct{ fd int }

// dataOnly is how file systems are mounted.
const dataOnly = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC | unix.MOUNT_ATTR_NOATIME

// NewMount makes a file system of a kind. Options are as in mount(8), "name" or
// "name=value"; those after "?" are left out where the kernel does not know them.
// It serves data and nothing else: no program, no device and no access time; and no link in it
// is followed (Linux 5.14), so that what is written to it leads nowhere else.
func NewMount(kind string, options ...string) (*Mount, error) {
	return newMount(kind, dataOnly|unix.MOUNT_ATTR_NOSYMFOLLOW, options)
}

// NewOpenMount is NewMount of a file system whose programs can be executed, and whose links are followed.
func NewOpenMount(kind string, options ...string) (*Mount, error) {
	return newMount(kind, dataOnly&^unix.MOUNT_ATTR_NOEXEC, options)
}

func newMount(kind string, attributes int, options []string) (*Mount, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("mount %s: %w", kind, err)
	}
	defer unix.Close(fs)
	for _, o := range options {
		name, may := strings.CutPrefix(o, "?")
		if err := setOption(fs, name); err != nil && (!may || !errors.Is(err, unix.EINVAL)) {
			return nil, fmt.Errorf("mount %s: option %s: %w%s", kind, name, err, kernelSays(fs))
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, fmt.Errorf("mount %s: %w%s", kind, err, kernelSays(fs))
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attributes)
	if errors.Is(err, unix.EINVAL) { // Linux before 5.14 does not know that of links
		fd, err = unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attributes&^unix.MOUNT_ATTR_NOSYMFOLLOW)
	}
	if err != nil {
		return nil, fmt.Errorf("mount %s: %w", kind, err)
	}
	return &Mount{fd}, nil
}

// CheckMount returns an error if this process cannot mount file systems of a kind, or
// the kernel does not have it. It mounts nothing.
func CheckMount(kind string) error {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return fmt.Errorf("mount %s: %w", kind, err)
	}
	return unix.Close(fs)
}

// InUserNamespace reports whether this process is in a user namespace other than the
// machine's own, where file systems on devices cannot be mounted; see
// user_namespaces(7) for the map.
func InUserNamespace() bool {
	b, err := os.ReadFile("/proc/self/uid_map")
	f := strings.Fields(string(b))
	return err == nil && (len(f) != 3 || f[0] != "0" || f[1] != "0" || f[2] != "4294967295")
}

func setOption(fs int, option string) error {
	name, value, ok := strings.Cut(option, "=")
	if !ok {
		return unix.FsconfigSetFlag(fs, name)
	}
	return unix.FsconfigSetString(fs, name, value)
}

// kernelSays reads what the kernel has to say about a mount that failed.
func kernelSays(fs int) string {
	var b [256]byte
	n, err := unix.Read(fs, b[:])
	if err != nil || n < 2 {
		return ""
	}
	return ": " + strings.TrimSpace(string(b[2:n])) // after a letter for its importance
}

// Path is where this process, and only this one, finds the file system's top
// directory until it is attached.
func (m *Mount) Path() string { return filepath.Join("/proc/self/fd", strconv.Itoa(m.fd)) }

// Attach gives the file system its place, the directory at path.
func (m *Mount) Attach(path string) error {
	if err := unix.MoveMount(m.fd, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount at %s: %w", path, err)
	}
	return nil
}

// Close lets the file system go; one without a place is gone then. It may be called
// more than once.
func (m *Mount) Close() error {
	if m.fd < 0 {
		return nil
	}
	err := unix.Close(m.fd)
	m.fd = -1
	return err
}

// Mounted reports whether a file system is mounted on the directory at path itself.
// A path that does not exist is not.
func Mounted(path string) (bool, error) {
	var stx unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, 0, &stx)
	switch {
	case errors.Is(err, unix.ENOENT):
		return false, nil
	case errors.Is(err, unix.EIO), errors.Is(err, unix.EUCLEAN):
		return mountedByList(path) // it has failed, and must be known in order to be taken away
	case err != nil:
		return false, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if stx.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT == 0 { // Linux before 5.8
		return mountedByList(path)
	}
	return stx.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0, nil
}

// mountedByList is Mounted by the list of mounts, which asks no file system.
func mountedByList(path string) (bool, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false, fmt.Errorf("list mounts: %w", err)
	}
	return isMounted(string(b), func(on string) bool { return on == escapedPath(path) }), nil
}

// isMounted looks for a directory in a list of mounts: the fifth field of
// proc_pid_mountinfo(5), with its escapes.
func isMounted(list string, is func(on string) bool) bool {
	for line := range strings.Lines(list) {
		if f := strings.Fields(line); len(f) > 4 && is(f[4]) {
			return true
		}
	}
	return false
}

// MountsBelow are the places below a directory at which this process sees something mounted.
func MountsBelow(dir string) (places []string) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	_ = isMounted(string(b), func(on string) bool {
		if strings.HasPrefix(on, escapedPath(dir)+"/") {
			places = append(places, UnescapePath(on))
		}
		return false
	})
	return places
}

func escapedPath(path string) string {
	return strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`).Replace(path)
}

// Unmount takes the file system at path away. One that is in use is unix.EBUSY,
// unless lazy: then it disappears from the path at once, and for good with the last
// user. Nothing mounted there is no error.
func Unmount(path string, lazy bool) error {
	flags := unix.UMOUNT_NOFOLLOW
	if lazy {
		flags |= unix.MNT_DETACH
	}
	err := unix.Unmount(path, flags)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmount %s: %w", path, err)
	}
	return nil
}

// ResizeTmpfs changes the limit of the tmpfs at path, in bytes. Its other options
// stay (fspick(2)).
func ResizeTmpfs(path string, size int64) error {
	fs, err := unix.Fspick(unix.AT_FDCWD, path, unix.FSPICK_CLOEXEC)
	if err != nil {
		return fmt.Errorf("resize tmpfs %s: %w", path, err)
	}
	defer unix.Close(fs)
	err = setOption(fs, "size="+strconv.FormatInt(size, 10))
	if err == nil {
		err = unix.FsconfigReconfigure(fs)
	}
	if err != nil {
		return fmt.Errorf("resize tmpfs %s: %w%s", path, err, kernelSays(fs))
	}
	return nil
}
