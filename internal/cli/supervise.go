package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/supervisor"
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
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	s, err := a.supervise(ctx, name)
	supervisor.Report(err)
	if err != nil {
		return err
	}
	if err := supervisor.Notify(ctx, "READY=1"); err != nil {
		a.say("ramaria: %s", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-quit:
			cancel(errQuit)
		case <-ctx.Done():
		}
	}()
	err = s.Run(ctx)
	// Whoever is not told finds out when the process has ended.
	_ = supervisor.Notify(context.WithoutCancel(ctx), "STOPPING=1")
	if errors.Is(context.Cause(ctx), errQuit) {
		return errors.Join(err, s.Kill())
	}
	return errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
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
	s, err := supervisor.Start(ctx, i, v, slog.New(slog.NewTextHandler(a.stderr, nil)))
	if errors.Is(err, supervisor.ErrRunning) {
		return nil, fmt.Errorf("supervise instance %s: %w", name, err)
	}
	return s, err
}
