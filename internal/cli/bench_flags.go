package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/scenario"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/suite"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// takes says whether a flag changes anything in a scenario, with the places that were asked for.
func (o *benchOptions) takes(k scenario.Kind, flag string) bool {
	return k.Takes(flag) && (flag != scenario.FlagVolume || o.hasVolumes(k))
}

// hasVolumes says whether --place, or the places of ways, leave rows of a scenario that are on a volume of --volume.
func (o *benchOptions) hasVolumes(k scenario.Kind) bool {
	onVolume := func(places ...string) bool {
		return len(places) == 0 || slices.Contains(places, lab.PlaceRamaria) || slices.Contains(places, lab.PlaceLogOff)
	}
	if k.Name != benchSuite {
		return !k.Takes(scenario.FlagPlace) || onVolume(o.options.Places...)
	}
	return slices.ContainsFunc(o.ways, func(w suite.Way) bool {
		if w.Place != "" {
			return onVolume(w.Place)
		}
		return onVolume(o.options.Places...)
	})
}

// offVolumes refuses --volume where no row is on one.
func (o *benchOptions) offVolumes() error {
	asked, hint := "--place "+strings.Join(o.options.Places, ","), "--place "+lab.PlaceRamaria
	if len(o.options.Places) == 0 {
		asked, hint = "--way", "--way NAME@"+lab.PlaceRamaria+"=COMMAND"
	}
	return fmt.Errorf("use --%s: no row of %s is on a volume of ramaria's\nhint: %s as well", scenario.FlagVolume, asked, hint)
}

// fit refuses flags that a named scenario does not take; of all scenarios it says which do
// without them, and which are left out.
func (o *benchOptions) fit(a *app, kinds []scenario.Kind, all bool) error {
	if all && o.options.Quick {
		a.say("--quick leaves out what takes long to prepare: %s", namesOf(scenario.Kinds, func(k scenario.Kind) bool {
			return !slices.ContainsFunc(kinds, func(in scenario.Kind) bool { return in.Name == k.Name })
		}))
	}
	for _, flag := range o.given() {
		list := namesOf(kinds, func(k scenario.Kind) bool { return !o.takes(k, flag) })
		switch {
		case list == "":
		case all:
			a.say("--%s changes nothing in: %s", flag, list)
		case namesOf(kinds, func(k scenario.Kind) bool { return !k.Takes(flag) }) == "":
			return o.offVolumes()
		default:
			takers := namesOf(append(slices.Clone(scenario.Kinds), scenario.SuiteKind()), func(k scenario.Kind) bool { return k.Takes(flag) })
			return fmt.Errorf("use --%s: it changes nothing in: %s\nhint: it is for %s", flag, list, takers)
		}
	}
	if len(o.volumes) < 2 {
		return nil
	}
	list := namesOf(kinds, func(k scenario.Kind) bool { return k.OneVolume })
	switch {
	case list == "":
	case all:
		a.say("only the first --volume counts in: %s", list)
	default:
		return errors.New("use --volume: only one counts in: " + list + "\nhint: --volume " + o.volumes[0])
	}
	return nil
}

// given are the flags that were typed of those that not all scenarios take.
func (o *benchOptions) given() []string {
	var list []string
	for _, f := range []struct {
		name  string
		typed bool
	}{
		{scenario.FlagPlace, len(o.options.Places) > 0}, {scenario.FlagVolume, len(o.volumes) > 0}, {scenario.FlagThreads, len(o.options.Threads) > 0},
		{scenario.FlagWorkload, len(o.options.Workloads) > 0}, {scenario.FlagWrites, len(o.writes) > 0},
		{scenario.FlagScale, o.options.Scale != 1}, {scenario.FlagDump, o.options.Dump != ""},
	} {
		if f.typed {
			list = append(list, f.name)
		}
	}
	return list
}

func namesOf(kinds []scenario.Kind, want func(scenario.Kind) bool) string {
	var names []string
	for _, k := range kinds {
		if want(k) {
			names = append(names, k.Name)
		}
	}
	return strings.Join(names, ", ")
}

// typed are the flags that a scenario takes as they can be typed again, each with a space
// before it, but for those that choose rows.
func (o *benchOptions) typed(k scenario.Kind) string {
	var b strings.Builder
	addFlag(&b, "server", o.server)
	addFlag(&b, "disk", o.disk)
	if o.rounds != 0 {
		addFlag(&b, "rounds", fmt.Sprint(o.rounds))
	}
	if o.bounded {
		addFlag(&b, "time", o.time.String())
	}
	if o.options.Scale != 1 && k.Takes(scenario.FlagScale) {
		addFlag(&b, scenario.FlagScale, fmt.Sprint(o.options.Scale))
	}
	if k.Takes(scenario.FlagDump) {
		addFlag(&b, scenario.FlagDump, o.options.Dump)
	}
	if o.options.Quick {
		b.WriteString(" --quick")
	}
	return b.String()
}

// again is the command that repeats a scenario as it was measured.
func (o *benchOptions) again(k scenario.Kind) string {
	var b strings.Builder
	b.WriteString("ramaria bench " + k.Name + o.typed(k))
	if k.Takes(scenario.FlagPlace) {
		addFlag(&b, scenario.FlagPlace, strings.Join(o.options.Places, ","))
	}
	if o.takes(k, scenario.FlagVolume) {
		volumes := o.volumes
		if k.OneVolume && len(volumes) > 1 { // the first in RAM
			volumes = slices.DeleteFunc(slices.Clone(volumes), func(v string) bool { return v == string(volume.Disk) })[:1]
		}
		addFlag(&b, scenario.FlagVolume, strings.Join(volumes, ","))
	}
	if k.Takes(scenario.FlagThreads) {
		addFlag(&b, scenario.FlagThreads, strings.Trim(strings.ReplaceAll(fmt.Sprint(o.options.Threads), " ", ","), "[]"))
	}
	if k.Takes(scenario.FlagWorkload) {
		addFlag(&b, scenario.FlagWorkload, strings.Join(o.options.Workloads, ","))
	}
	if k.Takes(scenario.FlagWrites) {
		addFlag(&b, scenario.FlagWrites, strings.Join(o.writes, ","))
	}
	for _, w := range o.ways {
		if k.Name == benchSuite && w.Name != "" {
			addFlag(&b, "way", w.String())
		}
	}
	if k.Name == benchSuite && len(o.command) > 0 {
		b.WriteString(" --")
		for _, arg := range o.command {
			b.WriteString(" " + server.ShellWord(arg))
		}
	}
	return b.String()
}

// addFlag adds a flag to a command that can be typed, unless it has no value.
func addFlag(b *strings.Builder, flag, value string) {
	if value != "" {
		b.WriteString(" --" + flag + " " + server.ShellWord(value))
	}
}
