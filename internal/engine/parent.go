package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/software"
)

// parentTimeout is how long another command may be at work on an instance that data is
// to be taken from. It must end: that command may itself wait for the instance that is
// being made of the data.
const parentTimeout = time.Minute

// noParentError says that the instance is not there which data is to be taken from.
type noParentError struct {
	name string
	// gone says that it was there, and went with its volume.
	gone bool
}

func (e noParentError) Error() string {
	if e.gone {
		return fmt.Sprintf("use source instance:%s: its data went with its volume, which was emptied (a reboot?)\nhint: ramaria up %s makes it again", e.name, e.name)
	}
	return fmt.Sprintf("use source instance:%s: %s\nhint: ramaria ls shows what there is", e.name, instance.ErrNotFound)
}

// Is makes it one of the errors that say that an instance is not there.
func (e noParentError) Is(target error) bool { return target == instance.ErrNotFound }

// parent returns the instance called name, for its data.
func (e *Engine) parent(name string) (*instance.Instance, error) {
	if err := instance.CheckName(name); err != nil {
		return nil, err
	}
	r, err := e.Registry.Get(name)
	if errors.Is(err, instance.ErrNotFound) {
		return nil, noParentError{name: name}
	}
	if err != nil {
		return nil, err
	}
	state, err := r.State()
	if err != nil {
		return nil, err
	}
	if state.Phase == instance.Gone {
		return nil, noParentError{name: name, gone: true}
	}
	return e.Registry.Open(name)
}

// checkParent refuses an instance that is to be made of itself, which would wait for
// itself.
func checkParent(o instance.Order) error {
	if image.SourceInstance(o.Spec.From) != o.Name {
		return nil
	}
	return RequestError{fmt.Errorf("make instance %s: it cannot be made of itself\nhint: ramaria mark %s LABEL keeps its data, and ramaria rewind %s LABEL puts it back", o.Name, o.Name, o.Name)}
}

// explainParent tells of an instance that cannot be made again, because it was made of another one
// that is gone, what became of the two.
func explainParent(err error, r *instance.Record, spec instance.Spec) error {
	var no noParentError
	if !errors.As(err, &no) || !slices.Equal(r.Spec.From, spec.From) {
		return err
	}
	state, serr := r.State()
	if serr != nil {
		return errors.Join(err, serr)
	}
	parent := "instance " + no.name + " no longer exists"
	if no.gone {
		parent = "instance " + no.name + " went with its volume"
	}
	if state.Phase != instance.Gone {
		return explainedError{no, fmt.Sprintf("make instance %s again: it is a copy of instance %s, and %s\nhint: ramaria up %s goes on with the data it has", r.Name, no.name, parent, r.Name)}
	}
	hint := fmt.Sprintf("make %s again first (ramaria up %s --from SOURCE), or ramaria up %s --fresh --from SOURCE, or ramaria down %s --rm", no.name, no.name, r.Name, r.Name)
	if no.gone {
		hint = fmt.Sprintf("ramaria up %s, then ramaria up %s, which copies it as it is then", no.name, r.Name)
	}
	return explainedError{no, fmt.Sprintf("make instance %s again: it was a copy of instance %s, its data went with the %s volume, and %s\nhint: %s", r.Name, no.name, r.Volume, parent, hint)}
}

// explainedError is an error told in other words.
type explainedError struct {
	error
	text string
}

func (e explainedError) Error() string { return e.text }
func (e explainedError) Unwrap() error { return e.error }

// software is the --server of what is to be made; that of the instance whose data it is
// made of, unless another was asked for that it is not.
func (e *Engine) software(spec instance.Spec) (string, error) {
	name := image.SourceInstance(spec.From)
	if name == "" {
		return spec.Server, nil
	}
	i, err := e.parent(name)
	if err != nil {
		return "", err
	}
	own, err := software.Fulfils(i.Server, spec.Server)
	if err != nil {
		return "", RequestError{err}
	}
	if own {
		spec.Server = ""
	}
	return cmp.Or(spec.Server, i.Spec.Server, fmt.Sprintf("%s:%s", i.Server.Flavour, i.Server.Version.Series())), nil
}

// withInstanceData calls use with the data of an instance as it is now: a mark of one that runs,
// or the data directory of one that does not, which cannot start meanwhile. It is an
// image.Instances.
func (e *Engine) withInstanceData(ctx context.Context, name string, use func(image.InstanceData) error) error {
	i, err := e.parent(name)
	if err != nil {
		return err
	}
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	patience := time.AfterFunc(parentTimeout, func() {
		cancel(fmt.Errorf("use source instance:%s: another command has been at work on it for %s\nhint: ramaria status %s", name, parentTimeout, name))
	})
	defer patience.Stop()
	err = e.onlineOrOffline(waiting, i.Name, "copy", func(c *client.Client) error {
		patience.Stop()
		err := e.withTempMark(ctx, name, c, use)
		if errors.Is(err, client.ErrNoServer) {
			patience.Reset(parentTimeout) // it has just ended: its name is going to be waited for
		}
		return err
	}, func(i *instance.Instance, _ *instance.Store) error {
		patience.Stop()
		state, err := i.State()
		if err != nil {
			return err
		}
		if state.Phase == instance.Crashed {
			e.note("instance %s was not shut down cleanly; its data is recovered in the copy", name)
		}
		data, err := instanceData(i, i.DataDir(), time.Now())
		if err != nil {
			return err
		}
		data.Clean = state.Phase == instance.Stopped
		return use(data)
	})
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		return context.Cause(waiting)
	}
	return err
}

func instanceData(i *instance.Instance, dir string, at time.Time) (image.InstanceData, error) {
	leases, kept, wake, err := pool.Left(i.PoolPath())
	return image.InstanceData{
		Dir: dir, Time: at, Server: i.Server, Supervisor: i.Supervisor, App: i.Endpoint.Login, Leases: leases, Kept: kept, Wake: wake, Database: i.Endpoint.Database,
	}, err
}

// forgetImage removes the image of an instance that was made of another one: no recipe
// gives it ever again, and in most volumes it takes as much room as the instance.
func (e *Engine) forgetImage(ctx context.Context, i *instance.Instance, p *prepared) error {
	i.Image = ""
	if err := i.Save(); err != nil {
		return errors.Join(err, e.instances(p.volume).Remove(context.WithoutCancel(ctx), &i.Record))
	}
	images, err := e.Images(p.volume)
	if err == nil {
		err = images.Discard(context.WithoutCancel(ctx), p.image)
	}
	if err != nil {
		e.note("warning: image %s, which nothing uses, is still there: %s", p.image.ID, err)
	}
	return nil
}

var _ image.Instances = (*Engine)(nil).withInstanceData
