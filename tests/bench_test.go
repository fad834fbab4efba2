package tests

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ramaria-db/ramaria/internal/host"
)

// settle is how long a process that was told to end may take.
const settle = 10 * time.Second

// bench is what one script works on, and how it is cleared away.
type bench struct {
	home    string
	places  host.Places
	t       reporter
	env     *testscript.Env
	running map[string]*job
}

type benchKey struct{}

// reporter is what testscript passes on of a *testing.T.
type reporter interface {
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
	Failed() bool
}

// close removes everything, and fails the test if a process lives on or a file is
// where none should be. Of a test that failed the files are kept.
func (b *bench) close() {
	failed := b.t.Failed()
	args := []string{"down", "--all", "--rm"}
	if failed {
		args = args[:2]
	}
	cmd := exec.Command(filepath.Join(binDir, "ramaria"), args...)
	cmd.Env = append(os.Environ(), "RAMARIA_HOME="+b.home)
	out, err := cmd.CombinedOutput()
	if err != nil && !failed {
		b.t.Errorf("ramaria %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	if !failed {
		b.wait()
		for _, left := range b.left() {
			b.t.Errorf("left behind: %s", left)
		}
	}
	for _, j := range b.running {
		_ = j.cmd.Process.Kill() // it may have ended
		<-j.done
	}
	for _, pid := range b.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if b.t.Failed() {
		b.t.Logf("the files are kept in %s and %s", b.home, b.places.Shm)
		return
	}
	if err := errors.Join(os.RemoveAll(b.places.Shm), os.RemoveAll(b.home)); err != nil {
		b.t.Errorf("clear away: %v", err)
	}
}

// wait gives processes that were told to end the time for it.
func (b *bench) wait() {
	for end := time.Now().Add(settle); len(b.processes()) > 0 && time.Now().Before(end); {
		time.Sleep(untilPause)
	}
}

// left lists what must not be there when no instance exists and no command runs.
func (b *bench) left() []string {
	var list []string
	for _, pid := range b.processes() {
		line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		list = append(list, fmt.Sprintf("process %d: %q", pid, line))
	}
	for _, dir := range []string{b.places.Shm, b.places.Disk} {
		list = append(list, entries(dir, func(name string) bool { return name != "images" && name != "instances" })...)
		list = append(list, entries(filepath.Join(dir, "instances"), func(string) bool { return true })...)
		list = append(list, entries(filepath.Join(dir, "images"), func(name string) bool { return name[0] == '.' })...)
		// Clones of images for runs whose path would be too long lie in /tmp.
		list = append(list, entries("/tmp", func(name string) bool {
			return name == filepath.Base(host.RunDir(filepath.Join(dir, "instances", "main"), os.Geteuid())) && strings.HasPrefix(name, "ramaria-")
		})...)
	}
	list = append(list, entries(b.places.Servers(), func(name string) bool { return strings.HasPrefix(name, ".partial") })...)
	list = append(list, entries(filepath.Join(b.places.State, "instances"), func(name string) bool { return !strings.HasSuffix(name, ".lock") })...)
	return list
}

// entries returns the paths in dir whose names are wanted; none if there is no dir.
func entries(dir string, want func(name string) bool) []string {
	all, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return []string{err.Error()}
	}
	var list []string
	for _, e := range all {
		if want(e.Name()) {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list
}

// processes returns those that name the home or the volume in an argument, other
// than the jobs of the script itself.
func (b *bench) processes() []int {
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil
	}
	var pids []int
	for _, name := range names {
		line, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(line), b.home) && !strings.Contains(string(line), b.places.Shm) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && !b.isJob(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (b *bench) isJob(pid int) bool {
	for _, j := range b.running {
		if j.cmd.Process.Pid == pid {
			return true
		}
	}
	return false
}
