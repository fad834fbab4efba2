package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestExcuse: what a first attempt left is not blamed later; what it left after that is. A process below is
// ended, one elsewhere is not.
func TestExcuse(t *testing.T) {
	below, elsewhere := t.TempDir(), t.TempDir()
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	l := Looker{Below: []string{below}, UID: uint32(os.Geteuid())}
	if err := run(snapshot, "", []string{below}, settlePoll); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(below, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sleeper := func(argv0, dir string) *exec.Cmd {
		cmd := exec.Command("/bin/sh", "-c", "sleep 600 & wait")
		cmd.Args[0], cmd.Dir = argv0, dir
		t.Cleanup(start(t, cmd))
		return cmd
	}
	inside, outside := sleeper("sh", below), sleeper("ramaria", elsewhere)
	if err := runExcuse(snapshot, []string{below}, settlePoll); err != nil {
		t.Fatal(err)
	}
	if err := inside.Wait(); err == nil || inside.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the process below ended by itself: %v", err)
	}
	if err := outside.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process elsewhere: %v", err)
	}
	before, err := load(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if reported(t, l, before, File, kept, 0) || reported(t, l, before, Process, "ramaria -c sleep", 0) && os.Geteuid() != 0 {
		t.Error("what the first attempt left is blamed")
	}
	for _, thing := range before {
		if thing.Kind == Process && strings.HasPrefix(thing.Key, "0 ") {
			t.Errorf("%s has no number", thing)
		}
	}
	later := filepath.Join(below, "later")
	if err := os.WriteFile(later, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !reported(t, l, before, File, later, 0) {
		t.Error("what was left after the first attempt is not seen")
	}
}

// TestExcuseUnmounts: a mount below would be in the way, and one elsewhere is left alone.
func TestExcuseUnmounts(t *testing.T) {
	needRoot(t, "mount")
	below, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "ramaria-leftover-test")
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := run(snapshot, "", []string{below}, settlePoll); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{below, elsewhere} {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
			skipUnpermitted(t, "mount tmpfs", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, 0) }) // it may be gone
	}
	if err := runExcuse(snapshot, []string{below}, settlePoll); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Unmount(below, 0); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("the mount below is there still: %v", err)
	}
	if err := syscall.Unmount(elsewhere, 0); err != nil {
		t.Errorf("the mount elsewhere: %v", err)
	}
}
