package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/service"
	"github.com/ramaria-db/ramaria/internal/sys"
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
	alive := service.KeepAlive(ctx)
	s, err := a.engine.Supervise(ctx, name)
	alive()
	sys.ReportReady(err)
	if err != nil {
		return err
	}
	if err := service.Notify(ctx, "READY=1\nSTATUS="+a.readyWords(name)); err != nil {
		a.say("ramaria: %s", err)
	}
	err = s.Run(ctx)
	// A service manager that is not told sees the process end.
	_ = service.Notify(context.WithoutCancel(ctx), "STOPPING=1")
	if quit.Err() != nil {
		return errors.Join(err, s.Kill())
	}
	unasked := ctx.Err() == nil
	err = errors.Join(err, s.Stop(quit))
	if died, killed := s.Died(); err == nil && died && unasked && service.Managed() {
		return failedService(a, name, killed)
	}
	return err
}

// failedService has the service manager start the server again that has died, but leave it where its supervisor had to
// kill it. The journal has the cause already.
func failedService(a *app, name string, killed bool) error {
	if !killed {
		return fmt.Errorf("run instance %s: its server died", name)
	}
	a.say("ramaria: run instance %s: its server was killed\nhint: ramaria status %[1]s says why", name)
	return statusError(service.StaysDown)
}

// readyWords say what runs.
func (a *app) readyWords(name string) string {
	i, err := a.engine.Registry.Open(name)
	if err != nil {
		return "running"
	}
	return fmt.Sprintf("%s answers at %s:%d; volume %s", i.Server.Name(), i.Endpoint.Host, i.Endpoint.Port, i.Volume)
}

// errQuit says that the data is not wanted any more.
var errQuit = errors.New("told to quit at once")
