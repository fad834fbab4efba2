package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// fsyncFactor is how far the measured fsync of two machines, or of one at two times,
// must be apart to be told: below, it is the disk's own noise.
const fsyncFactor = 2

// differing says what else differs between two rows: their settings, and the machine.
func differing(a, b *pool) []Fact {
	title := func(r *Result, _ *Row) string { return r.Title }
	list := appendDiffering(nil, "title", a.join(title), b.join(title))
	settingsA, settingsB := a.settings(), b.settings()
	names := slices.AppendSeq(slices.Collect(maps.Keys(settingsA)), maps.Keys(settingsB))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		list = appendDiffering(list, name, settingsA[name], settingsB[name])
	}
	list = appendDiffering(list, "interrupted", a.join(interruptedOf), b.join(interruptedOf))
	list = appendDiffering(list, "ramaria", a.join(versionOf), b.join(versionOf))
	list = appendDiffering(list, "measured", a.join(dayOf), b.join(dayOf))
	for _, fact := range machineFacts {
		of := func(r *Result, _ *Row) string { return fact.of(&r.Machine) }
		list = appendDiffering(list, fact.name, a.join(of), b.join(of))
	}
	return append(list, differingDirectories(&a.results[0].Machine, &b.results[0].Machine)...)
}

func appendDiffering(list []Fact, name, a, b string) []Fact {
	if a == b {
		return list
	}
	return append(list, Fact{name, a, b})
}

// settings are those of all runs; what differs between them stands side by side.
func (p *pool) settings() map[string]string {
	all := map[string]string{}
	for _, r := range p.results {
		for name := range r.Settings {
			if _, known := all[name]; known {
				continue
			}
			all[name] = p.join(func(r *Result, _ *Row) string { return r.Settings[name] })
		}
	}
	if own := p.join(func(_ *Result, row *Row) string { return row.Settings }); own != "" {
		all[settingRow] = own
	}
	return all
}

// join tells a fact of all runs, each value once.
func (p *pool) join(of func(*Result, *Row) string) string {
	var values []string
	for i, r := range p.results {
		if v := of(r, p.rows[i]); v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return strings.Join(values, " | ")
}

func interruptedOf(r *Result, _ *Row) string {
	if r.Interrupted {
		return "yes"
	}
	return ""
}

func versionOf(r *Result, _ *Row) string { return r.Ramaria }

// dayOf is the day of a run: every scenario of a run has a time of its own.
func dayOf(r *Result, _ *Row) string {
	if r.Time.IsZero() {
		return ""
	}
	return r.Time.Format(time.DateOnly)
}

type machineFact struct {
	name string
	of   func(*Machine) string
}

// machineFacts are those that tell machines apart, as they are shown.
var machineFacts = []machineFact{
	{"cpu", func(m *Machine) string { return m.CPU }},
	{"cores", func(m *Machine) string { return fmt.Sprint(m.Cores) }},
	{"memory", func(m *Machine) string { return Bytes.Format(float64(m.MemoryBytes)) }},
	{"kernel", func(m *Machine) string { return m.Kernel }},
	{"system", func(m *Machine) string { return m.System }},
}

// differingDirectories compares the directories that both machines have; those of the first run.
func differingDirectories(a, b *Machine) []Fact {
	var list []Fact
	for _, p := range a.Directories {
		i := slices.IndexFunc(b.Directories, func(o Directory) bool { return o.Name == p.Name })
		if i < 0 {
			continue
		}
		o := b.Directories[i]
		list = appendDiffering(list, p.Name+": file system", p.Filesystem, o.Filesystem)
		if fsyncDiffers(p.FsyncP50, o.FsyncP50) {
			list = append(list, Fact{p.Name + ": fsync p50", Seconds.Format(p.FsyncP50), Seconds.Format(o.FsyncP50)})
		}
		if fsyncDiffers(p.FsyncP99, o.FsyncP99) {
			list = append(list, Fact{p.Name + ": fsync p99", Seconds.Format(p.FsyncP99), Seconds.Format(o.FsyncP99)})
		}
	}
	return list
}

// fsyncDiffers has nothing to say of what was not measured.
func fsyncDiffers(a, b float64) bool {
	return min(a, b) > 0 && max(a, b) > fsyncFactor*min(a, b)
}
