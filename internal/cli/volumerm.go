package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/volume"
)

type volumeRmOptions struct{ all, force bool }

func newVolumeRm(a *app) *cobra.Command {
	var o volumeRmOptions
	cmd := &cobra.Command{
		Use:   "rm KIND|DIR...",
		Short: "Remove volumes with their images, and give their memory back",
		Long: `Remove volumes with their images, and give their memory back: those of this home by
their kind, and one that a removed home has left by its directory, as
ramaria volume ls --all-homes has it.`,
		Example: `  ramaria volume rm xfs
  ramaria volume rm /dev/shm/ramaria-1000-0f109677
  ramaria volume rm --all --force`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runVolumeRm(cmd.Context(), a, args, o)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if a.open(cmd) != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			var kinds []string
			for _, k := range a.kindsThere() {
				if !slices.Contains(args, string(k)) {
					kinds = append(kinds, string(k))
				}
			}
			return kinds, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "all volumes that are there")
	cmd.Flags().BoolVar(&o.force, "force", false, "with the instances that lie there, running or not; what they hold is lost")
	return cmd
}

func runVolumeRm(ctx context.Context, a *app, args []string, o volumeRmOptions) error {
	if o.all == (len(args) > 0) {
		return usageError{errors.New("remove volumes: name some, or use --all\nhint: ramaria volume ls")}
	}
	kinds := a.kindsThere()
	var dirs []string
	if !o.all {
		there := kinds
		kinds = nil
		for _, arg := range args {
			if strings.Contains(arg, "/") {
				dirs = append(dirs, arg)
				continue
			}
			kind := volume.Kind(arg)
			if !slices.Contains(volume.Kinds, kind) {
				return usageError{fmt.Errorf("remove volume %q: no such kind\nhint: ramaria volume ls", arg)}
			}
			if !slices.Contains(there, kind) {
				return fmt.Errorf("remove volume %s: %w\nhint: ramaria volume ls", kind, errNoVolume)
			}
			kinds = append(kinds, kind)
		}
	}
	var errs []error
	for _, kind := range kinds {
		errs = append(errs, a.removeVolume(ctx, a.opener().At(kind), o.force))
	}
	for _, dir := range dirs {
		errs = append(errs, a.removeFound(ctx, dir, o.force))
	}
	return errors.Join(errs...)
}

// errNoVolume says that there is no volume of a kind.
var errNoVolume = errors.New("there is none")

// removeVolume removes one volume; with force its instances too.
func (a *app) removeVolume(ctx context.Context, v volume.Volume, force bool) error {
	kind := v.Kind()
	records, err := a.registry.List()
	if err != nil {
		return err
	}
	records = slices.DeleteFunc(records, func(r *instance.Record) bool { return filepath.Dir(filepath.Dir(r.Dir)) != v.Dir() })
	if !force {
		if err := a.refuseInstances(kind, records); err != nil {
			return err
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
		if err := a.endFor(ctx, r, kind); err != nil {
			return err
		}
	}
	if force {
		if err := a.endUnknown(ctx, v.Dir()); err != nil {
			return fmt.Errorf("remove volume %s: %w", kind, err)
		}
	}
	users := []string{}
	if force && kind != volume.Disk && kind != volume.Shm {
		users = volume.Users(v.Dir())
	}
	if err := v.Destroy(ctx, force); err != nil {
		return err
	}
	for _, r := range records {
		if !force {
			break // up makes those again from their records
		}
		if err := a.forget(ctx, v, r); err != nil {
			return err
		}
	}
	switch {
	case len(users) > 0:
		a.say("removed volume %s; its memory comes back when these have ended: %s", kind, strings.Join(users, ", "))
	case kind == volume.Disk:
		a.say("removed volume %s, %s of disk came back", kind, volume.FormatBytes(held.Used))
	default:
		a.say("removed volume %s, %s of memory came back", kind, volume.FormatBytes(held.Memory))
	}
	return nil
}

// refuseInstances is the error if there is an instance, with what to do about it.
func (a *app) refuseInstances(kind volume.Kind, records []*instance.Record) error {
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
func (a *app) endFor(ctx context.Context, r *instance.Record, kind volume.Kind) error {
	s := syscall.SIGQUIT
	if r.Passing {
		s = syscall.SIGTERM
	}
	if err := a.signal(ctx, r, s); err != nil && !errors.Is(err, syscall.EIO) {
		return fmt.Errorf("remove volume %s: %w", kind, err)
	}
	return nil
}

// forget removes what is left of an instance outside its volume, which is gone.
func (a *app) forget(ctx context.Context, v volume.Volume, r *instance.Record) error {
	lock, err := a.registry.Lock(ctx, r.Name, func() { a.say("waiting: another command is at work on instance %s", r.Name) })
	if err != nil {
		return err
	}
	if _, err := a.registry.Get(r.Name); err != nil { // a `run` that has removed it itself
		return lock.UnlockRemove()
	}
	if err := a.instances(v).Remove(ctx, r); err != nil {
		return errors.Join(err, lock.Unlock())
	}
	a.say("removed instance %s", r.Name)
	return lock.UnlockRemove()
}
