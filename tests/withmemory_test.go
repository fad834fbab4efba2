package tests

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// withMemory is a program for scripts: it runs a command in a control group with a limit of memory,
// of version 2 or 1, and removes the group afterwards.
//
//	withmemory 400M ramaria up
func withMemory() {
	if len(os.Args) < 3 {
		fail("usage: withmemory LIMIT COMMAND...")
	}
	dir, err := makeGroup(os.Args[1])
	if err != nil {
		fail("withmemory: %v", err)
	}
	// #nosec G204 -- this program again
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{"withmemory-inner", dir}, os.Args[2:]...)}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // the signal comes when the thread ends
	err = cmd.Run()
	if rerr := removeGroup(dir); rerr != nil {
		fail("withmemory: %v", rerr)
	}
	if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() > 0 {
		os.Exit(exit.ExitCode())
	} else if err != nil {
		fail("withmemory: %v", err)
	}
}

// withMemoryInner is withMemory inside the group.
func withMemoryInner() {
	if err := os.WriteFile(filepath.Join(os.Args[1], "cgroup.procs"), []byte("0"), 0); err != nil {
		fail("withmemory: %v", err)
	}
	path, err := exec.LookPath(os.Args[2])
	if err == nil {
		err = unix.Exec(path, os.Args[2:], os.Environ()) // #nosec G204 -- the script's own command
	}
	fail("withmemory: %v", err)
}

// makeGroup makes a control group at the top of the hierarchy that counts memory.
func makeGroup(limit string) (dir string, err error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		left, right, _ := strings.Cut(s.Text(), " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if len(l) < 5 || len(r) < 3 {
			continue
		}
		var file string
		switch controllers, _ := os.ReadFile(filepath.Join(l[4], "cgroup.subtree_control")); {
		case r[0] == "cgroup2" && slices.Contains(strings.Fields(string(controllers)), "memory"):
			file = "memory.max"
		case r[0] == "cgroup" && slices.Contains(strings.Split(r[2], ","), "memory"):
			file = "memory.limit_in_bytes"
		default:
			continue
		}
		dir = filepath.Join(l[4], fmt.Sprintf("ramaria-test-%d", os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(limit), 0); err != nil {
			return "", errors.Join(err, os.Remove(dir))
		}
		return dir, nil
	}
	return "", errors.New("no control group counts memory here")
}

// removeGroup removes a control group once its last process has ended.
func removeGroup(dir string) (err error) {
	for range 100 {
		if err = syscall.Rmdir(dir); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("remove control group %s: %w", dir, err)
}

// canLimitMemory tells whether withmemory works here.
var canLimitMemory = sync.OnceValue(func() bool {
	return exec.Command("withmemory", "64M", "true").Run() == nil
})
