package sys

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"unsafe"

	"golang.org/x/sys/unix"
)

// LeastLandlock is the first version of Landlock's interface (Linux 5.19) that is used: in the one
// before a confined process can move no file into another directory, which RENAME TABLE does.
const LeastLandlock = 2

// Ruleset is all that a confined process may reach; see landlock(7). A path that does not exist is
// left out. A rule holds for the directory that is there now: one that comes to lie in its place
// later is out of reach.
type Ruleset struct {
	// ReadWrite are directories, with all below them, and files.
	ReadWrite []string
	// ReadOnly are directories and files that may be read, and programs there run.
	ReadOnly []string
	// Ports are the TCP ports to listen on; nil is any. Connections to others are not restricted.
	Ports []int
}

const (
	fileRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	fileWrite = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	dirRead   = fileRead | unix.LANDLOCK_ACCESS_FS_READ_DIR
	dirWrite  = fileWrite | unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK
)

// resolveUnix is LANDLOCK_ACCESS_FS_RESOLVE_UNIX of linux/landlock.h (Linux 7.1): to connect to sockets
// that have a path.
const resolveUnix = 1 << 16

// landlockRights is what is restricted, by the version since which the kernel can.
var landlockRights = []struct {
	since           int
	fs, net, scoped uint64
}{
	{since: 1, fs: dirRead | dirWrite&^(unix.LANDLOCK_ACCESS_FS_REFER|unix.LANDLOCK_ACCESS_FS_TRUNCATE) |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM},
	{since: 2, fs: unix.LANDLOCK_ACCESS_FS_REFER},
	{since: 3, fs: unix.LANDLOCK_ACCESS_FS_TRUNCATE},
	{since: 4, net: unix.LANDLOCK_ACCESS_NET_BIND_TCP},
	{since: 5, fs: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
	{since: 6, scoped: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL},
	// resolveUnix: no rule grants it, but sockets of the confined processes themselves are exempt.
	{since: 9, fs: resolveUnix},
}

// Landlock returns the version of the kernel's Landlock, 0 where it has none or it is switched off.
func Landlock() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// RestrictSelf confines the calling thread, and all processes that it starts, to the ruleset. From
// LeastLandlock on every path is restricted; later versions add the ports (4), signals to
// processes outside and abstract sockets of theirs (6), and other sockets of theirs (9).
//
// It cannot be undone, so the thread must be locked to its goroutine and never unlocked. Go makes no
// thread from a locked one. It sets no_new_privs, as FilterCalls does.
func RestrictSelf(r Ruleset) error {
	abi := Landlock()
	if abi < LeastLandlock {
		return fmt.Errorf("confine process: %w", errors.ErrUnsupported)
	}
	var attr unix.LandlockRulesetAttr
	for _, rights := range landlockRights {
		if rights.since <= abi {
			attr.Handled_access_fs |= rights.fs
			attr.Handled_access_net |= rights.net
			attr.Scoped |= rights.scoped
		}
	}
	if r.Ports == nil {
		attr.Handled_access_net = 0
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("confine process: make ruleset: %w", errno)
	}
	ruleset := int(fd)
	defer unix.Close(ruleset)
	for _, path := range r.ReadWrite {
		if err := allowPath(ruleset, path, attr.Handled_access_fs, fileWrite, dirWrite); err != nil {
			return err
		}
	}
	for _, path := range r.ReadOnly {
		if err := allowPath(ruleset, path, attr.Handled_access_fs, fileRead, dirRead); err != nil {
			return err
		}
	}
	if attr.Handled_access_net != 0 {
		for _, port := range r.Ports {
			if err := allowPort(ruleset, port); err != nil {
				return err
			}
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("confine process: set no_new_privs: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("confine process: %w", errno)
	}
	return nil
}

// allowPath adds the rule for a path: one set of rights for a file, another for a directory.
func allowPath(ruleset int, path string, handled, file, dir uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, fs.ErrPermission) {
		return nil // what we cannot reach the process we start cannot either
	}
	if err != nil {
		return fmt.Errorf("confine process: open %s: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("confine process: look at %s: %w", path, err)
	}
	rights := file
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		rights = dir
	}
	// struct landlock_path_beneath_attr is packed; what Go adds behind it is not read.
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights & handled, Parent_fd: int32(fd)}
	return addRule(ruleset, unix.LANDLOCK_RULE_PATH_BENEATH, unsafe.Pointer(&rule), path)
}

// landlockNetPort is struct landlock_net_port_attr of linux/landlock.h.
type landlockNetPort struct{ access, port uint64 }

func allowPort(ruleset, port int) error {
	if port < 0 || port > math.MaxUint16 {
		return fmt.Errorf("confine process: port %d: %w", port, unix.EINVAL)
	}
	rule := landlockNetPort{access: unix.LANDLOCK_ACCESS_NET_BIND_TCP, port: uint64(port)}
	const byPort = 2 // LANDLOCK_RULE_NET_PORT
	return addRule(ruleset, byPort, unsafe.Pointer(&rule), fmt.Sprintf("port %d", port))
}

func addRule(ruleset int, kind uintptr, rule unsafe.Pointer, what string) error {
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), kind, uintptr(rule), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("confine process: allow %s: %w", what, errno)
	}
	return nil
}
