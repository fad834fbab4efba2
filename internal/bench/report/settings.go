package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// setting is what one or more scenarios have in common.
type setting struct {
	Name, Value string
	Of          []string // the scenarios, none for all
}

// settingsOf lists the settings of all sections, each value once, by name: first those of all
// scenarios, then the others in the order of the sections.
func settingsOf(sections []section) []setting {
	var list []setting
	for i, s := range sections {
		for _, p := range s.Settings {
			at := slices.IndexFunc(list, func(have setting) bool { return have.Name == p.Name && have.Value == p.Value })
			if at < 0 {
				at = len(list)
				list = append(list, setting{Name: p.Name, Value: p.Value})
			}
			list[at].Of = append(list[at].Of, labelOf(sections, i))
		}
	}
	for i := range list {
		if len(list[i].Of) == len(sections) {
			list[i].Of = nil
		}
	}
	slices.SortStableFunc(list, func(a, b setting) int {
		return cmp.Or(cmp.Compare(min(len(a.Of), 1), min(len(b.Of), 1)), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// labelOf is the name of a section, with a number where the scenario comes again.
func labelOf(sections []section, at int) string {
	name, before, all := sections[at].Name, 0, 0
	for i, s := range sections {
		if s.Name == name {
			all++
			if i <= at {
				before++
			}
		}
	}
	if all == 1 {
		return name
	}
	return fmt.Sprintf("%s (%d)", name, before)
}

// writeSettings writes them folded: they are long, and the same for most scenarios.
func writeSettings(b *strings.Builder, list []setting) {
	if len(list) == 0 {
		return
	}
	b.WriteString("\n## Settings\n\n<details><summary>All settings, each once</summary>\n\n")
	for _, s := range list {
		of := ""
		if len(s.Of) > 0 {
			of = " (" + strings.Join(s.Of, ", ") + ")"
		}
		fmt.Fprintf(b, "- %s%s: %s\n", escape(s.Name), escape(of), escape(s.Value))
	}
	b.WriteString("\n</details>\n")
}
