package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// ErrNoVolume says that there is no volume of the kind asked for.
var ErrNoVolume = errors.New("not found")

// VolumeRemoved says what the removal of a volume freed.
type VolumeRemoved struct {
	Kind volume.Kind
	Dir  string
	// Lost says that the home of the volume does not exist.
	Lost bool
	// Bytes is how many bytes were freed: of memory, or of the disk for kind disk.
	Bytes int64
	// Users are the processes that hold on to the volume's memory until they end.
	Users []string
}

// RemoveVolume removes this home's volume of a kind, with its images; with force also with its
// instances, even running ones. Without force a volume with instances is an error.
func (e *Engine) RemoveVolume(ctx context.Context, kind volume.Kind, force bool) (VolumeRemoved, error) {
	return e.removeVolume(ctx, e.Opener().At(kind), force)
}

// removeVolume removes a volume of this home.
func (e *Engine) removeVolume(ctx context.Context, v volume.Volume, force bool) (VolumeRemoved, error) {
	kind := v.Kind()
	records, err := e.Registry.List()
	if err != nil {
		return VolumeRemoved{}, err
	}
	if err := e.bringHome(ctx, v, records, force); err != nil {
		return VolumeRemoved{}, err
	}
	records = slices.DeleteFunc(records, func(r *instance.Record) bool { return filepath.Dir(filepath.Dir(r.Dir)) != v.Dir() })
	if !force {
		if err := e.refuseInstances(kind, records); err != nil {
			return VolumeRemoved{}, err
		}
	}
	for _, r := range records {
		if !force {
			break
		}
		if err := e.refuseAdopted("remove the volume of", r.Name); err != nil {
			return VolumeRemoved{}, err
		}
	}
	held := volume.Usage{}
	if u, err := v.Usage(); err == nil { // one that has failed does not tell
		held = u
	}
	for _, r := range records {
		if !force {
			break // those that are left are gone, with an earlier volume
		}
		if err := e.endFor(ctx, r, kind); err != nil {
			return VolumeRemoved{}, err
		}
	}
	if force {
		if err := e.endUnknown(ctx, v.Dir()); err != nil {
			return VolumeRemoved{}, fmt.Errorf("remove volume %s: %w", kind, err)
		}
	}
	var users []string
	if force && kind != volume.Disk && kind != volume.Shm {
		users = volume.Users(v.Dir())
	}
	if err := v.Destroy(ctx, force); err != nil {
		return VolumeRemoved{}, err
	}
	for _, r := range records {
		if !force {
			break // up makes those again from their records
		}
		if err := e.forget(ctx, v, r); err != nil {
			return VolumeRemoved{}, err
		}
	}
	removed := VolumeRemoved{Kind: kind, Dir: v.Dir(), Bytes: held.Memory, Users: users}
	if kind == volume.Disk {
		removed.Bytes = held.Used
	}
	return removed, nil
}

// bringHome lets the sockets of instances that were moved out of a volume, which stayed in it, lie with their data. An
// instance that runs keeps the volume, unless force says that its sockets may go: it is reached by TCP then.
func (e *Engine) bringHome(ctx context.Context, v volume.Volume, records []*instance.Record, force bool) error {
	for _, r := range records {
		if r.Front == "" || filepath.Dir(filepath.Dir(r.Front)) != v.Dir() {
			continue
		}
		state, err := r.State()
		if err != nil {
			return err
		}
		if state.Phase.Alive() {
			if force {
				continue
			}
			return fmt.Errorf("remove volume %s: %w: the sockets of instance %s, which was moved to volume %s, stayed in it\nhint: ramaria down %s && ramaria volume rm %s && ramaria up %[3]s; with --force only the port is left",
				v.Kind(), volume.ErrInUse, r.Name, r.Volume, r.Name, v.Kind())
		}
		if err := e.bringOneHome(ctx, r); err != nil {
			return fmt.Errorf("remove volume %s: %w", v.Kind(), err)
		}
	}
	return nil
}

func (e *Engine) bringOneHome(ctx context.Context, r *instance.Record) error {
	lock, err := e.lockName(ctx, r.Name)
	if err != nil {
		return err
	}
	i, err := e.Registry.Open(r.Name)
	if err == nil {
		var in volume.Volume
		if in, err = e.volumeOf(ctx, &i.Record); err == nil {
			err = e.instances(in).BringHome(i, true)
		}
	}
	return errors.Join(err, lock.Unlock())
}

// refuseInstances is the error if there is an instance, with what to do about it.
func (e *Engine) refuseInstances(kind volume.Kind, records []*instance.Record) error {
	var names []string
	name := ""
	for _, r := range records {
		state, err := r.State()
		if err != nil || state.Phase == instance.Gone {
			continue // there is nothing of it in the volume, or it cannot be read
		}
		name = r.Name
		names = append(names, fmt.Sprintf("%s (%s)", r.Name, state.Phase))
	}
	if len(names) == 0 {
		return nil
	}
	each := "ramaria down NAME --rm for each"
	if len(names) == 1 {
		each = "ramaria down " + name + " --rm first"
	}
	return fmt.Errorf("remove volume %s: %w by %s\nhint: %s, or ramaria volume rm %s --force, which removes instances too",
		kind, volume.ErrInUse, strings.Join(names, ", "), each, kind)
}

// endFor ends the supervisor of an instance whose volume is going to be removed. A
// `ramaria run` is told to end, and clears up itself.
func (e *Engine) endFor(ctx context.Context, r *instance.Record, kind volume.Kind) error {
	s := syscall.SIGQUIT
	if r.Passing {
		s = syscall.SIGTERM
	}
	if err := e.signal(ctx, r, s); err != nil && !errors.Is(err, syscall.EIO) {
		return fmt.Errorf("remove volume %s: %w", kind, err)
	}
	return nil
}

// forget removes what is left of an instance outside its volume, which is gone.
func (e *Engine) forget(ctx context.Context, v volume.Volume, r *instance.Record) error {
	lock, err := e.lockName(ctx, r.Name)
	if err != nil {
		return err
	}
	if _, err := e.Registry.Get(r.Name); err != nil { // a `run` that has removed it itself
		return lock.UnlockRemove()
	}
	if err := e.instances(v).Remove(ctx, r); err != nil {
		return errors.Join(err, lock.Unlock())
	}
	e.note("removed instance %s", r.Name)
	return errors.Join(e.removeService(ctx, r.Name), e.leaveArchive(ctx, r, false), lock.UnlockRemove())
}
