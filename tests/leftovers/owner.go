package main

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// An ordinary user's tests can leave nothing that belongs to another user, and cannot mount or
// attach a device, except by FUSE. So what others do on the machine meanwhile, root first of all,
// is no leftover of theirs.

// ofOthers tells that a file with a name of ours belongs to a user whom the Looker does not
// look for. A file that is gone belongs to no one.
func (l Looker) ofOthers(e fs.DirEntry) bool {
	if l.UID == 0 {
		return false
	}
	info, err := e.Info()
	if err != nil {
		return true
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid != l.UID
}

// processOfOthers reads the effective user from proc_pid_status(5): the owner of /proc/PID is root
// for a process that changed its account.
func (l Looker) processOfOthers(dir string) bool {
	if l.UID == 0 {
		return false
	}
	f, err := os.Open(filepath.Join(dir, "status"))
	if err != nil {
		return true
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, _ := strings.Cut(lines.Text(), ":"); name == "Uid" {
			ids := strings.Fields(value)
			return len(ids) < 2 || ids[1] != strconv.FormatUint(uint64(l.UID), 10)
		}
	}
	return true
}

// mountOfOthers reads the options of a file system: those of FUSE tell who mounted it.
func (l Looker) mountOfOthers(options string) bool {
	return l.UID != 0 && !strings.Contains(","+options+",", ",user_id="+strconv.FormatUint(uint64(l.UID), 10)+",")
}
