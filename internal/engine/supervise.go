package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/service"
	"github.com/ramaria-db/ramaria/internal/supervisor"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Supervise starts the server of an instance, with this process as its supervisor. The caller
// must call Run of the result.
func (e *Engine) Supervise(ctx context.Context, name string) (*supervisor.Supervisor, error) {
	i, err := e.Registry.Open(name)
	if err != nil {
		return nil, err
	}
	v, err := e.volumeOf(ctx, &i.Record)
	if err != nil {
		return nil, err
	}
	s, err := e.startSupervisor(ctx, i, v)
	if errors.Is(err, supervisor.ErrRunning) {
		return nil, fmt.Errorf("supervise instance %s: %w", name, err)
	}
	return s, err
}

func (e *Engine) startSupervisor(ctx context.Context, i *instance.Instance, v volume.Volume) (*supervisor.Supervisor, error) {
	if err := e.instances(v).BringHome(i, false); err != nil {
		return nil, err
	}
	w, _ := e.progress()
	runtime.GOMAXPROCS(procs(i.Spec))
	return supervisor.Start(ctx, i, e.instances(v), supervisor.Options{
		Keys: e.Places.Keys(), Archive: e.archiveDir(i.Name, i.Spec), Buckets: bucketsOf(i.Spec), Outside: e.snapshots, Spill: e.spill(), Clusters: e.clusters(), Door: e.memberDoor, AskOthers: e.askOthers,
		Log: slog.New(slog.NewTextHandler(w, nil)), Argv: e.superviseArgv,
		End: func(ctx context.Context, i *instance.Instance) error {
			return e.signal(ctx, &i.Record, syscall.SIGQUIT)
		},
		Store: func(ctx context.Context, spec volume.Spec) (*instance.Store, error) {
			if err := e.canMount(spec.Kind); err != nil {
				return nil, err
			}
			v, err := e.Opener().Open(ctx, spec)
			if err != nil {
				return nil, err
			}
			return e.instances(v), nil
		},
	})
}

// canMount refuses to make a volume in a service, which has a mount namespace of its own: no other process would see it.
func (e *Engine) canMount(kind volume.Kind) error {
	if os.Getenv(service.EnvVar) == "" || e.UID != 0 || !kind.Mounted() {
		return nil
	}
	if there, err := e.Opener().There(kind); err != nil || there {
		return err
	}
	return fmt.Errorf("make volume %s: a service makes none, since it alone would see it\nhint: ramaria move NAME --volume %s makes it, or ramaria up with any other instance", kind, kind)
}

// snapshots is a directory on the disk for snapshots that a volume has no room for.
func (e *Engine) snapshots() (volume.Target, error) {
	volumes := filepath.Dir(e.Places.Disk) // where servers may lie
	if err := os.MkdirAll(volumes, 0o711); err != nil {
		return nil, fmt.Errorf("make directory for snapshots: %w", err)
	}
	return e.Opener().Outside(filepath.Join(volumes, "snapshots"))
}

// usableCPUs is on how many CPUs Go runs at once by itself: those that there are, the quota of a
// container, or what GOMAXPROCS says.
var usableCPUs = runtime.GOMAXPROCS(0)

// cpusPerProc is how many of them there are for each that a supervisor runs on at once. What it
// does for a reset is short and waits for the server; with a second one Go's scheduler wakes a
// thread at each such moment to look for more, which was half of its switches of context. That
// was measured on two CPUs, where resets of three rows were no slower beside one of 10,000. From
// eight on there is a second one again, for the many workers that such a machine has.
const cpusPerProc = 4

// procs is on how many CPUs the supervisor of an instance runs at once. A front door has a loop beside the rest, if it
// has two.
func procs(spec instance.Spec) int {
	if spec.Front != 0 {
		return max(2, usableCPUs/cpusPerProc)
	}
	return max(1, usableCPUs/cpusPerProc)
}

// superviseArgv is the command line of the supervisor of an instance.
func (e *Engine) superviseArgv(name string) []string {
	argv := []string{supervisor.Self(), "supervise", name}
	if e.Home != "" {
		argv = append(argv, "--home", e.Home)
	}
	return argv
}

// spill is a directory on a disk for temporary files: of this home, unless that lies in RAM.
func (e *Engine) spill() string {
	if fs, err := sys.Statfs(e.Places.State); err == nil && !fs.RAM {
		return e.Places.State
	}
	return "/var/tmp"
}
