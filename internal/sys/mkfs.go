package sys

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// SystemProgram finds a program where the system has its own, which need not be on the PATH of everybody; "" if there
// is none.
func SystemProgram(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// MakeFS runs a program that makes a file system on a file or a block device, which it gets as its last argument. The program
// does not outlive this process. An error has the first line that it wrote.
func MakeFS(ctx context.Context, argv []string, on *os.File) error {
	argv = append(argv[:len(argv):len(argv)], "/proc/self/fd/3")
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.ExtraFiles = []*os.File{on}
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	// The parent-death signal comes when the thread that forked ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return fmt.Errorf("%w: %s", err, first)
	}
	return nil
}
