package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/supervisor"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// newSupervise is what `up` starts, detached, and what a service manager would.
func newSupervise(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "supervise NAME",
		Short:  "Run the server of an instance until SIGTERM (clean) or SIGQUIT (at once)",
		Hidden: true,
		Args:   exactArgs(1, "the name of an instance"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSupervise(cmd.Context(), a, args[0])
		},
	}
}

func runSupervise(ctx context.Context, a *app, name string) error {
	// From the beginning and to the end: SIGQUIT also cuts short a start, and a clean
	// stop that waits for a server which hangs.
	quit, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGQUIT)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	unlink := context.AfterFunc(quit, func() { cancel(errQuit) })
	defer unlink()
	s, err := a.supervise(ctx, name)
	supervisor.Report(err)
	if err != nil {
		return err
	}
	if err := supervisor.Notify(ctx, "READY=1"); err != nil {
		a.say("ramaria: %s", err)
	}
	err = s.Run(ctx)
	// Whoever is not told finds out when the process has ended.
	_ = supervisor.Notify(context.WithoutCancel(ctx), "STOPPING=1")
	if quit.Err() != nil {
		return errors.Join(err, s.Kill())
	}
	return errors.Join(err, s.Stop(quit))
}

// errQuit says that the data is not wanted any more.
var errQuit = errors.New("told to quit at once")

func (a *app) supervise(ctx context.Context, name string) (*supervisor.Supervisor, error) {
	i, err := a.registry.Open(name)
	if err != nil {
		return nil, err
	}
	v, err := a.volumeOf(ctx, &i.Record)
	if err != nil {
		return nil, err
	}
	s, err := a.startSupervisor(ctx, i, v)
	if errors.Is(err, supervisor.ErrRunning) {
		return nil, fmt.Errorf("supervise instance %s: %w", name, err)
	}
	return s, err
}

func (a *app) startSupervisor(ctx context.Context, i *instance.Instance, v volume.Volume) (*supervisor.Supervisor, error) {
	runtime.GOMAXPROCS(max(1, usableCPUs/cpusPerProc))
	return supervisor.Start(ctx, i, a.instances(v), supervisor.Options{
		Keys: a.places.Keys(),
		Log:  slog.New(slog.NewTextHandler(a.stderr, nil)), Argv: a.superviseArgv,
	})
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

// superviseArgv is the command line of the supervisor of an instance.
func (a *app) superviseArgv(name string) []string {
	argv := []string{supervisor.Self(), "supervise", name}
	if a.home != "" {
		argv = append(argv, "--home", a.home)
	}
	return argv
}
