package main

import (
	"fmt"
	"slices"
	"strings"
)

// width is that of the terminal that the picture is drawn for, in columns.
const width = 100

// short is how the picture and the table name a package.
func short(path string) string { return strings.TrimPrefix(path, "internal/") }

// picture draws the packages layer by layer, each with what it imports, in the order of the
// list.
func picture(l *list, m *module) string {
	places := l.all()
	order := map[string]int{}
	layerWidth, nameWidth := 0, 0
	for i, p := range places {
		order[p.path] = i
		layerWidth = max(layerWidth, len(p.layer.name))
		nameWidth = max(nameWidth, len(short(p.path)))
	}
	packages := map[string]*pkg{}
	arrows := 0
	for _, p := range m.packages {
		packages[p.path] = p
		arrows += len(p.imports)
	}
	left := fmt.Sprintf("%%2s  %%-%ds  %%-%ds %%5s %%6s  ", layerWidth, nameWidth)
	margin := len(fmt.Sprintf(left, "", "", "", "", ""))

	var b strings.Builder
	line := func(columns, imports string) {
		b.WriteString(strings.TrimRight(columns+imports, " ") + "\n")
	}
	line(fmt.Sprintf(left, "", "layer", "package", "files", "lines"), "imports")
	rule := strings.Repeat("─", width) + "\n"
	for _, layer := range l.layers {
		b.WriteString(rule)
		number, name := fmt.Sprint(layer.depth+1), layer.name
		for _, place := range layer.places {
			p := packages[place.path]
			if p == nil {
				continue
			}
			imports := slices.Clone(p.imports)
			slices.SortStableFunc(imports, func(a, b string) int { return order[a] - order[b] })
			for i, part := range wrap(imports, width-margin) {
				if i == 0 {
					line(fmt.Sprintf(left, number, name, short(p.path), fmt.Sprint(p.files), fmt.Sprint(p.lines)), part)
				} else {
					line(strings.Repeat(" ", margin), part)
				}
			}
			number, name = "", ""
		}
	}
	b.WriteString(rule)
	fmt.Fprintf(&b, "%d packages in %d layers, 1 at the top; %d imports; files and lines without tests\n", len(m.packages), len(l.layers), arrows)
	return b.String()
}

// wrap puts the short names of packages into lines of at most so many columns; at least one
// line.
func wrap(paths []string, columns int) []string {
	lines := []string{""}
	for _, path := range paths {
		name, last := short(path), &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = name
		case len(*last)+1+len(name) <= columns:
			*last += " " + name
		default:
			lines = append(lines, name)
		}
	}
	return lines
}
