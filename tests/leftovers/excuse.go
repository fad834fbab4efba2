package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// runExcuse is about what a first attempt left whose failures run again. It may be what a test that
// fails keeps, or what it had no time to clear away, and no later check is to blame it on the second
// attempt. What is elsewhere than below is named and left alone.
func runExcuse(file string, below []string, patience time.Duration) error {
	l := Looker{Below: below, UID: uint32(os.Geteuid())}
	before, err := load(file)
	if err != nil {
		return err
	}
	left, err := l.Settle(before, patience, File)
	if err != nil {
		return err
	}
	for _, t := range tops(left) {
		fmt.Fprintf(os.Stderr, "left by the first attempt: %s%s\n", t, l.end(t))
	}
	for _, dir := range below { // they stay while there is something in them
		left = append(left, Thing{File, filepath.Clean(dir), ""})
	}
	return save(file, slices.Concat(before, left))
}

// end ends a process or a mount that is below, and says so.
func (l Looker) end(t Thing) string {
	first, rest, _ := strings.Cut(t.Key, " ")
	switch t.Kind {
	case Process:
		pid, err := strconv.Atoi(first)
		start, _, ok := stat(pid)
		dir := filepath.Join("/proc", first)
		args, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !ok || rest != "started at tick "+start || !l.belowProcess(dir, strings.Split(string(args), "\x00")) {
			return ""
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return fmt.Sprintf(": kill: %v", err)
		}
		return ": killed"
	case Mount:
		if !l.below(rest) {
			return ""
		}
		if err := syscall.Unmount(rest, syscall.MNT_DETACH); err != nil {
			return fmt.Sprintf(": unmount: %v", err)
		}
		return ": unmounted"
	}
	return ""
}
