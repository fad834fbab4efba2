package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// processes reads /proc. A process is ours when its program, an argument (which
// covers --defaults-file=, --datadir= and a server that runs through its own
// loader) or its directory is, except this program and those that started it.
func (l Looker) processes() ([]Thing, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	line := ancestors()
	var found []Thing
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || slices.Contains(line, pid) {
			continue
		}
		start, _, ok := stat(pid)
		if !ok {
			continue // ended meanwhile, or a zombie, which holds nothing
		}
		dir := "/proc/" + e.Name()
		b, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		args := strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
		if l.oursProcess(dir, args) && !l.processOfOthers(dir) {
			found = append(found, Thing{Process, fmt.Sprintf("%d started at tick %s", pid, start), strings.Join(args, " ")})
		}
	}
	return found, nil
}

// oursProcess looks at the links only as far as they may be read: those of another
// user's process are closed, its arguments are not.
func (l Looker) oursProcess(dir string, args []string) bool {
	exe, _ := os.Readlink(filepath.Join(dir, "exe"))
	if filepath.Base(exe) == "ramaria" || filepath.Base(args[0]) == "ramaria" || l.belowProcess(dir, args) {
		return true
	}
	return slices.ContainsFunc(args, func(a string) bool {
		_, value, isOption := strings.Cut(a, "=")
		server := isOption && (strings.HasPrefix(a, "--defaults-file=") || strings.HasPrefix(a, "--datadir=") || strings.HasPrefix(a, "--socket="))
		return server && l.ours(value)
	})
}

// belowProcess reports whether the program, the directory or an argument of a process is below.
func (l Looker) belowProcess(dir string, args []string) bool {
	exe, _ := os.Readlink(filepath.Join(dir, "exe"))
	cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
	return l.below(exe) || l.below(cwd) || slices.ContainsFunc(args, l.below)
}

// below is ours without the names: a process that works in a checkout called
// ramaria, such as an editor, is no leftover.
func (l Looker) below(text string) bool {
	return slices.ContainsFunc(l.Below, func(dir string) bool {
		return strings.Contains(text+"/", filepath.Clean(dir)+"/")
	})
}

// ancestors returns this process and its parents up to the first.
func ancestors() []int {
	line := []int{}
	for pid := os.Getpid(); pid > 0 && !slices.Contains(line, pid); {
		line = append(line, pid)
		_, parent, ok := stat(pid)
		if !ok {
			break
		}
		pid = parent
	}
	return line
}

// stat reads from proc_pid_stat(5) the start time, which together with the id names
// a process for good, and the parent. A zombie is not ok.
func stat(pid int) (start string, parent int, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, false
	}
	// The second field is the name in brackets and may hold anything.
	_, rest, found := strings.Cut(string(b[strings.LastIndexByte(string(b), ')'):]), ") ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 20 || fields[0] == "Z" {
		return "", 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	return fields[19], parent, err == nil
}
