package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/pool"
)

func newRewind(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "rewind NAME LABEL",
		Short: "Put an instance back to a mark, whatever happened since",
		Long: `Put an instance back to a mark, whatever happened since: changed rows, any DDL, DROP
DATABASE, a crash. Connections are closed; the DSN, which is printed, stays. What the
instance held is lost; the mark stays, and so do marks that were made after it. An
instance that does not run is started.`,
		Example: `  ramaria mark shop clean
  ./break-everything; ramaria rewind shop clean`,
		Args: exactArgs(2, "the name of an instance and a label (ramaria mark NAME lists them)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRewind(cmd.Context(), a, args[0], args[1])
		},
		ValidArgsFunction: a.completeNames,
	}
}

func runRewind(ctx context.Context, a *app, name, label string) error {
	if err := instance.CheckLabel(label); err != nil {
		return usageError{err}
	}
	err := a.atInstance(ctx, name, "rewind", func(c *client.Client) error {
		r, err := c.Rewind(ctx, label)
		if err == nil {
			a.say("rewound %s to %s in %s", name, label, micros(r.Micros))
		}
		return err
	}, func(i *instance.Instance, s *instance.Store) error {
		began := time.Now()
		before, err := i.State()
		if err != nil {
			return err
		}
		mark, err := i.ReadMark(label)
		if err != nil {
			return err
		}
		old, err := s.Rewind(ctx, &i.Record, label, func() error { return nil })
		if err != nil {
			return err
		}
		clean := context.WithoutCancel(ctx)
		undo, err := pool.Rewound(i.PoolPath(), i.DataDir(), &mark)
		if err == nil {
			err = i.SaveState(instance.State{Phase: instance.Stopped, Since: time.Now()})
		}
		if err == nil {
			err = a.start(ctx, i, false)
		}
		if err != nil {
			if uerr := errors.Join(s.Unwind(clean, &i.Record, old), i.SaveState(before), undo()); uerr != nil {
				return errors.Join(err, uerr)
			}
			a.say("instance %s has the data it had before", name)
			return err
		}
		if err := s.Discard(clean, old); err != nil {
			return err
		}
		a.say("rewound %s, which did not run, to %s in %s", name, label, micros(time.Since(began).Microseconds()))
		return nil
	})
	if err != nil {
		return err
	}
	i, err := a.registry.Open(name)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, i.Endpoint.URL())
	return nil
}
