package volumetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// childEnv holds KIND DIR SRC DST, a line each, for a child that clones.
const childEnv = "RAMARIA_VOLUMETEST_CLONE"

// childLimit ends a child whose parent was killed.
const childLimit = 30 * time.Second

// Main runs the tests, or, in a child that the suite started, the clone that is to
// be killed. It returns the exit status.
func Main(run func() int) int {
	job := os.Getenv(childEnv)
	if job == "" {
		return run()
	}
	f := strings.Split(job, "\n")
	if err := cloneInChild(volume.Kind(f[0]), f[1], f[2], f[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// cloneInChild clones again and again, so that the parent is sure to meet it at work.
func cloneInChild(kind volume.Kind, dir, src, dst string) error {
	ctx, cancel := context.WithTimeout(context.Background(), childLimit)
	defer cancel()
	v, err := (&volume.Opener{Places: host.Places{Shm: dir, Disk: dir, Mounts: filepath.Dir(dir)}}).Open(ctx, volume.Spec{Kind: kind})
	if err != nil {
		return err
	}
	for {
		if err := v.Clone(ctx, src, dst); err != nil {
			return err
		}
		if err := v.Remove(ctx, dst); err != nil {
			return err
		}
	}
}

// testSweep stops a child in the middle of a clone: as long as it lives Sweep must
// leave its work alone, and once it was killed must remove it.
func testSweep(t *testing.T, v volume.Volume) {
	src := filepath.Join(v.Dir(), "images", "src")
	WriteDatadir(t, src)
	dst := filepath.Join(v.Dir(), "instances", "dst")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{string(v.Kind()), v.Dir(), src, dst}, "\n"))
	child.Stderr = os.Stderr
	// A stopped child would outlive a killed test. The signal comes when the thread
	// that started the child ends, so this one must not.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, child.Start())
	waited := false
	defer func() {
		if !waited {
			child.Process.Kill()
			child.Wait()
		}
	}()

	stopAtWork(t, v, child.Process)
	before := temporary(t, v)
	must(t, v.Sweep(t.Context()))
	if after := temporary(t, v); strings.Join(after, " ") != strings.Join(before, " ") {
		t.Errorf("the work of a living process was swept: before %v, after %v", before, after)
	}

	must(t, child.Process.Kill())
	child.Wait()
	waited = true
	if len(temporary(t, v)) == 0 {
		t.Error("the killed child left nothing: the test tests nothing")
	}
	must(t, v.Sweep(t.Context()))
	if left := temporary(t, v); len(left) > 0 {
		t.Errorf("not swept: %v", left)
	}
	if _, err := os.Lstat(dst); err == nil {
		must(t, v.Remove(t.Context(), dst))
	}
	must(t, v.Sweep(t.Context())) // idempotent
}

// stopAtWork stops the child with SIGSTOP while a partial clone is there.
func stopAtWork(t *testing.T, v volume.Volume, p *os.Process) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if !atWork(temporary(t, v)) {
			continue
		}
		must(t, p.Signal(syscall.SIGSTOP))
		waitStopped(t, p.Pid)
		if atWork(temporary(t, v)) {
			return
		}
		must(t, p.Signal(syscall.SIGCONT))
	}
	t.Fatal("the child was never seen in the middle of a clone")
}

// waitStopped waits until every thread of the process has stopped.
func waitStopped(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		stopped := true
		tasks, err := sys.Glob(fmt.Sprintf("/proc/%d/task", pid), "*/stat")
		must(t, err)
		for _, task := range tasks {
			b, err := os.ReadFile(task)
			_, state, _ := strings.Cut(string(b), ") ")
			stopped = stopped && err == nil && strings.HasPrefix(state, "T")
		}
		if stopped && len(tasks) > 0 {
			return
		}
	}
	t.Fatal("the child does not stop")
}

// atWork says that there is half a clone, not only its lock.
func atWork(names []string) bool {
	for _, n := range names {
		if strings.HasPrefix(n, ".partial-") && !strings.HasSuffix(n, ".lock") {
			return true
		}
	}
	return false
}

// temporary lists what is in the volume's directory besides images and instances.
func temporary(t *testing.T, v volume.Volume) []string {
	t.Helper()
	entries, err := os.ReadDir(v.Dir())
	must(t, err)
	var names []string
	for _, e := range entries {
		switch e.Name() {
		case "images", "instances", ".volume.json", ".samples.json":
		default:
			names = append(names, e.Name())
		}
	}
	return names
}
