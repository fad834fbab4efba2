package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/supervisor"
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
other, and one that is made inside of ramaria run stays when that has ended. It sees every transaction that was acknowledged before the moment of the copy.`,
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
	i, err := s.Branch(ctx, parent, name, volume.How{})
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

// atInstance has running done through the API of an instance that runs, or stopped
// with the files of one that does not, while no other command is at work on it. verb
// says what is to be done.
func (a *app) atInstance(ctx context.Context, name, verb string, running func(*client.Client) error, stopped func(*instance.Instance, *instance.Store) error) error {
	i, err := a.registry.Open(name)
	if err != nil {
		return err
	}
	state, err := i.State()
	if err != nil {
		return err
	}
	if state.Phase == instance.Running || state.Phase == instance.Starting {
		err := running(client.New(i.APISocket()))
		if !errors.Is(err, client.ErrNoServer) {
			return err
		}
	}
	lock, err := a.registry.Lock(ctx, name, func() { a.say("waiting: another command is at work on instance %s", name) })
	if err != nil {
		return err
	}
	defer lock.Unlock()
	// Under the lock things may have changed.
	if i, err = a.registry.Open(name); err != nil {
		return err
	}
	if state, err = i.State(); err != nil {
		return err
	}
	if state.Phase.Alive() {
		if err := running(client.New(i.APISocket())); err != nil {
			return fmt.Errorf("%s instance %s: %w", verb, name, err)
		}
		return nil
	}
	v, err := a.volumeOf(ctx, &i.Record)
	if err != nil {
		return err
	}
	return stopped(i, a.instances(v))
}

// longPause is from when on an expected pause is told beforehand.
const longPause = 100 * time.Millisecond

// tellPause says for how long the server of an instance is going to stand still, if
// that is worth knowing.
func (a *app) tellPause(ctx context.Context, c *client.Client) error {
	s, err := c.Status(ctx)
	if err != nil {
		return err
	}
	expected := time.Duration(s.Snapshot.ExpectedPauseMicros) * time.Microsecond
	if !s.Volume.Reflink && expected >= longPause {
		a.say("volume %s copies: %s will stand still for about %s (%s of data); on volume xfs it would be milliseconds",
			s.Volume.Kind, s.Name, expected.Round(longPause), volume.FormatBytes(s.Snapshot.DataBytes))
	}
	return nil
}

// micros writes a time in microseconds for people.
func micros(n int64) string {
	d := time.Duration(n) * time.Microsecond
	switch {
	case d < 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// superviseArgv is the command line of the supervisor of an instance.
func (a *app) superviseArgv(name string) []string {
	argv := []string{supervisor.Self(), "supervise", name}
	if a.home != "" {
		argv = append(argv, "--home", a.home)
	}
	return argv
}
