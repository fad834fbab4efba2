package tests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// withSwap is a program for scripts: it runs a command while the machine has a swap file of so many
// MB, and takes that away afterwards, also when it is ended, or who started it.
//
//	withswap 256 sh fill.sh
func withSwap() {
	if len(os.Args) < 3 {
		fail("usage: withswap MB COMMAND...")
	}
	runtime.LockOSThread() // the signal comes when the thread of the parent ends
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0); err != nil {
		fail("withswap: %v", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	file, err := makeSwap(os.Args[1])
	if err != nil {
		fail("withswap: %v", err)
	}
	cmd := exec.CommandContext(ctx, os.Args[2], os.Args[3:]...) // #nosec G204 -- the script's own command
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	serr := swapCall(unix.SYS_SWAPOFF, file)
	for errors.Is(serr, unix.EINTR) { // a signal is no reason to leave it on
		serr = swapCall(unix.SYS_SWAPOFF, file)
	}
	stop()
	if serr != nil {
		fail("withswap: swapoff %s: %v", file, serr)
	}
	if rerr := os.Remove(file); rerr != nil {
		fail("withswap: %v", rerr)
	}
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() > 0 {
		os.Exit(exit.ExitCode())
	} else if err != nil {
		fail("withswap: %v", err)
	}
}

// makeSwap makes a swap file and turns it on. It has no holes, and lies on a disk.
func makeSwap(mb string) (file string, err error) {
	size, err := strconv.Atoi(mb)
	if err != nil {
		return "", err
	}
	mkswap, err := exec.LookPath("mkswap")
	if err != nil {
		mkswap = "/usr/sbin/mkswap"
	}
	f, err := os.CreateTemp("/var/tmp", "ramaria-test-swap-")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the first error is the one to tell
		}
	}()
	piece := make([]byte, 1<<20)
	for range size {
		if _, err := f.Write(piece); err != nil {
			return "", err
		}
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	if out, err := exec.Command(mkswap, f.Name()).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	if err := swapCall(unix.SYS_SWAPON, f.Name()); err != nil {
		return "", fmt.Errorf("swapon %s: %w", f.Name(), err)
	}
	return filepath.Clean(f.Name()), nil
}

// swapCall is swapon(2) or swapoff(2), which have no wrappers.
func swapCall(call uintptr, file string) error {
	name, err := unix.BytePtrFromString(file)
	if err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(call, uintptr(unsafe.Pointer(name)), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// canSwap tells whether withswap works here, and the kernel says what of a file is swapped out.
var canSwap = sync.OnceValue(func() bool {
	if _, _, errno := unix.Syscall(unix.SYS_CACHESTAT, ^uintptr(0), 0, 0); errno == unix.ENOSYS || errno == unix.EPERM {
		return false
	}
	return os.Geteuid() == 0 && exec.Command("withswap", "1", "true").Run() == nil
})
