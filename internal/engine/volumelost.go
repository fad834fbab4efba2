package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// RemoveVolumeAt removes the volume in a directory, whose home may be gone; with force also
// with its instances, even running ones.
func (e *Engine) RemoveVolumeAt(ctx context.Context, dir string, force bool) (VolumeRemoved, error) {
	what := "remove volume " + dir
	dir, err := filepath.Abs(dir)
	if err != nil {
		return VolumeRemoved{}, fmt.Errorf("%s: %w", what, err)
	}
	all, err := e.Opener().All()
	if err != nil {
		return VolumeRemoved{}, err
	}
	i := slices.IndexFunc(all, func(f volume.Found) bool { return f.Dir == dir })
	switch {
	case i < 0:
		return VolumeRemoved{}, fmt.Errorf("%s: %w: it is no volume in memory of yours\nhint: ramaria volume ls --all-homes", what, ErrNoVolume)
	case all[i].Ours:
		return e.removeVolume(ctx, e.Opener().In(volume.Spec{Kind: all[i].Kind}, dir), force)
	case all[i].Lives && all[i].Owner.Home != "":
		return VolumeRemoved{}, fmt.Errorf("%s: it belongs to the home %s\nhint: %s", what, all[i].Owner.Home, ownersCommand(all[i]))
	case all[i].Lives:
		return VolumeRemoved{}, fmt.Errorf("%s: it belongs to the state directory %s\nhint: %s", what, all[i].Owner.State, ownersCommand(all[i]))
	}
	return e.release(ctx, all[i], force)
}

// ownersCommand removes a volume where its home is.
func ownersCommand(f volume.Found) string {
	if f.Owner.Home != "" {
		return fmt.Sprintf("ramaria --home %s volume rm %s", f.Owner.Home, f.Kind)
	}
	return fmt.Sprintf("XDG_STATE_HOME=%s ramaria volume rm %s", filepath.Dir(f.Owner.State), f.Kind)
}

// release removes a volume whose home is not there.
func (e *Engine) release(ctx context.Context, f volume.Found, force bool) (VolumeRemoved, error) {
	what := "remove volume " + f.Dir
	names, err := volume.Instances(f.Dir)
	if err != nil {
		return VolumeRemoved{}, fmt.Errorf("%s: %w", what, err)
	}
	if len(names) > 0 && !force {
		return VolumeRemoved{}, fmt.Errorf("%s: %w: it holds the instances %s\nhint: ramaria volume rm %s --force removes them too, running or not", what, volume.ErrInUse, strings.Join(names, ", "), f.Dir)
	}
	holders, err := volume.Holders(f.Dir)
	if err != nil {
		return VolumeRemoved{}, fmt.Errorf("%s: %w", what, err)
	}
	if elsewhere(f, holders) {
		return VolumeRemoved{}, fmt.Errorf("%s: %w: instances run in it, and belong to the home %s of another container or chroot\nhint: there: %s --force", what, volume.ErrInUse, homeOf(f), ownersCommand(f))
	}
	for _, h := range holders {
		if h.Instance == "" {
			return VolumeRemoved{}, fmt.Errorf("%s: %w: a process holds %s\nhint: fuser -v %s names the process; end it, or wait for it", what, volume.ErrInUse, h.Path, h.Path)
		}
		if err := e.endLost(ctx, h); err != nil {
			return VolumeRemoved{}, fmt.Errorf("%s: %w", what, err)
		}
	}
	u, _ := e.Opener().In(volume.Spec{Kind: f.Kind}, f.Dir).Usage() // only to tell
	if err := e.Opener().Release(ctx, f, force); err != nil {
		return VolumeRemoved{}, err
	}
	for _, name := range names {
		e.removeSockets(filepath.Join(f.Dir, "instances", name), f.Owner.Registry)
	}
	return VolumeRemoved{Kind: f.Kind, Dir: f.Dir, Lost: true, Bytes: u.Memory}, nil
}

// endUnknown ends the supervisors in a volume that no record knows of.
func (e *Engine) endUnknown(ctx context.Context, dir string) error {
	holders, err := volume.Holders(dir)
	for _, h := range holders {
		if h.Instance != "" && err == nil {
			err = e.endLost(ctx, h)
		}
	}
	if errors.Is(err, syscall.EIO) { // it has failed, and is taken away for that
		return nil
	}
	return err
}

