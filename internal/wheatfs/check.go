package wheatfs

import (
	"errors"
	"fmt"
	"os"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// ErrUnfit says that this machine, or this account, cannot have such a file system.
var ErrUnfit = errors.New("wheatfs cannot be had here")

// Check returns ErrUnfit, with the reason and what to do, where no such file system can be had.
func Check() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: mounting needs root\nhint: root can mount one for you: `ramaria wheatfs mount DIR --ram 4G --owner %d`; a directory on a disk does as well while memory is free", ErrUnfit, os.Geteuid())
	}
	if size := os.Getpagesize(); size != BlockSize {
		return fmt.Errorf("%w: this machine has pages of %d bytes, and wheatfs works with %d\nhint: --tmpdir of a directory on a disk", ErrUnfit, size, BlockSize)
	}
	if sys.InUserNamespace() {
		return fmt.Errorf("%w: in a user namespace (a rootless container) no device can be mounted\nhint: mount one outside, and pass the directory in", ErrUnfit)
	}
	for _, kind := range []string{"fuse", "ext4"} {
		if err := sys.CheckMount(kind); err != nil {
			return fmt.Errorf("%w: %w\nhint: it needs CAP_SYS_ADMIN, and a kernel with FUSE and ext4; a container has both with --privileged", ErrUnfit, err)
		}
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		return fmt.Errorf("%w: %w\nhint: modprobe fuse; a container gets it with --device /dev/fuse", ErrUnfit, err)
	}
	if err := sys.CheckLoop(); err != nil {
		return fmt.Errorf("%w: %w\nhint: modprobe loop; a container gets loop devices with --privileged", ErrUnfit, err)
	}
	m, err := host.Host{}.Memory()
	if err != nil {
		return err
	}
	if err := waitsForItself(m.Cgroup, sys.MayFlush()); err != nil {
		return err
	}
	_, err = mkfs()
	return err
}

// waitsForItself returns ErrUnfit where the kernel has the daemon, when it wants memory, wait for dirty pages that only the
// daemon can write: and if that is in the midst of a write to its disk, everything else there waits too. Control groups of
// version 2 do not do that, nor does the machine as a whole.
func waitsForItself(g host.Cgroup, mayFlush bool) error {
	if g.Limit == 0 || !g.First || mayFlush {
		return nil
	}
	return fmt.Errorf("%w: control group %s, of version 1, limits the memory, and the kernel could wait for itself\nhint: mount one outside of the group, or with CAP_SYS_RESOURCE", ErrUnfit, g.Path)
}

// mkfs finds mkfs.ext4.
func mkfs() (string, error) {
	if path := sys.SystemProgram("mkfs.ext4"); path != "" {
		return path, nil
	}
	return "", fmt.Errorf("%w: there is no mkfs.ext4\nhint: install e2fsprogs", ErrUnfit)
}
