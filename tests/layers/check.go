package main

import (
	"fmt"
	"slices"
	"strings"
)

// check returns what is wrong with the imports of the module.
func check(l *list, m *module) []string {
	var faults []string
	found := map[string]bool{}
	for _, p := range m.packages {
		found[p.path] = true
		from := l.places[p.path]
		if from == nil {
			faults = append(faults, fmt.Sprintf("%s has no layer: give it a line in %s", p.path, listFile))
			continue
		}
		for _, path := range p.imports {
			if to := l.places[path]; to != nil && !from.mayImport(to) {
				faults = append(faults, from.fault("", to))
			}
		}
		for _, path := range p.testImports {
			if to := l.places[path]; to != nil && !from.testsMayImport(to) {
				faults = append(faults, from.fault("tests of ", to))
			}
		}
	}
	for _, p := range l.all() {
		if !found[p.path] {
			faults = append(faults, fmt.Sprintf("%s stands in %s and is no package", p.path, listFile))
		}
	}
	if c := cycle(m); c != nil {
		faults = append(faults, "cycle: "+strings.Join(c, " -> "))
	}
	return faults
}

// fault tells why p must not import q.
func (p *place) fault(whose string, q *place) string {
	arrow := fmt.Sprintf("%s%s imports %s", whose, p.path, q.path)
	switch {
	case q.layer == p.layer:
		return arrow + ", which is of the same layer, " + p.layer.name
	case q.layer.depth < p.layer.depth:
		return fmt.Sprintf("%s: an arrow upwards, from layer %d, %s, to layer %d, %s",
			arrow, p.layer.depth+1, p.layer.name, q.layer.depth+1, q.layer.name)
	}
	return arrow + ", which its line in " + listFile + " forbids: " + p.why
}

// cycle returns the packages of a cycle of imports, the first once more at the end; nil if
// no package is in one.
func cycle(m *module) []string {
	imports := map[string][]string{}
	for _, p := range m.packages {
		imports[p.path] = p.imports
	}
	done := map[string]bool{}
	var visit func(path string, way []string) []string
	visit = func(path string, way []string) []string {
		if i := slices.Index(way, path); i >= 0 {
			return append(way[i:], path)
		}
		if done[path] {
			return nil
		}
		for _, next := range imports[path] {
			if c := visit(next, append(way, path)); c != nil {
				return c
			}
		}
		done[path] = true
		return nil
	}
	for _, p := range m.packages {
		if c := visit(p.path, nil); c != nil {
			return c
		}
	}
	return nil
}
