package tests

import (
	"context"
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
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// settle is how long a process that was told to end may take.
const settle = 40 * time.Second

// scriptHome is what one script works on, and how it is cleared away.
type scriptHome struct {
	home    string
	places  host.Places
	t       reporter
	env     *testscript.Env
	running map[string]*job
	servers *scriptServers // of scripts
	service *service       // of buckets; nil before one is started
}

type homeKey struct{}

// reporter is what testscript passes on of a *testing.T.
type reporter interface {
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
	Failed() bool
}

// ramariaAtEnd runs a command that clears away.
func (b *scriptHome) ramariaAtEnd(args ...string) {
	cmd := exec.Command(filepath.Join(binDir, "ramaria"), args...)
	cmd.Env = append(os.Environ(), "RAMARIA_HOME="+b.home)
	if out, err := cmd.CombinedOutput(); err != nil && !b.t.Failed() {
		b.t.Errorf("ramaria %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// close removes everything, and fails the test if a process lives on, a file is where
// none should be, or a volume stays mounted. Of a test that failed the files are kept,
// except those in volumes that are mounted.
func (b *scriptHome) close() {
	failed := b.t.Failed()
	if b.service != nil {
		defer b.service.close()
	}
	if failed {
		b.ramariaAtEnd("down", "--all")
	} else {
		b.ramariaAtEnd("down", "--all", "--rm")
	}
	if !failed {
		b.wait()
		for _, left := range b.left() {
			b.t.Errorf("left behind: %s", left)
		}
	}
	b.unmount()
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

// unmount takes all mounted volumes of the home away, and fails the test if something
// of them stays.
func (b *scriptHome) unmount() {
	if b.places.Mounts == "" {
		return
	}
	for _, dir := range b.mounted() {
		b.ramariaAtEnd("volume", "rm", filepath.Base(dir), "--force")
	}
	// A command takes away what killed ones have left. A device stays in use for as long as a
	// mount namespace lives that another test made while the volume was mounted.
	var left []string
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(untilPause) {
		b.ramariaAtEnd("ls")
		if left, _ = filepath.Glob(b.places.Mounts + "*"); len(left) == 0 || time.Now().After(end) { // the pattern is right
			break
		}
		// Those of another registry of the home, which may be gone, its own commands leave alone.
		for _, dir := range left {
			if dir != b.places.Mounts && len(entries(dir, func(name string) bool { return strings.HasPrefix(name, "zram") && strings.HasSuffix(name, ".device") })) > 0 {
				b.ramariaAtEnd("volume", "rm", filepath.Join(dir, "zram"), "--force")
			}
		}
	}
	for _, dir := range left {
		b.t.Errorf("left behind: %s with %q", dir, entries(dir, func(string) bool { return true }))
	}
}

// mounted are the directories of the volumes that are mounted.
func (b *scriptHome) mounted() []string {
	return entries(b.places.Mounts, func(name string) bool {
		there, err := sys.Mounted(filepath.Join(b.places.Mounts, name))
		return there || err != nil
	})
}

// wait gives processes that were told to end the time for it.
func (b *scriptHome) wait() {
	for end := time.Now().Add(settle); len(b.processes()) > 0 && time.Now().Before(end); {
		time.Sleep(untilPause)
	}
}

// left lists what must not be there when no instance exists and no command runs.
func (b *scriptHome) left() []string {
	var list []string
	owner, _, err := volume.FindOwner(context.Background(), host.Host{}, b.places.State, b.home, false)
	if err != nil {
		list = append(list, err.Error())
	}
	for _, pid := range b.processes() {
		line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		list = append(list, fmt.Sprintf("process %d: %q", pid, line))
	}
	for _, dir := range append(b.mounted(), b.places.Shm, b.places.Disk) {
		list = append(list, entries(dir, func(name string) bool {
			return name != "images" && name != "instances" && name != ".volume.json" && name != ".owner.json" && !strings.HasPrefix(name, ".samples.json")
		})...)
		list = append(list, entries(filepath.Join(dir, "instances"), func(string) bool { return true })...)
		list = append(list, entries(filepath.Join(dir, "images"), func(name string) bool { return name[0] == '.' })...)
		// Clones of images for runs whose path would be too long lie in /tmp.
		list = append(list, entries("/tmp", func(name string) bool {
			return name == filepath.Base(host.RunDir(filepath.Join(dir, "instances", "main"), os.Geteuid(), owner.Registry)) && strings.HasPrefix(name, "ramaria-")
		})...)
	}
	list = append(list, entries(b.places.Servers(), func(name string) bool { return strings.HasPrefix(name, ".partial") })...)
	list = append(list, entries(filepath.Join(b.places.State, "instances"), func(name string) bool { return !strings.HasSuffix(name, ".lock") })...)
	return list
}

// entries returns the paths in dir whose names are wanted; none if there is no dir.
func entries(dir string, want func(name string) bool) []string {
	if dir == "" {
		return nil
	}
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
func (b *scriptHome) processes() []int {
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

func (b *scriptHome) isJob(pid int) bool {
	for _, j := range b.running {
		if j.cmd.Process.Pid == pid {
			return true
		}
	}
	return false
}
