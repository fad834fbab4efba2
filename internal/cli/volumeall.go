package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

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
	found, err := a.engine.Opener().All()
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
		u, uerr := a.engine.Opener().In(volume.Spec{Kind: f.Kind}, f.Dir).Usage()
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
