package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

type downOptions struct {
	all bool
	rm  bool
}

func newDown(a *app) *cobra.Command {
	var o downOptions
	cmd := &cobra.Command{
		Use:   "down [NAME...]",
		Short: "Stop instances; with --rm remove them and their data",
		Example: `  ramaria down
  ramaria down shop --rm
  ramaria down a b
  ramaria down --all --rm`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDown(cmd.Context(), a, args, o)
		},
		ValidArgsFunction: a.completeNames,
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "all instances")
	cmd.Flags().BoolVar(&o.rm, "rm", false, "remove the instance and its data as well")
	return cmd
}

func runDown(ctx context.Context, a *app, args []string, o downOptions) error {
	names := args
	if len(names) == 0 {
		names = []string{nameArg(nil)}
	}
	for _, name := range names { // before any is stopped
		if err := instance.CheckName(name); err != nil {
			return usageError{err}
		}
	}
	if o.all {
		if len(args) > 0 {
			return usageError{errors.New("stop instances: either names or --all\nhint: ramaria down --all")}
		}
		records, err := a.registry.List()
		if err != nil {
			return err
		}
		names = nil
		for _, r := range records {
			if !r.Passing { // it belongs to a `ramaria run`
				names = append(names, r.Name)
			}
		}
	}
	var errs []error
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		errs = append(errs, a.down(ctx, name, o.rm))
	}
	return errors.Join(errs...)
}

// down stops one instance, and removes it if rm says so.
func (a *app) down(ctx context.Context, name string, rm bool) error {
	if r, err := a.registry.Get(name); err != nil {
		return err
	} else if r.Passing {
		return fmt.Errorf("stop instance %s: it belongs to a `ramaria run`\nhint: end that command", name)
	}
	lock, err := a.registry.Lock(ctx, name, func() { a.say("waiting: another command is at work on instance %s", name) })
	if err != nil {
		return err
	}
	r, err := a.registry.Get(name)
	if err == nil && rm {
		if err = a.remove(ctx, r); err == nil {
			a.say("removed instance %s", name)
			return lock.UnlockRemove()
		}
	} else if err == nil {
		if err = a.stop(ctx, r); err == nil {
			a.say("stopped instance %s", name)
		}
	}
	return errors.Join(err, lock.Unlock())
}

// remove stops an instance and removes it. Its data is not wanted any more, so
// the server is not given the time to shut down.
func (a *app) remove(ctx context.Context, r *instance.Record) error {
	v, err := a.volumeOf(ctx, r)
	if err != nil {
		return err
	}
	if err := a.signal(ctx, r, syscall.SIGQUIT); err != nil {
		return err
	}
	return a.instances(v).Remove(ctx, r)
}

// stop lets the supervisor shut its server down cleanly, and waits.
func (a *app) stop(ctx context.Context, r *instance.Record) error {
	return a.signal(ctx, r, syscall.SIGTERM)
}

// signal sends a signal to the supervisor of an instance, if there is one, and
// waits until it is gone.
func (a *app) signal(ctx context.Context, r *instance.Record, s syscall.Signal) error {
	state, err := r.State()
	if err != nil || !state.Phase.Alive() {
		return err
	}
	if state.SupervisorPID == 0 {
		return fmt.Errorf("stop instance %s: its supervisor lives, but has not said which process it is\nhint: try again; else fuser %s names it", r.Name, r.LockPath())
	}
	return endHolder(ctx, r.Name, r.LockPath(), state.SupervisorPID, s)
}

// endHolder sends a signal to the process that holds the lock of an instance, of which
// only a number is known, and waits until it is gone.
func endHolder(ctx context.Context, name, lock string, pid int, s syscall.Signal) error {
	p, err := sys.OpenProcess(pid)
	if err != nil && !errors.Is(err, sys.ErrNoProcess) {
		return err
	}
	if err == nil {
		defer p.Close()
	}
	if held, err := sys.Held(lock); err != nil || !held {
		return err
	}
	// Only now is the number certain to mean the process that holds the lock, if it is one
	// of this namespace.
	if err != nil || !sys.HasOpen(pid, lock) {
		if held, err := sys.Held(lock); err != nil || !held { // it has just ended
			return err
		}
		return fmt.Errorf("stop instance %s: its supervisor runs where it cannot be reached from here, as in another container\nhint: ramaria down %s there", name, name)
	}
	if err := p.Signal(s); err != nil && !errors.Is(err, sys.ErrNoProcess) {
		return fmt.Errorf("stop instance %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, server.StopTimeout)
	defer cancel()
	if err := p.WaitExit(ctx); err != nil {
		return fmt.Errorf("stop instance %s: %w", name, err)
	}
	return nil
}
