package cli

import (
	"strconv"

	"github.com/ramaria-db/ramaria/internal/volume"
)

func runVolumeLsAll(a *app, asJSON bool) error {
	all, err := a.engine.AllVolumes()
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
		switch {
		case home == "":
			home = "unknown"
		case l.Lost:
			home += " (not there)"
		case l.Elsewhere:
			home += " (elsewhere)"
		}
		t.row(string(l.Kind), volume.FormatBytes(l.Memory), strconv.Itoa(len(l.Instances)), strconv.Itoa(len(l.Running)), home, l.Dir)
	}
	t.print(a.stdout)
	for _, l := range all {
		if l.Error != "" {
			a.say("warning: %s: %s", l.Dir, l.Error)
		}
		if l.Lost {
			a.say("hint: %s frees %s", l.ReleaseHint(), volume.FormatBytes(l.Memory))
		}
	}
	return nil
}
