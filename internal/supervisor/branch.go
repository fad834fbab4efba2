package supervisor

import (
	"context"
	"errors"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Branching makes branches of one instance. The functions are what differs between an instance
// that runs, which its supervisor branches, and one that does not.
type Branching struct {
	Store  *instance.Store
	Parent *instance.Instance
	// Lock locks the name of the branch.
	Lock func(ctx context.Context, name string) (*sys.FileLock, error)
	// Copy calls take, with how to copy the parent's data directory. what is made of it, for
	// people.
	Copy func(ctx context.Context, what string, take func(context.Context, volume.How) error) error
	// Settle does what else there is to do before the branch is an instance; nil is nothing.
	Settle func(*instance.Instance) error
	// Start starts the supervisor of the branch. After an error nothing of it runs.
	Start func(context.Context, *instance.Instance) error
}

// Branch makes an instance called name from the parent's data as it is now, and starts it. A name
// that is taken is instance.ErrTaken. When any of it fails nothing is left.
func (b Branching) Branch(ctx context.Context, name string) (*instance.Instance, error) {
	if err := instance.CheckNew(name); err != nil {
		return nil, err
	}
	if name == b.Parent.Name { // its lock may be held for as long as it is branched, or lives
		return nil, fmt.Errorf("make instance %s: %w by the instance to branch\nhint: ramaria branch %[1]s NEW, where NEW is another name", name, instance.ErrTaken)
	}
	lock, err := b.Lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	if _, err := b.Store.Registry.Get(name); !errors.Is(err, instance.ErrNotFound) {
		return nil, errors.Join(instance.TakenError(name), err)
	}
	if err := b.make(ctx, name); err != nil {
		return nil, errors.Join(err, lock.UnlockRemove()) // no command waits for a name that came to nothing
	}
	// The supervisor may have chosen another port.
	return b.Store.Registry.Open(name)
}

// make makes and starts the branch, whose name is locked.
func (b Branching) make(ctx context.Context, name string) error {
	var i *instance.Instance
	err := b.Copy(ctx, "instance "+name, func(ctx context.Context, how volume.How) (err error) {
		i, err = b.Store.Branch(ctx, b.Parent, name, how, func(i *instance.Instance) error {
			if b.Settle != nil {
				return b.Settle(i)
			}
			return pool.Inherit(b.Parent.PoolPath(), i.PoolPath())
		})
		return err
	})
	if err != nil {
		return err
	}
	if err := b.Start(ctx, i); err != nil {
		return errors.Join(err, b.Store.Remove(context.WithoutCancel(ctx), &i.Record))
	}
	return nil
}

// checkProgram refuses to branch a running instance whose server program was removed: the branch
// could not start.
func checkProgram(parent *instance.Instance) error {
	gone := parent.Server.Daemon.Missing()
	if gone == "" {
		return nil
	}
	return fmt.Errorf("branch %s: its server runs, but %s, which a branch would start, no longer exists\nhint: ramaria down %s, and ramaria up %s, which finds another server and keeps the data",
		parent.Name, gone, parent.Name, parent.Name)
}
