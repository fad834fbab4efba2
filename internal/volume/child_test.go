package volume_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// childEnv holds what a child of the tests does: WORK KIND MOUNTS SHM, a line each.
const childEnv = "RAMARIA_VOLUME_TEST_CHILD"

// childTime ends a child whose parent was killed.
const childTime = 4 * time.Minute

// inChild does the work of a child and returns its exit status; ok is false in the
// tests themselves.
func inChild() (status int, ok bool) {
	job := os.Getenv(childEnv)
	if job == "" {
		return 0, false
	}
	f := strings.Split(job, "\n")
	ctx, cancel := context.WithTimeout(context.Background(), childTime)
	defer cancel()
	o := &volume.Opener{Places: host.Places{Mounts: f[2], Shm: f[3], Disk: f[3] + "-disk"}}
	spec := volume.Spec{Kind: volume.Kind(f[1]), Size: smallSize}
	var err error
	switch f[0] {
	case "open":
		_, err = o.Open(ctx, spec)
	case "open and destroy": // until it is killed
		for err == nil {
			var v volume.Volume
			if v, err = o.Open(ctx, spec); err == nil {
				err = v.Destroy(ctx, true)
			}
		}
	case "choose":
		var v volume.Volume
		var why string
		if v, why, err = o.Choose(ctx); err == nil {
			fmt.Printf("%s\n%s\n", v.Kind(), why)
			err = v.Destroy(ctx, true)
		}
	case "fit":
		if err = o.Fit(ctx, spec.Kind); errors.Is(err, volume.ErrUnfit) {
			fmt.Println("unfit")
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

// child returns a command that does a piece of work in a process of its own, which
// ends with this one.
func child(t *testing.T, work string, kind volume.Kind, p host.Places) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{work, string(kind), p.Mounts, p.Shm}, "\n"))
	// The signal comes when the thread that started the child ends.
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}
