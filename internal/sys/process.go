package sys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// exitPoll is how often WaitExit looks where the kernel has no pidfd.
const exitPoll = 2 * time.Millisecond

// Process is a handle on a process that is not a child: a signal through it can
// never reach another process that got the same number later (pidfd_open(2)).
type Process struct {
	pid int
	fd  int
}

// ErrNoProcess says that there is no such process.
var ErrNoProcess = errors.New("no such process")

// OpenProcess returns a handle on pid, or ErrNoProcess.
func OpenProcess(pid int) (*Process, error) {
	if pid <= 0 {
		return nil, ErrNoProcess
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil, ErrNoProcess
	}
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, err)
	}
	return &Process{pid: pid, fd: fd}, nil
}

// Signal sends a signal; a process that has ended is ErrNoProcess.
func (p *Process) Signal(s syscall.Signal) error {
	err := unix.PidfdSendSignal(p.fd, s, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return ErrNoProcess
	}
	if err != nil {
		return fmt.Errorf("signal process %d: %w", p.pid, err)
	}
	return nil
}

// WaitExit waits until the process has ended, or ctx.
func (p *Process) WaitExit(ctx context.Context) error {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, int(exitPoll.Milliseconds()))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for process %d: %w", p.pid, err)
		}
		if n > 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("wait for process %d: %w", p.pid, err)
		}
	}
}

// Close lets the handle go. It may be called more than once.
func (p *Process) Close() error {
	if p.fd < 0 {
		return nil
	}
	err := unix.Close(p.fd)
	p.fd = -1
	return err
}

// backgroundNice is the niceness of what may take its time.
const backgroundNice = 19

// Background has the process group of a process that was just started give way to others. What goes wrong
// with that costs speed.
func Background(pid int) { _ = unix.Setpriority(unix.PRIO_PGRP, pid, backgroundNice) }

// RunDelay is how long the thread of a process that has run most has waited for a processor since it was
// started, 0 where the kernel does not tell (CONFIG_SCHED_INFO).
func RunDelay(pid int) (delay time.Duration) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0
	}
	var most int64
	for _, path := range tasks {
		var ran, waited int64
		b, _ := os.ReadFile(path)
		if _, err := fmt.Sscan(string(b), &ran, &waited); err == nil && ran > most {
			most, delay = ran, time.Duration(waited)
		}
	}
	return delay
}

// HasArg reports whether the process pid was started with exactly this argument.
func HasArg(pid int, arg string) bool {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return false
	}
	for _, a := range bytes.Split(b, []byte{0}) {
		if string(a) == arg {
			return true
		}
	}
	return false
}

// Exiting reports whether the process pid is on its way out. What it was started with can
// no longer be seen then, but its files and ports are not free yet.
func Exiting(pid int) bool {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	// proc_pid_stat(5): the ninth field is the flags; the second may hold anything but ends
	// with the last parenthesis.
	const flags, exiting = 9, 0x4 // PF_EXITING, linux/sched.h
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < flags-2 {
		return false
	}
	n, err := strconv.ParseUint(string(fields[flags-3]), 10, 64)
	return err == nil && n&exiting != 0
}

// Foreground reports whether this process is in the foreground of a terminal,
// which then sends Ctrl-C to all of its process group.
func Foreground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	pgrp, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && pgrp == unix.Getpgrp()
}
