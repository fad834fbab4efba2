package adopt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Process is a server that runs.
type Process struct {
	PID int
	// Exe is its program, Args are its arguments, and Dir is where it works, which paths are relative to.
	Exe  string
	Args []string
	Dir  string
}

// ErrNoServer says that no process of a service is a database server.
var ErrNoServer = errors.New("no database server runs there")

// ErrSeveral says that a service runs several servers, as mysqld_multi does.
var ErrSeveral = errors.New("it runs several servers")

// daemons are the names of the programs of servers.
var daemons = []string{"mariadbd", "mysqld", "mysqld-debug"}

// OfGroup returns the server among the processes of a control group, as systemd names it.
func OfGroup(group string) (Process, error) {
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd"} {
		text, err := os.ReadFile(filepath.Join(root, group, "cgroup.procs"))
		if err != nil {
			continue
		}
		if p, err := among(strings.Fields(string(text))); !errors.Is(err, ErrNoServer) {
			return p, err
		}
	}
	return Process{}, ErrNoServer
}

// among returns the one server among processes.
func among(pids []string) (found Process, err error) {
	err = ErrNoServer
	for _, word := range pids {
		pid, nerr := strconv.Atoi(word)
		if nerr != nil {
			continue
		}
		p, perr := OfPID(pid)
		if errors.Is(perr, fs.ErrPermission) && errors.Is(err, ErrNoServer) {
			err = fmt.Errorf("process %d, of another user: %w", pid, fs.ErrPermission)
		}
		if perr != nil {
			continue
		}
		if err == nil {
			return Process{}, fmt.Errorf("processes %d and %d: %w", found.PID, pid, ErrSeveral)
		}
		found, err = p, nil
	}
	return found, err
}

// OfPID returns the server that is process pid.
func OfPID(pid int) (Process, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	exe, err := os.Readlink(filepath.Join(dir, "exe"))
	if err != nil {
		return Process{}, err
	}
	exe = strings.TrimSuffix(exe, " (deleted)") // by an upgrade
	if !slices.Contains(daemons, filepath.Base(exe)) {
		return Process{}, fmt.Errorf("process %d is %s: %w", pid, exe, ErrNoServer)
	}
	line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil {
		return Process{}, err
	}
	cwd, err := os.Readlink(filepath.Join(dir, "cwd"))
	if err != nil {
		return Process{}, err
	}
	p := Process{PID: pid, Exe: exe, Dir: cwd}
	for i, arg := range bytes.Split(bytes.TrimRight(line, "\x00"), []byte{0}) {
		if i > 0 {
			p.Args = append(p.Args, string(arg))
		}
	}
	return p, nil
}

// OnDir returns the server that has a data directory open, ErrNoServer if none has.
func OnDir(dir string) (Process, error) {
	for _, name := range server.OpenFiles() {
		pid, held, err := sys.RecordLocked(filepath.Join(dir, name))
		if err != nil || !held {
			continue
		}
		if p, err := OfPID(pid); err == nil {
			return p, nil
		}
		return Process{PID: pid}, nil // of another user, or in another container, or by a loader of its own
	}
	return Process{}, ErrNoServer
}

// Unit is the service of systemd that a process belongs to, "" if none.
func (p Process) Unit() string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "cgroup"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name := filepath.Base(strings.TrimSpace(line)); strings.HasSuffix(name, ".service") && !strings.HasPrefix(name, "user@") {
			return name
		}
	}
	return ""
}

// Environment are the variables of the process by which a server works otherwise than without them.
func (p Process) Environment() (list []string) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "environ"))
	if err != nil {
		return nil // not for this user
	}
	for kv := range bytes.SplitSeq(text, []byte{0}) {
		name, value, _ := strings.Cut(string(kv), "=")
		if value != "" && slices.Contains([]string{"TZ", "LD_PRELOAD", "LD_LIBRARY_PATH", "MALLOC_CONF"}, name) {
			list = append(list, string(kv))
		}
	}
	return list
}

// account is the one that the process runs under, nil if it is ours: whose program it is, and who may write to that, only
// that account answers for.
func (p Process) account() (*syscall.Credential, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), "status"))
	if err != nil {
		return nil, err
	}
	c := &syscall.Credential{}
	for line := range strings.Lines(string(text)) {
		name, values, _ := strings.Cut(line, ":")
		var ids []uint32
		for _, word := range strings.Fields(values) {
			if id, err := strconv.ParseUint(word, 10, 32); err == nil {
				ids = append(ids, uint32(id))
			}
		}
		switch {
		case name == "Uid" && len(ids) == 4:
			c.Uid = ids[0]
		case name == "Gid" && len(ids) == 4:
			c.Gid = ids[0]
		case name == "Groups":
			c.Groups = ids
		}
	}
	if int(c.Uid) == os.Geteuid() {
		return nil, nil
	}
	return c, nil
}

// Options are the options that the process was started with: those of its option files, as they are now, and behind
// them those of its command line. The program is asked as the account of the process.
func (p Process) Options(ctx context.Context) ([]Option, error) {
	// These must come first, and say which files are read.
	var first []string
	for _, arg := range p.Args {
		if !strings.HasPrefix(arg, "--defaults-") && arg != "--no-defaults" {
			break
		}
		first = append(first, arg)
	}
	account, err := p.account()
	if err != nil {
		return nil, fmt.Errorf("read the options of %s: %w", p.Exe, err)
	}
	cmd := exec.CommandContext(ctx, p.Exe, append(slices.Clone(first), "--print-defaults")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: account}
	cmd.Dir = p.Dir
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	text, err := cmd.Output()
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		return nil, fmt.Errorf("read the options of %s, which runs as uid %d: %w", p.Exe, account.Uid, fs.ErrPermission)
	}
	if err != nil {
		return nil, fmt.Errorf("read the options of %s: %w", p.Exe, err)
	}
	return append(ParseDefaults(string(text)), ParseArguments(p.Args[len(first):])...), nil
}
