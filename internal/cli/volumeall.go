package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// foundVolume is what `volume ls --all-homes` says of one volume; see docs/json.md.
type foundVolume struct {
	Kind      volume.Kind `json:"kind"`
	Dir       string      `json:"dir"`
	Memory    int64       `json:"memory"`
	Instances []string    `json:"instances"`
	// Running are those of them whose supervisors live.
	Running []string `json:"running"`
	// Home is whose it is: "this", a --home or a state directory, "" if that is unknown.
	Home string `json:"home,omitempty"`
	// Lost says that this home cannot be found from here.
	Lost  bool   `json:"lost,omitempty"`
	Error string `json:"error,omitempty"`
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

// allVolumes looks at the volumes in RAM of all homes.
func (a *app) allVolumes() ([]foundVolume, error) {
	found, err := a.opener().All()
	if err != nil {
		return nil, err
	}
	all := []foundVolume{}
	for _, f := range found {
		l := foundVolume{Kind: f.Kind, Dir: f.Dir, Home: homeOf(f), Lost: !f.Ours && !f.Lives, Instances: []string{}, Running: []string{}}
		names, err := volume.Instances(f.Dir)
		l.Instances = append(l.Instances, names...)
		holders, herr := volume.Holders(f.Dir)
		for _, h := range holders {
			if h.Instance != "" {
				l.Running = append(l.Running, h.Instance)
			}
		}
		u, uerr := a.opener().In(volume.Spec{Kind: f.Kind}, f.Dir).Usage()
		l.Memory = u.Memory
		if err := errors.Join(err, herr); err != nil || f.Mounted && uerr != nil {
			l.Error = errors.Join(err, uerr).Error()
		}
		all = append(all, l)
	}
	return all, nil
}

func runVolumeLsAll(a *app, asJSON bool) error {
	all, err := a.allVolumes()
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(all)
	}
	if len(all) == 0 {
		a.say("no volumes in memory, of any home")
		return nil
	}
	t := newTable("KIND", "RAM", "INSTANCES", "RUNNING", "HOME", "DIRECTORY")
	for _, l := range all {
		home := l.Home
		if home == "" {
			home = "unknown"
		} else if l.Lost {
			home += " (not there)"
		}
		t.row(string(l.Kind), volume.FormatBytes(l.Memory), strconv.Itoa(len(l.Instances)), strconv.Itoa(len(l.Running)), home, l.Dir)
	}
	t.print(a.stdout)
	for _, l := range all {
		if l.Error != "" {
			a.say("warning: %s: %s", l.Dir, l.Error)
		}
		if l.Lost {
			a.say("hint: %s frees %s", releaseHint(l), volume.FormatBytes(l.Memory))
		}
	}
	return nil
}

// releaseHint is the command that frees a volume whose home is not there.
func releaseHint(l foundVolume) string {
	hint := "ramaria volume rm " + l.Dir
	if len(l.Instances) > 0 {
		hint += " --force"
	}
	return hint
}

// doctorLost tells what homes that are gone have left in memory.
func (a *app) doctorLost(context.Context) []finding {
	all, err := a.allVolumes()
	if err != nil {
		return []finding{{"volume", "note", err.Error(), ""}}
	}
	var out []finding
	for _, l := range all {
		if !l.Lost {
			continue
		}
		home := "a home that is not known"
		if l.Home != "" {
			home = "the home " + l.Home + ", which is not there (removed, or another container's)"
		}
		text := fmt.Sprintf("%s takes %s for %s", l.Dir, volume.FormatBytes(l.Memory), home)
		if len(l.Running) > 0 {
			text += "; running there: " + strings.Join(l.Running, ", ")
		}
		out = append(out, finding{"volume", "note", text, releaseHint(l)})
	}
	return out
}

// removeFound removes the volume at a directory, whose home may be gone.
func (a *app) removeFound(ctx context.Context, dir string, force bool) error {
	what := "remove volume " + dir
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	all, err := a.opener().All()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(f volume.Found) bool { return f.Dir == dir })
	switch {
	case i < 0:
		return fmt.Errorf("%s: it is no volume in memory of yours\nhint: ramaria volume ls --all-homes", what)
	case all[i].Ours:
		return a.removeVolume(ctx, a.opener().In(volume.Spec{Kind: all[i].Kind}, dir), force)
	case all[i].Lives && all[i].Owner.Home != "":
		return fmt.Errorf("%s: it belongs to the home %s\nhint: ramaria --home %s volume rm %s", what, all[i].Owner.Home, all[i].Owner.Home, all[i].Kind)
	case all[i].Lives:
		return fmt.Errorf("%s: it belongs to the state directory %s\nhint: XDG_STATE_HOME=%s ramaria volume rm %s", what, all[i].Owner.State, filepath.Dir(all[i].Owner.State), all[i].Kind)
	}
	return a.release(ctx, all[i], force)
}

// release removes a volume whose home is not there.
func (a *app) release(ctx context.Context, f volume.Found, force bool) error {
	what := "remove volume " + f.Dir
	names, err := volume.Instances(f.Dir)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if len(names) > 0 && !force {
		return fmt.Errorf("%s: %w: it holds the instances %s\nhint: ramaria volume rm %s --force removes them too, running or not", what, volume.ErrInUse, strings.Join(names, ", "), f.Dir)
	}
	holders, err := volume.Holders(f.Dir)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	for _, h := range holders {
		if h.Instance == "" {
			return fmt.Errorf("%s: %w: somebody holds %s\nhint: fuser -v %s names the process; end it, or wait for it", what, volume.ErrInUse, h.Path, h.Path)
		}
		if err := a.endLost(ctx, h); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	u, _ := a.opener().In(volume.Spec{Kind: f.Kind}, f.Dir).Usage() // only to tell
	if err := a.opener().Release(ctx, f, force); err != nil {
		return err
	}
	for _, name := range names {
		a.removeSockets(filepath.Join(f.Dir, "instances", name), f.Owner.Registry)
	}
	a.say("removed volume %s, %s of memory came back", f.Dir, volume.FormatBytes(u.Memory))
	return nil
}

// endUnknown ends the supervisors in a volume that no record knows of.
func (a *app) endUnknown(ctx context.Context, dir string) error {
	holders, err := volume.Holders(dir)
	for _, h := range holders {
		if h.Instance != "" && err == nil {
			err = a.endLost(ctx, h)
		}
	}
	if errors.Is(err, syscall.EIO) { // it has failed, and is taken away for that
		return nil
	}
	return err
}

// endLost ends a supervisor that no record knows of, by the number in its lock.
func (a *app) endLost(ctx context.Context, h volume.Holder) error {
	b, err := os.ReadFile(h.Path)
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
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
func (a *app) removeSockets(dir, registry string) {
	run := host.RunDir(dir, a.uid, registry)
	if filepath.Dir(run) == dir {
		return
	}
	for _, path := range []string{run, run + "-api"} {
		if err := os.RemoveAll(path); err != nil {
			a.say("warning: %s", err)
		}
	}
}
