package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func newBranch(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "branch NAME NEW",
		Short: "Start a new instance on the data that another one has now",
		Long: `Start a new instance on the data that another one has now, and print its DSN. The
other one goes on; it stands still for some milliseconds while its files are cloned.
On volumes xfs and zram that takes no longer for large data than for small, and no
room; on others the data is copied, and the pause is told beforehand.

A branch has its own accounts, port and server id, and shares nothing with its parent
but blocks that neither has changed: each can be stopped and removed without the
other, and one that is made inside of ramaria run stays when that has ended. It sees
every transaction that was acknowledged before the moment of the copy.`,
		Example: `  ramaria branch shop try-the-migration
  ramaria branch main "pr-$NUMBER"`,
		Args: exactArgs(2, "the name of an instance and a new name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBranch(cmd.Context(), a, args[0], args[1])
		},
		ValidArgsFunction: a.completeNames,
	}
}

func runBranch(ctx context.Context, a *app, name, branch string) error {
	if err := instance.CheckNew(branch); err != nil {
		return usageError{err}
	}
	var url string
	err := a.atInstance(ctx, name, "branch", func(c *client.Client) error {
		if i, err := a.registry.Open(name); err == nil && i.Server.Daemon.Missing() != "" {
			return fmt.Errorf("branch %s: its server runs, but %s is not there any more, for another one to start\nhint: ramaria down %s, and ramaria up %s, which finds another server and keeps the data",
				name, i.Server.Daemon.Missing(), name, name)
		}
		if err := a.tellPause(ctx, c); err != nil {
			return err
		}
		b, err := c.Branch(ctx, client.BranchRequest{Name: branch})
		if err != nil {
			return err
		}
		a.say("branched %s to %s in %s; %s stood still for %s", name, branch, micros(b.ReadyMicros), name, micros(b.Snapshot.PauseMicros))
		url = b.Endpoint.URL
		return nil
	}, func(parent *instance.Instance, s *instance.Store) (err error) {
		url, err = a.branchStopped(ctx, parent, s, branch)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, url)
	return nil
}

// branchStopped branches an instance that does not run, whose name is locked.
func (a *app) branchStopped(ctx context.Context, parent *instance.Instance, s *instance.Store, name string) (string, error) {
	// Before waiting for the lock, which is held if name is the parent's own.
	if _, err := a.registry.Get(name); !errors.Is(err, instance.ErrNotFound) {
		return "", errors.Join(instance.TakenError(name), err)
	}
	lock, err := a.registry.Lock(ctx, name, func() { a.say("waiting: another command is at work on instance %s", name) })
	if err != nil {
		return "", err
	}
	defer lock.Unlock()
	if _, err := a.registry.Get(name); !errors.Is(err, instance.ErrNotFound) {
		return "", errors.Join(instance.TakenError(name), err)
	}
	i, err := s.Branch(ctx, parent, name, volume.How{}, func(i *instance.Instance) error {
		return pool.Inherit(parent.PoolPath(), i.PoolPath())
	})
	if err == nil {
		err = a.start(ctx, i, true)
	}
	if err != nil {
		return "", errors.Join(err, lock.UnlockRemove()) // nobody waits for a name that came to nothing
	}
	if i, err = a.registry.Open(name); err != nil {
		return "", err
	}
	a.say("branched %s, which does not run, to %s", parent.Name, name)
	return i.Endpoint.URL(), nil
}