// endLost ends a supervisor that no record knows of, by the number in its lock.
func (e *Engine) endLost(ctx context.Context, h volume.Holder) error {
	pid, err := holderPID(h)
	if unread := (*os.PathError)(nil); errors.As(err, &unread) {
		return err
	}
	if err != nil {
		return fmt.Errorf("the supervisor of %s has not said which process it is\nhint: fuser -v %s", h.Instance, h.Path)
	}
	s := syscall.SIGTERM // a `ramaria run`, which clears up itself
	if sys.HasArg(pid, "supervise") {
		s = syscall.SIGQUIT
	}
	err = endHolder(ctx, h.Instance, h.Path, pid, s)
	if errors.Is(err, syscall.EIO) {
		return nil
	}
	return err
}

// removeSockets removes the directories of sockets, in /tmp, of what lay in dir.
func (e *Engine) removeSockets(dir, registry string) {
	run := host.RunDir(dir, e.UID, registry)
	if filepath.Dir(run) == dir {
		return
	}
	for _, path := range []string{run, run + "-api"} {
		if err := os.RemoveAll(path); err != nil {
			e.note("warning: %s", err)
		}
	}
}

// FoundVolume describes a volume in RAM of any home, Memory in bytes; see docs/json.md, volume
// ls --all-homes.
type FoundVolume struct {
	Kind      volume.Kind `json:"kind"`
	Dir       string      `json:"dir"`
	Memory    int64       `json:"memory"`
	Instances []string    `json:"instances"`
	// Running are those instances whose supervisors live.
	Running []string `json:"running"`
	// Home is the home of the volume: "this", a --home or a state directory, "" if unknown.
	Home string `json:"home,omitempty"`
	// Lost says that the home does not exist, as far as this process can see, and Elsewhere that it does for the
	// servers that run: in another container or chroot.
	Lost      bool   `json:"lost,omitempty"`
	Elsewhere bool   `json:"elsewhere,omitempty"`
	Error     string `json:"error,omitempty"`

	found volume.Found
}

// homeOf tells people whose a volume is.
func homeOf(f volume.Found) string {
	switch {
	case f.Ours:
		return "this"
	case f.Owner.Home != "":
		return f.Owner.Home
	}
	return f.Owner.State
}

// AllVolumes lists the volumes in RAM of all homes of the user.
func (e *Engine) AllVolumes() ([]FoundVolume, error) {
	found, err := e.Opener().All()
	if err != nil {
		return nil, err
	}
	all := []FoundVolume{}
	for _, f := range found {
		l := FoundVolume{Kind: f.Kind, Dir: f.Dir, Home: homeOf(f), Instances: []string{}, Running: []string{}, found: f}
		names, err := volume.Instances(f.Dir)
		l.Instances = append(l.Instances, names...)
		holders, herr := volume.Holders(f.Dir)
		l.Elsewhere = elsewhere(f, holders)
		l.Lost = !f.Ours && !f.Lives && !l.Elsewhere
		for _, h := range holders {
			if h.Instance != "" {
				l.Running = append(l.Running, h.Instance)
			}
		}
		u, uerr := e.Opener().In(volume.Spec{Kind: f.Kind}, f.Dir).Usage()
		l.Memory = u.Memory
		if err := errors.Join(err, herr); err != nil || f.Mounted && uerr != nil {
			l.Error = errors.Join(err, uerr).Error()
		}
		all = append(all, l)
	}
	return all, nil
}

// ReleaseHint returns the command that frees a volume whose home does not exist.
func (l FoundVolume) ReleaseHint() string {
	hint := "ramaria volume rm " + l.Dir
	if len(l.Instances) > 0 {
		hint += " --force"
	}
	return hint
}

// doctorLost tells what homes that are gone have left in memory.
func (e *Engine) doctorLost(context.Context) []Finding {
	all, err := e.AllVolumes()
	if err != nil {
		return []Finding{{"volume", "note", err.Error(), ""}}
	}
	var out []Finding
	for _, l := range all {
		home, hint := "a home that is not known", l.ReleaseHint()
		switch {
		case l.Elsewhere:
			home, hint = "the home "+l.Home+" of another container or chroot", "there: "+ownersCommand(l.found)
		case !l.Lost:
			continue
		case l.Home != "":
			home = "the home " + l.Home + ", which is not there (removed, or another container's)"
		}
		if l.Lost && len(l.Instances) > 0 {
			hint += ", if no other container has that home"
		}
		text := fmt.Sprintf("%s takes %s for %s", l.Dir, volume.FormatBytes(l.Memory), home)
		if len(l.Running) > 0 {
			text += "; running there: " + strings.Join(l.Running, ", ")
		}
		out = append(out, Finding{"volume", "note", text, hint})
	}
	return out
}
