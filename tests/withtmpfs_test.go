package tests

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// withTmpfs is a program for scripts: it runs a command in a mount namespace of its
// own, where a tmpfs of a size lies over a directory. An ordinary user needs a user
// namespace for it.
//
//	withtmpfs /dev/shm 64M ramaria up
func withTmpfs() {
	if len(os.Args) < 4 {
		fail("usage: withtmpfs DIR SIZE COMMAND...")
	}
	// #nosec G204 -- this program again
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{"withtmpfs-inner"}, os.Args[1:]...)}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if uid := os.Geteuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
	runtime.LockOSThread() // the signal comes when the thread ends
	if err := cmd.Run(); err != nil {
		if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() > 0 {
			os.Exit(exit.ExitCode())
		}
		fail("withtmpfs: %v", err)
	}
}

// withTmpfsInner is withTmpfs inside the namespace.
func withTmpfsInner() {
	runtime.LockOSThread()
	dir, size, argv := os.Args[1], os.Args[2], os.Args[3:]
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		fail("make mounts private: %v", err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777,size="+size); err != nil {
		fail("mount tmpfs on %s: %v", dir, err)
	}
	// The right to mount ends here.
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		fail("drop capabilities: %v", err)
	}
	path, err := exec.LookPath(argv[0])
	if err == nil {
		err = unix.Exec(path, argv, os.Environ()) // #nosec G204 -- the script's own command
	}
	fail("withtmpfs: %v", err)
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(99)
}

// canMount tells whether withtmpfs works here.
var canMount = sync.OnceValue(func() bool {
	return exec.Command("withtmpfs", "/dev/shm", "1M", "true").Run() == nil
})
