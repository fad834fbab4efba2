package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// script writes a program.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// endedPID is the number of a process that has ended.
func endedPID(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestRemoveLeftovers removes what a killed process left, and nothing else.
func TestRemoveLeftovers(t *testing.T) {
	parent, root, said := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "said")
	pid := endedPID(t)
	dead := fmt.Sprintf(labText, pid)
	write(t, filepath.Join(parent, "bench-1.lock"), dead)
	write(t, filepath.Join(parent, "bench-1", "home", "file"), "")
	write(t, filepath.Join(parent, "bench-2.lock"), "")
	write(t, filepath.Join(parent, "bench-3.lock"), "something else")
	write(t, filepath.Join(parent, "bench-3", "home", "file"), "")
	write(t, filepath.Join(parent, "bench-4", "home", "file"), "")
	write(t, filepath.Join(parent, "bench-5x.lock"), dead)
	write(t, filepath.Join(parent, "bench-6.lock"), dead)
	if err := os.Symlink(parent, filepath.Join(parent, "bench-6")); err != nil {
		t.Fatal(err)
	}
	groups := filepath.Join(root, "sys/fs/cgroup")
	for _, name := range []string{fmt.Sprintf("ramaria-bench-%d-77", pid), fmt.Sprintf("ramaria-bench-%d-77", os.Getpid())} {
		if err := os.MkdirAll(filepath.Join(groups, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir, lock, err := lockedDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	exe := script(t, `echo "$@" >> `+said)
	if err := removeLeftovers(t.Context(), exe, parent, host.Host{Root: root}); err != nil {
		t.Fatal(err)
	}
	want := []string{"bench-3", "bench-3.lock", "bench-4", "bench-5x.lock", "bench-6", "bench-6.lock", filepath.Base(dir), filepath.Base(dir) + labLock}
	slices.Sort(want)
	if got := names(t, parent); !slices.Equal(got, want) {
		t.Errorf("there is %q, want %q", got, want)
	}
	if got := names(t, groups); !slices.Equal(got, []string{fmt.Sprintf("ramaria-bench-%d-77", os.Getpid())}) {
		t.Errorf("there are the control groups %q", got)
	}
	text, err := os.ReadFile(said)
	if home := filepath.Join(parent, "bench-1", "home"); err != nil || !strings.Contains(string(text), "down --all --rm --home "+home) || !strings.Contains(string(text), "volume rm --all --force --home "+home) {
		t.Errorf("it called ramaria %q, %v", text, err)
	}
	// The one that was in use is removed when it no longer is. What it began had this process's number.
	if err := errors.Join(lock.Unlock(), os.WriteFile(dir+labLock, []byte(dead), 0o600), removeLeftovers(t.Context(), exe, parent, host.Host{Root: root})); err != nil {
		t.Fatal(err)
	}
	if there(dir) || there(dir+labLock) {
		t.Error("it is still there")
	}
}

// TestLeftoversStay keeps the home of what cannot be removed, and tells.
func TestLeftoversStay(t *testing.T) {
	parent := t.TempDir()
	write(t, filepath.Join(parent, "bench-1.lock"), fmt.Sprintf(labText, endedPID(t)))
	write(t, filepath.Join(parent, "bench-1", "home", "file"), "")
	err := removeLeftovers(t.Context(), script(t, "echo cannot >&2; exit 1"), parent, host.Host{})
	if err == nil || !strings.Contains(err.Error(), "cannot") || !strings.Contains(err.Error(), "\nhint: ") {
		t.Errorf("error %v", err)
	}
	if !there(filepath.Join(parent, "bench-1", "home", "file")) || !there(filepath.Join(parent, "bench-1.lock")) {
		t.Error("it is gone")
	}
	if held, err := sys.Held(filepath.Join(parent, "bench-1.lock")); held || err != nil {
		t.Errorf("its lock is held: %t, %v", held, err)
	}
}

// TestRunIsApart runs commands in groups of their own: Ctrl-C at the terminal is for one.
func TestRunIsApart(t *testing.T) {
	l := &Lab{Exe: script(t, "exec cat /proc/self/stat"), Home: t.TempDir()}
	text, err := l.Run(t.Context(), "ls")
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if group := strconv.Itoa(syscall.Getpgrp()); len(fields) < 3 || fields[2] == group {
		t.Errorf("it is in group %s, as this process: %s", group, text)
	}
}

// TestLeftoversOfTheKernel: a device that a killed process has held back is let go, and what it swapped to
// is a file again.
func TestLeftoversOfTheKernel(t *testing.T) {
	parent := t.TempDir()
	if os.Geteuid() == 0 { // no kernel swaps to a tmpfs
		var err error
		if parent, err = os.MkdirTemp("/var/tmp", "rb-"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(parent) })
	}
	write(t, filepath.Join(parent, "bench-1.lock"), fmt.Sprintf(labText, endedPID(t)))
	dir := filepath.Join(parent, "bench-1")
	write(t, filepath.Join(dir, "slow"+heldBack), "7:77")
	if err := os.Mkdir(filepath.Join(dir, "slow"), 0o755); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	limits := []string{"blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"}
	for i, name := range limits {
		limits[i] = filepath.Join(root, "sys/fs/cgroup/blkio", name)
		write(t, limits[i], "7:77 100000000")
	}
	file := filepath.Join(dir, "tier"+swapSuffix)
	if err := errors.Join(sys.NewSwap(file, 1<<20), sys.SwapOn(file)); err != nil {
		t.Log("SKIPPED, UNTESTED: a swap file that is left: ", err)
	}
	if err := removeLeftovers(t.Context(), script(t, ""), parent, host.Host{Root: root}); err != nil {
		t.Fatal(err)
	}
	for _, path := range limits {
		if text, err := os.ReadFile(path); err != nil || string(text) != "7:77 0" {
			t.Errorf("%s has %q, %v", path, text, err)
		}
	}
	if text, err := os.ReadFile("/proc/swaps"); err != nil || strings.Contains(string(text), file) {
		t.Errorf("it is swapped to: %s, %v", text, err)
	}
	if there(dir) {
		t.Error("it is still there")
	}
}

// TestSwapEndsWithItsParent: the child that swaps to a file ends that when nothing can tell it any more.
func TestSwapEndsWithItsParent(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "rb-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "x"+swapSuffix)
	if err := errors.Join(sys.NewSwap(file, 1<<20), sys.SwapOn(file), sys.SwapOff(file)); err != nil {
		t.Skip("SKIPPED: ", err)
	}
	in, parent := io.Pipe()
	on, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- SwapChild(host.Host{}, file, os.Getpid(), in, out) }()
	if _, err := bufio.NewReader(on).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile("/proc/swaps"); err != nil || !strings.Contains(string(text), file) {
		t.Errorf("it is not swapped to: %s, %v", text, err)
	}
	if err := parent.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile("/proc/swaps"); err != nil || strings.Contains(string(text), file) {
		t.Errorf("it is swapped to: %s, %v", text, err)
	}
}

// TestRunChoosesItself: what the user's environment says of servers and instances is not for the commands of a lab.
func TestRunChoosesItself(t *testing.T) {
	for _, name := range choices {
		t.Setenv(name, "mine")
	}
	l := &Lab{Exe: script(t, "exec env"), Home: t.TempDir()}
	text, err := l.Run(t.Context(), "ls")
	if err != nil || strings.Contains(text, "=mine") {
		t.Errorf("%v: %s", err, text)
	}
}
